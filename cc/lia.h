/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * LIA, the linked increases algorithm: RFC 6356, sections 3 and 4; fixed point after section 4.2.
 *
 *                                       max_k w_k / tau_k^2
 *   delta = min( A, 1/w_r ),     A  =  ---------------------          loss: w_r <- max(w_r / 2, 2)
 *                                       (sum_k w_k / tau_k)^2
 *
 * Deviations
 *   - counted in packets: all subflows are taken to have one MSS.
 *   - A is recomputed whenever the own window changed, after a loss, and at the latest after LIA_CACHE_ACKS
 *     packets; the RFC leaves the frequency open (section 4.1), Linux' old module waits for the window to
 *     grow.
 */
#ifndef MPCC_LIA_H
#define MPCC_LIA_H

#include "mpcc_run.h"

#define LIA_PARAMS(X)

#define LIA_CACHE_ACKS 16 /* packets: a sibling's change is seen this late at worst */

/* A in Q32 packets; self must count. */
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
	.min_cwnd = 1,
	.cache_acks = LIA_CACHE_ACKS,
	.increase = lia_increase,
};

#endif
