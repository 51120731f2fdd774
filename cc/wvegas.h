/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * wVegas, weighted Vegas: Cao, Xu and Fu, ICNP 2012; draft-xu-mptcp-congestion-control-05.
 *
 *              mean RTT - base RTT
 *   d = w_r * ---------------------  (packets queued),        once per RTT round, mean RTT over the round:
 *                   mean RTT
 *
 *   slow start, d > gamma:   w <- min(w, w * base / mean + 1), leave slow start
 *   d >= alpha_r:            alpha_r <- max(2, x_r / X * total_alpha)
 *   d > alpha_r: w - 1       d < alpha_r: w + 1
 *   queueing delay q = mean - base >= 2 q_min:  w <- w * base / (2 mean), reset q_min
 *   loss: w_r <- max(w_r / 2, 2)                at most 2 RTT samples in the round: one step of NewReno
 *
 * Deviations
 *   - a sibling's rate is w_k / tau_k (smoothed); the Linux module uses its last round.
 *   - q = 0 never drains (the literal rule would halve an uncongested path), and an unknown base RTT is 0,
 *     not 0x7fffffff.
 *   - a round that cwnd did not limit does not raise the window; loss recovery skips the round's step.
 *   - `increase` is 0: the window changes at the end of a round.
 */
#ifndef MPCC_WVEGAS_H
#define MPCC_WVEGAS_H

#include "mpcc_run.h"

#define WVEGAS_PARAMS(X)                                          \
	X(WVEGAS_TOTAL_ALPHA, "total_alpha", 10, 2, 10000, 1, "", \
	  "packets that all subflows together keep queued")       \
	X(WVEGAS_GAMMA, "gamma", 1, 0, 10000, 1, "", "packets queued at which slow start ends")
enum { WVEGAS_PARAMS(MPCC_PARAM_ID) WVEGAS_PARAM_COUNT };
enum { WVEGAS_PARAMS(MPCC_PARAM_DEFAULT) };

enum wvegas_word {
	WVEGAS_ALPHA, /* packets that this subflow wants queued */
	WVEGAS_Q_MIN, /* us: least queueing delay since the last drain, 0 = none */
};

#define WVEGAS_ALPHA_MIN   2U /* packets */
#define WVEGAS_MIN_CWND    2U /* packets */
#define WVEGAS_MIN_SAMPLES 3U /* RTT samples that a round needs to be judged */

MPCC_INLINE s64 wvegas_increase(const struct mpcc_conn *conn, u32 self)
{
	(void)conn;
	(void)self;
	return 0;
}

MPCC_INLINE void wvegas_init(struct mpcc_conn *conn, u32 self)
{
	conn->sub[self].own.word[WVEGAS_ALPHA] = WVEGAS_ALPHA_MIN;
	conn->sub[self].own.word[WVEGAS_Q_MIN] = 0;
}

/* max(2, total_alpha * x_r / X), rounded down. */
MPCC_FUNC u32 wvegas_weighted_alpha(const struct mpcc_conn *conn, u32 self, u32 mean_us)
{
	MPCC_REQUIRE(conn);
	self = MPCC_SLOT(self);
	u64 own = (u64)mpcc_window(&conn->sub[self]) << MPCC_AGGREGATE_BITS, all = own;
	u64 total_alpha = (u64)MPCC_PARAM(conn, WVEGAS_TOTAL_ALPHA);

	mpcc_for_each (conn, k)
		all += k == self ? 0 : mpcc_sends_in(&conn->sub[k], mean_us);
	return mpcc_max((u32)(total_alpha * mpcc_ratio(own, all) >> MPCC_RATIO_BITS),
	                WVEGAS_ALPHA_MIN);
}

MPCC_INLINE void wvegas_set(struct mpcc_subflow *sub, u32 cwnd)
{
	sub->cwnd = mpcc_clamp(cwnd, WVEGAS_MIN_CWND, MPCC_CWND_MAX);
	sub->own.acc = 0;
}

MPCC_INLINE void wvegas_drain(struct mpcc_subflow *sub, u64 base, u64 mean)
{
	u32 *q_min = &sub->own.word[WVEGAS_Q_MIN], q = (u32)(mean - base);

	if (!q)
		return;
	*q_min = *q_min ? mpcc_min(*q_min, q) : q;
	if (q / 2 < *q_min)
		return;
	wvegas_set(sub, (u32)(mpcc_window(sub) * base / (2 * mean)));
	*q_min = 0;
}

MPCC_INLINE void wvegas_round(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event)
{
	struct mpcc_subflow *sub = &conn->sub[self];
	struct mpcc_own *own = &sub->own;
	u32 *alpha = &own->word[WVEGAS_ALPHA], limited = event->flags & MPCC_CWND_LIMITED;
	u64 w = mpcc_window(sub), mean, base, queued; /* queued: d * mean */

	if (sub->flags & (MPCC_RECOVERY | MPCC_LOSS))
		return;
	if (own->rtt_count < WVEGAS_MIN_SAMPLES) {
		if (sub->cwnd >= sub->ssthresh && limited)
			own->acc += mpcc_reciprocal(w);
		return;
	}
	mean = mpcc_clamp((u32)(own->rtt_sum_us / own->rtt_count), 1, MPCC_RTT_MAX_US);
	base = mpcc_min(own->base_rtt_us, (u32)mean);
	queued = w * (mean - base);
	if (sub->cwnd < sub->ssthresh) {
		if (queued <= (u64)MPCC_PARAM(conn, WVEGAS_GAMMA) * mean)
			return;
		wvegas_set(sub, mpcc_min((u32)w, (u32)(w * base / mean) + 1));
		sub->ssthresh = mpcc_min(sub->ssthresh, sub->cwnd - 1);
	} else {
		if (queued >= *alpha * mean)
			*alpha = wvegas_weighted_alpha(conn, self, (u32)mean);
		if (queued > *alpha * mean) {
			wvegas_set(sub, (u32)w - 1);
			sub->ssthresh = mpcc_min(sub->ssthresh, sub->cwnd - 1);
		} else if (queued < *alpha * mean && limited) {
			wvegas_set(sub, (u32)w + 1);
		}
		wvegas_drain(sub, base, mean);
	}
	sub->ssthresh = mpcc_max(sub->ssthresh, mpcc_window(sub) * 3 / 4);
}

MPCC_CAPABILITIES(wvegas, MPCC_READS_DELAY | MPCC_ACTS_BY_ROUND);

static const struct mpcc_ops mpcc_ops_wvegas = {
	.name = "wvegas",
	.title = "wVegas",
	.paper = "Cao, Xu and Fu, ICNP 2012; draft-xu-mptcp-congestion-control-05",
	.summary = "delay-based: equalises queueing delay over the paths",
	.confidence = "V",
	.capabilities = mpcc_capabilities_wvegas,
	.min_cwnd = WVEGAS_MIN_CWND,
	.increase = wvegas_increase,
	.init = wvegas_init,
	.round = wvegas_round,
	.restart = wvegas_init,
};

#endif
