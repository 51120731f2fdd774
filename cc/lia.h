/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * LIA, the linked increases algorithm: RFC 6356, sections 3 and 4; fixed point after section 4.2.
 *
 *                                       max_k w_k / tau_k^2
 *   delta = min( A, 1/w_r ),     A  =  ---------------------          loss: w_r <- max(w_r / 2, 2)
 *                                       (sum_k w_k / tau_k)^2
 *
 * Deviations
 *   - counts packets: all subflows are assumed to have the same MSS.
 *   - A is recomputed after each change of the own window, after a loss, and after LIA_CACHE_ACKS packets at
 *     the latest. The RFC leaves the frequency open (section 4.1); the Linux module waits for the window to
 *     grow.
 */
#ifndef MPCC_LIA_H
#define MPCC_LIA_H

#include "mpcc_run.h"

#define LIA_PARAMS(X) MPCC_GROWTH(X, LIA_GROWTH)
enum { LIA_PARAMS(MPCC_PARAM_ID) LIA_PARAM_COUNT };
enum { LIA_PARAMS(MPCC_PARAM_DEFAULT) };

#define LIA_CACHE_ACKS 16 /* packets: maximum delay until a sibling's change counts */

/* A in Q32 packets. Requires mpcc_counts(self). */
MPCC_FUNC s64 lia_coupled_increase(const struct mpcc_conn *conn, u32 self)
{
	MPCC_REQUIRE(conn);
	self = MPCC_SLOT(self);
	const struct mpcc_subflow *best = &conn->sub[mpcc_best(conn, self)];

	/*
	 *                 w_b                                     w_k
	 *  A = ----------------------------------,   b = arg max -------
	 *       ( sum_k  w_k * tau_b / tau_k )^2                 tau_k^2
	 */
	return mpcc_rate_share(mpcc_window(best), mpcc_aggregate(conn, mpcc_rtt(best)));
}

MPCC_INLINE s64 lia_increase(const struct mpcc_conn *conn, u32 self)
{
	if (mpcc_alone(conn, self))
		return mpcc_reno(conn, self);
	return mpcc_min_s64(lia_coupled_increase(conn, self), mpcc_reno(conn, self));
}

MPCC_CAPABILITIES(lia, 0);

static const struct mpcc_ops mpcc_ops_lia = {
	.name = "lia",
	.title = "LIA",
	.paper = "RFC 6356",
	.summary = "linked increases: together no more than one TCP on the best path",
	.confidence = "V",
	.capabilities = mpcc_capabilities_lia,
	.growth = LIA_GROWTH + 1,
	.min_cwnd = 1,
	.cache_acks = LIA_CACHE_ACKS,
	.increase = lia_increase,
};

#endif
