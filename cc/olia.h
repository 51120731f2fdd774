/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * OLIA, opportunistic linked increases: Khalili et al., CoNEXT 2012;
 * draft-khalili-mptcp-congestion-control-05.
 *
 *             w_r / tau_r^2         alpha_r
 *   delta =  ----------------  +   ---------           loss: w_r <- max(w_r / 2, 1)
 *                  X^2                w_r
 *
 *   B = arg max l_k / tau_k^2 (best presumed path), M = arg max w_k,
 *   alpha_r =  1 / (n |B\M|)  for r in B\M,   -1 / (n |M|)  for r in M if B\M is not empty,   0 otherwise;
 *   l_k: packets acked since the last loss or between the last two, the larger.
 *
 * Deviations
 *   - fractions are in Q32 and carried over; the Linux module counts in Q10 and clears at each step.
 */
#ifndef MPCC_OLIA_H
#define MPCC_OLIA_H

#include "mpcc_run.h"

#define OLIA_PARAMS(X) MPCC_GROWTH(X, OLIA_GROWTH)
enum { OLIA_PARAMS(MPCC_PARAM_ID) OLIA_PARAM_COUNT };
enum { OLIA_PARAMS(MPCC_PARAM_DEFAULT) };

/* w_r / tau_r^2 / X^2 in Q32 packets: the part that balances congestion. */
MPCC_INLINE s64 olia_rate_term(const struct mpcc_conn *conn, u32 self)
{
	const struct mpcc_subflow *sub = &conn->sub[self];

	return mpcc_rate_share(mpcc_window(sub), mpcc_aggregate(conn, mpcc_rtt(sub)));
}

/* arg max_k l_k / tau_k^2, compared exactly. Requires mpcc_counts(self). */
MPCC_FUNC u32 olia_find_best(const struct mpcc_conn *conn, u32 self)
{
	MPCC_REQUIRE(conn);
	u32 best = MPCC_SLOT(self);
	u32 best_l = mpcc_loss_interval(&conn->sub[best].own),
	    best_tau = mpcc_rtt(&conn->sub[best]);

	mpcc_for_each (conn, k) {
		u32 l = mpcc_loss_interval(&conn->sub[k].own), tau = mpcc_rtt(&conn->sub[k]);

		if (mpcc_compare_products((u64)l * best_tau, best_tau, (u64)best_l * tau, tau) >
		    0) {
			best = k;
			best_l = l;
			best_tau = tau;
		}
	}
	return best;
}

/* max_k w_k, packets */
MPCC_FUNC u32 olia_largest_window(const struct mpcc_conn *conn)
{
	MPCC_REQUIRE(conn);
	u32 largest = 0;

	mpcc_for_each (conn, k)
		largest = mpcc_max(largest, mpcc_window(&conn->sub[k]));
	return largest;
}

enum olia_sets { OLIA_COUNTS = 1, OLIA_LARGEST = 2, OLIA_COLLECTED = 4 };

/* The sets that contain k: subflows with the largest window, and best subflows with a smaller window. */
MPCC_FUNC u32 olia_sets_of(const struct mpcc_conn *conn, u32 k, u32 best, u32 largest_window)
{
	MPCC_REQUIRE(conn);
	const struct mpcc_subflow *sub = &conn->sub[MPCC_SLOT(k)],
				  *other = &conn->sub[MPCC_SLOT(best)];
	u32 tau, best_tau;

	if (!mpcc_counts(sub))
		return 0;
	if (mpcc_window(sub) >= largest_window)
		return OLIA_COUNTS | OLIA_LARGEST;
	if (k == best)
		return OLIA_COUNTS | OLIA_COLLECTED;
	tau = mpcc_rtt(sub);
	best_tau = mpcc_rtt(other);
	if (mpcc_compare_products((u64)mpcc_loss_interval(&sub->own) * best_tau, best_tau,
	                          (u64)mpcc_loss_interval(&other->own) * tau, tau) >= 0)
		return OLIA_COUNTS | OLIA_COLLECTED;
	return OLIA_COUNTS;
}

/* alpha_r / w_r in Q32 packets: moves window from the paths with the largest windows to better paths. */
MPCC_FUNC s64 olia_shift_term(const struct mpcc_conn *conn, u32 self)
{
	MPCC_REQUIRE(conn);
	u32 best = olia_find_best(conn, self), w_max = olia_largest_window(conn), mine;
	u32 n = 0, largest = 0, collected = 0;
	u64 w;

	for (u32 k = 0; k < MPCC_MAX_SUBFLOWS && k < conn->n; k++) {
		u32 sets = olia_sets_of(conn, k, best, w_max);

		n += sets & OLIA_COUNTS;
		largest += sets / OLIA_LARGEST & 1;
		collected += sets / OLIA_COLLECTED & 1;
	}
	if (!collected)
		return 0;
	self = MPCC_SLOT(self);
	mine = olia_sets_of(conn, self, best, w_max);
	w = mpcc_window(&conn->sub[self]);
	if (mine & OLIA_COLLECTED)
		return mpcc_reciprocal(n * collected * w);
	if (mine & OLIA_LARGEST)
		return -mpcc_reciprocal(n * largest * w);
	return 0;
}

MPCC_INLINE s64 olia_increase(const struct mpcc_conn *conn, u32 self)
{
	if (mpcc_alone(conn, self))
		return mpcc_reno(conn, self);
	return olia_rate_term(conn, self) + olia_shift_term(conn, self);
}

MPCC_INLINE u32 olia_ssthresh(const struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind)
{
	(void)kind;
	if (mpcc_alone(conn, self))
		return mpcc_half(conn, self);
	return mpcc_max(mpcc_window(&conn->sub[self]) / 2, 1);
}

MPCC_CAPABILITIES(olia, 0);

static const struct mpcc_ops mpcc_ops_olia = {
	.name = "olia",
	.title = "OLIA",
	.paper = "Khalili et al., CoNEXT 2012; draft-khalili-mptcp-congestion-control-05",
	.summary = "Pareto-optimal coupling that also probes the best paths",
	.confidence = "V",
	.capabilities = mpcc_capabilities_olia,
	.growth = OLIA_GROWTH + 1,
	.min_cwnd = 1,
	.increase = olia_increase,
	.ssthresh = olia_ssthresh,
};

#endif
