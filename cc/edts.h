/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Extended DTS: ICDCS 2017, eq. (6) to (9).
 *
 *   delta = DTS - kappa * w_r * U_r                loss: w_r <- max(w_r / 2, 2)
 *
 *   U_r: price of the path (path_price), summed over its links by the control plane: queue in excess of its target, in
 *   units of the target, plus the link's energy cost rho. The extra term equals an extra loss probability of 2 kappa U_r;
 *   kappa U_r of 1e-4 .. 1e-3 is sensible.
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

/* kappa (1e-9) * U (Q16) to Q32: 2^16 / 1e9 = 4 / 61035.16 */
#define EDTS_TO_Q32_NUM 4
#define EDTS_TO_Q32_DEN 61035U

/* kappa w_r U_r in Q32 packets, at most 1 packet. */
MPCC_INLINE s64 edts_price_term(const struct mpcc_conn *conn, u32 self)
{
	const struct mpcc_subflow *sub = &conn->sub[self];
	u64 kappa = (u64)MPCC_PARAM(conn, EDTS_KAPPA);
	u64 per_packet = kappa * sub->own.path_price * EDTS_TO_Q32_NUM / EDTS_TO_Q32_DEN;

	per_packet = per_packet < (u64)MPCC_PACKET ? per_packet : (u64)MPCC_PACKET;
	return mpcc_min_s64((s64)(per_packet * mpcc_window(sub)), MPCC_PACKET);
}

MPCC_INLINE s64 edts_increase(const struct mpcc_conn *conn, u32 self)
{
	if (mpcc_alone(conn, self))
		return mpcc_reno(conn, self);
	return dts_increase(conn, self) - edts_price_term(conn, self);
}

static const struct mpcc_ops mpcc_ops_edts = {
	.name = "edts",
	.title = "Extended DTS",
	.paper = "DTS, ICDCS 2017",
	.summary = "DTS that also pays a price for the path's queues and energy",
	.confidence = "V",
	.min_cwnd = 1,
	.increase = edts_increase,
};

#endif
