/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * EWTCP, equally weighted TCP: Honda et al., PFLDNeT 2009; Wischik et al., NSDI 2011.
 *
 *             a
 *   delta =  ---          loss: w_r <- max(w_r / 2, 2)
 *            w_r
 *
 * Deviations
 *   - a = 1/n^2 by default: n subflows with equal RTTs then take one TCP's share of a bottleneck (n sqrt(a) =
 *     1). The commonly quoted a = 1/sqrt(n) takes n^(3/4) TCPs' shares; it is the option `1/sqrt(n)`.
 */
#ifndef MPCC_EWTCP_H
#define MPCC_EWTCP_H

#include "mpcc_run.h"

#define EWTCP_WEIGHT_SCALE 1000000
#define EWTCP_PARAMS(X)                                                                  \
	X(EWTCP_A, "a", EWTCP_INVERSE_SQUARE, 1, EWTCP_WEIGHT_SCALE, EWTCP_WEIGHT_SCALE, \
	  "1/n^2=-1 1/sqrt(n)=-2",                                                       \
	  "weight of each subflow against one TCP's increase, n = established subflows")
enum ewtcp_weight { EWTCP_INVERSE_SQUARE = -1, EWTCP_INVERSE_ROOT = -2 };
enum { EWTCP_PARAMS(MPCC_PARAM_ID) EWTCP_PARAM_COUNT };
enum { EWTCP_PARAMS(MPCC_PARAM_DEFAULT) };

/* 1/sqrt(n) in millionths, n = 0 .. 8 */
static const u32 ewtcp_inverse_root[MPCC_MAX_SUBFLOWS + 1] = {
	1000000, 1000000, 707107, 577350, 500000, 447214, 408248, 377964, 353553,
};

MPCC_INLINE s64 ewtcp_increase(const struct mpcc_conn *conn, u32 self)
{
	u32 n = mpcc_established(conn), w = mpcc_window(&conn->sub[self]);
	s32 a = MPCC_PARAM(conn, EWTCP_A);
	u64 millionths;

	if (mpcc_alone(conn, self))
		return mpcc_reno(conn, self);
	if (a == EWTCP_INVERSE_SQUARE)
		return mpcc_reciprocal((u64)n * n * w);
	millionths = a == EWTCP_INVERSE_ROOT ? ewtcp_inverse_root[1 + MPCC_SLOT(n - 1)] : (u32)a;
	/*   a / w   */
	return (s64)((millionths << MPCC_PACKET_BITS) / ((u64)w * EWTCP_WEIGHT_SCALE));
}

MPCC_CAPABILITIES(ewtcp, 0);

static const struct mpcc_ops mpcc_ops_ewtcp = {
	.name = "ewtcp",
	.title = "EWTCP",
	.paper = "Honda et al., PFLDNeT 2009; Wischik et al., NSDI 2011",
	.summary = "NewReno on every subflow, each weighted down to a share of one TCP",
	.confidence = "V",
	.capabilities = mpcc_capabilities_ewtcp,
	.min_cwnd = 1,
	.increase = ewtcp_increase,
};

#endif
