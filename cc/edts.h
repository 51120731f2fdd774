/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Extended DTS: Zhao, Liu and Wang, ICDCS 2017, eq. (6) to (9).
 *
 *   delta = DTS - kappa * w_r * U_r                loss: w_r <- max(w_r / 2, 2)
 *
 *   U_r: price of the path (path_price), summed over its links by the control plane: queue in excess of its
 *   target, in units of the target, plus the link's energy cost rho. The extra term equals an extra loss
 *   probability of 2 kappa U_r; kappa U_r of 1e-4 .. 1e-3 is sensible.
 *
 * Deviations
 *   - the price stands for the derivative of the queue by the rate, which does not exist.
 *   - at most one packet per ACK down. With a single subflow it is NewReno, without price.
 *   - those of dts.h.
 */
#ifndef MPCC_EDTS_H
#define MPCC_EDTS_H

#include "dts.h"

#define EDTS_OWN_PARAMS(X)                                           \
	X(EDTS_KAPPA, "kappa", 100000, 0, 100000000, 1000000000, "", \
	  "packets off per ACK, window and unit of price")
#define EDTS_PARAMS(X) DTS_PARAMS(X) EDTS_OWN_PARAMS(X)
enum { EDTS_BEFORE_OWN = DTS_PARAM_COUNT - 1, EDTS_OWN_PARAMS(MPCC_PARAM_ID) };
enum { EDTS_OWN_PARAMS(MPCC_PARAM_DEFAULT) };

#define EDTS_GUARD_BITS 10 /* the price of one packet is kept in Q42 */
/* kappa (1e-9) * U (Q16) at which one packet's price is 1 packet: 1e9 * 2^16 < 2^46 */
#define EDTS_PRODUCT_MAX (1ULL << 46)
/* 2^(32 - 16) / 1e9 = 4 / 61035.16 takes the product to Q32 */
#define EDTS_TO_Q32_NUM 4
#define EDTS_TO_Q32_DEN 61035U

/* kappa w_r U_r in Q32 packets, at most 1 packet. */
MPCC_INLINE s64 edts_price_term(const struct mpcc_conn *conn, u32 self)
{
	const struct mpcc_subflow *sub = &conn->sub[self];
	u64 product = (u64)MPCC_PARAM(conn, EDTS_KAPPA) * sub->own.path_price, price;

	product = product < EDTS_PRODUCT_MAX ? product : EDTS_PRODUCT_MAX;
	price = (product * EDTS_TO_Q32_NUM << EDTS_GUARD_BITS) / EDTS_TO_Q32_DEN;
	price = price < (u64)MPCC_PACKET << EDTS_GUARD_BITS ? price
	                                                    : (u64)MPCC_PACKET << EDTS_GUARD_BITS;
	return mpcc_min_s64((s64)(price * mpcc_window(sub) >> EDTS_GUARD_BITS), MPCC_PACKET);
}

MPCC_INLINE s64 edts_increase(const struct mpcc_conn *conn, u32 self)
{
	if (mpcc_alone(conn, self))
		return mpcc_reno(conn, self);
	return dts_increase(conn, self) - edts_price_term(conn, self);
}

MPCC_CAPABILITIES(edts, MPCC_READS_DELAY | MPCC_READS_PATH_PRICE);

static const struct mpcc_ops mpcc_ops_edts = {
	.name = "edts",
	.title = "Extended DTS",
	.paper = "Zhao, Liu and Wang, ICDCS 2017",
	.summary = "DTS that also pays a price for the path's queues and energy",
	.confidence = "V",
	.capabilities = mpcc_capabilities_edts,
	.min_cwnd = 1,
	.increase = edts_increase,
};

#endif
