/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * OLIA, opportunistic linked increases: Khalili et al., CoNEXT 2012; draft-khalili-mptcp-congestion-control-05.
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
 *   - fractions are kept in Q32 and carried over; the Linux module counts in Q10 and clears at each step.
 */
#ifndef MPCC_OLIA_H
#define MPCC_OLIA_H

#include "mpcc_run.h"

#define OLIA_PARAMS(X)

/* w_r / tau_r^2 / X^2 in Q32 packets: the part that balances congestion. */
MPCC_INLINE s64 olia_rate_term(const struct mpcc_conn *conn, u32 self)
{
	const struct mpcc_subflow *sub = &conn->sub[self];

	return mpcc_rate_share(mpcc_window(sub), mpcc_aggregate(conn, mpcc_rtt(sub)));
}

/* alpha_r / w_r in Q32 packets: moves window from the largest paths to better ones. */
MPCC_INLINE s64 olia_shift_term(const struct mpcc_conn *conn, u32 self)
{
	u32 n = 0, w_max = 0, best_l = 0, best_tau = 1; /* l / tau^2 of the best so far */
	u32 best = 0, largest = 0;                      /* sets as bit masks */
	u32 in_set, members = 0;
	u64 denominator;

	mpcc_for_each (conn, k) {
		const struct mpcc_subflow *sub = &conn->sub[k];
		u32 l = mpcc_loss_interval(&sub->own), tau = mpcc_rtt(sub), w = mpcc_window(sub);
		s32 order =
			mpcc_compare_products((u64)l * best_tau, best_tau, (u64)best_l * tau, tau);

		n++;
		if (!best || order > 0) {
			best = 1U << k;
			best_l = l;
			best_tau = tau;
		} else if (order == 0) {
			best |= 1U << k;
		}
		if (w > w_max)
			largest = 0;
		if (w >= w_max)
			largest |= 1U << k;
		w_max = mpcc_max(w, w_max);
	}
	best &= ~largest;
	if (!best || !((best | largest) >> self & 1))
		return 0;
	in_set = best >> self & 1 ? best : largest;
	for (u32 k = 0; k < MPCC_MAX_SUBFLOWS; k++)
		members += in_set >> k & 1;
	denominator = (u64)n * members * mpcc_window(&conn->sub[self]);
	return in_set == best ? mpcc_reciprocal(denominator) : -mpcc_reciprocal(denominator);
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

static const struct mpcc_ops mpcc_ops_olia = {
	.name = "olia",
	.title = "OLIA",
	.paper = "Khalili et al., CoNEXT 2012; draft-khalili-mptcp-congestion-control-05",
	.summary = "Pareto-optimal coupling that also probes the best paths",
	.confidence = "V",
	.min_cwnd = 1,
	.increase = olia_increase,
	.ssthresh = olia_ssthresh,
};

#endif
