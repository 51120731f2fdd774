/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Balia, balanced linked adaptation: Peng, Walid, Hwang and Low, ToN 2016;
 * draft-walid-mptcp-congestion-control-04.
 *
 *                x_r        1 + alpha_r     4 + alpha_r                max_k x_k
 *   delta =  ------------ * ----------- * -------------     alpha_r = -----------
 *             tau_r X^2          2              5                         x_r
 *
 *   loss: w_r <- max( w_r - w_r / 2 * min(alpha_r, 1.5), 1 )
 *
 * Deviations
 *   - alpha_r of the decrease is exact. The Linux module rounds it down to an integer, so it subtracts 1/2 or
 *     3/4 and nothing between: option `kernel_quirk`.
 */
#ifndef MPCC_BALIA_H
#define MPCC_BALIA_H

#include "mpcc_run.h"

#define BALIA_PARAMS(X)                                                 \
	X(BALIA_KERNEL_QUIRK, "kernel_quirk", 0, 1, 0, 1, "off=0 on=1", \
	  "round alpha of the decrease down to an integer, as the Linux module does")
enum { BALIA_PARAMS(MPCC_PARAM_ID) BALIA_PARAM_COUNT };
enum { BALIA_PARAMS(MPCC_PARAM_DEFAULT) };

#define BALIA_ALPHA_BITS 16                             /* Q16 */
#define BALIA_ALPHA_MAX  (3U << (BALIA_ALPHA_BITS - 1)) /* 1.5: upper bound in the decrease */

/* max_k x_k * tau_r in Q16 packets: what the fastest path sends in this path's RTT. */
MPCC_INLINE u64 balia_fastest_in(const struct mpcc_conn *conn, u32 self)
{
	return mpcc_sends_in(&conn->sub[mpcc_fastest(conn, self)], mpcc_rtt(&conn->sub[self]));
}

MPCC_INLINE s64 balia_increase(const struct mpcc_conn *conn, u32 self)
{
	const struct mpcc_subflow *sub = &conn->sub[self];
	u64 w = mpcc_window(sub), aggregate, own, fastest;

	if (mpcc_alone(conn, self))
		return mpcc_reno(conn, self);
	/*
	 *   with y = x / X:     (y_r + y_max) (4 y_r + y_max)
	 *                      -------------------------------
	 *                                 10 w_r
	 */
	aggregate = mpcc_aggregate(conn, mpcc_rtt(sub));
	own = mpcc_ratio(w << MPCC_AGGREGATE_BITS, aggregate);
	fastest = mpcc_ratio(balia_fastest_in(conn, self), aggregate);
	return (s64)((own + fastest) * (4 * own + fastest) / (10 * w) >>
	             (2 * MPCC_RATIO_BITS - MPCC_PACKET_BITS));
}

MPCC_INLINE u32 balia_ssthresh(const struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind)
{
	u64 w = mpcc_window(&conn->sub[self]), alpha, decrease;

	(void)kind;
	if (mpcc_alone(conn, self))
		return mpcc_half(conn, self);
	alpha = balia_fastest_in(conn, self) / w; /* Q16 */
	if (MPCC_PARAM(conn, BALIA_KERNEL_QUIRK))
		alpha = alpha >> BALIA_ALPHA_BITS << BALIA_ALPHA_BITS;
	alpha = alpha < BALIA_ALPHA_MAX ? alpha : BALIA_ALPHA_MAX;
	/*   w alpha / 2, rounded up   */
	decrease = (w * alpha + (2U << BALIA_ALPHA_BITS) - 1) >> (BALIA_ALPHA_BITS + 1);
	return w > decrease ? (u32)(w - decrease) : 1;
}

MPCC_CAPABILITIES(balia, 0);

static const struct mpcc_ops mpcc_ops_balia = {
	.name = "balia",
	.title = "Balia",
	.paper = "Peng et al., ToN 2016; draft-walid-mptcp-congestion-control-04",
	.summary = "balances friendliness, responsiveness and window oscillation",
	.confidence = "V",
	.capabilities = mpcc_capabilities_balia,
	.min_cwnd = 1,
	.increase = balia_increase,
	.ssthresh = balia_ssthresh,
};

#endif
