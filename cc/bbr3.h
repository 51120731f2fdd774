/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * BBR, version 3: draft-ietf-ccwg-bbr; Cardwell et al., IETF 117 and 119, ccwg.
 *
 *   max rate = max sample of this and the last cycle     min RTT of 10 s, probed every 5 s
 *   rate = min(max rate, short-term rate)                BDP = rate * min RTT
 *   pacing = 0.99 gain * rate       window = min(window gain * BDP + aggregation, long-term, short-term)
 *
 *   STARTUP 2.77 ──► DRAIN 0.5 ──► DOWN 0.9 ──► CRUISE 1 ──► REFILL 1 ──► UP 1.25 ──► DOWN ...
 *                                  from all: PROBE_RTT, window BDP / 2, 200 ms and a round
 *
 *   UP      until over 2 % of a round is lost, or until 3 rounds raise the rate by less than a quarter;
 *           the long-term window grows by 1, 2, 4 ... packets a round
 *   over 2 % lost:   long-term window <- max(what was in flight, 0.7 BDP)
 *   loss in a round of DOWN or CRUISE:  short-term rate, window <- max(latest, 0.7 of it);  none from REFILL
 *   CRUISE  leaves 15 % of the long-term window free, for 2 .. 3 s or as many rounds as Reno would, <= 63
 *
 * Deviations
 *   - packets in flight at a departure, and packets lost since then, are counted by round: delivered and lost
 *     in the round. The kernel's rate samples do not carry them.
 *   - during PROBE_RTT and for the round after it, samples count as application-limited; random choices are a
 *     hash of the clock.
 *   - in the draft only a round of DOWN ends a cycle of the max rate. If a round takes longer than the 5 s
 *     between two PROBE_RTTs, no cycle ends, and a path that has become slow keeps its old rate. Here
 *     PROBE_RTT takes the latest rate if no cycle has ended since the last PROBE_RTT and the RTT exceeds
 *     twice the min RTT, which also ends STARTUP. The min RTT does not expire during PROBE_RTT.
 *   - aggregation is the largest excess of 5 to 10 rounds, in two bins.
 *   - losses are subtracted from the window, and the end of recovery restores it; no packet conservation. No
 *     ECN.
 */
#ifndef MPCC_BBR3_H
#define MPCC_BBR3_H

#include "bbr3_model.h"

/* The cycle DOWN, CRUISE, REFILL, UP. */
MPCC_INLINE void bbr3_cycle(struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                            const struct mpcc_event *event, u32 begins)
{
	u32 waited = (u32)conn->now_us - b->phase_at > b->wait_us ||
	             b->rounds >= mpcc_min(bbr3_target(b), BBR3_RENO_ROUNDS);

	if ((b->state == BBR3_DOWN || b->state == BBR3_CRUISE) && waited) {
		bbr3_no_short_term(b);
		b->up_rounds = 0;
		b->up_acks = 0;
		b->acks = BBR3_ACKS_NONE;
		b->round_until = event->total_delivered;
		b->state = BBR3_REFILL;
	} else if (b->state == BBR3_DOWN) {
		if (event->in_flight <= bbr3_with_headroom(conn, b) &&
		    event->in_flight <= bbr3_inflight(b, bbr3_max_rate(b), MPCC_GAIN_ONE))
			b->state = BBR3_CRUISE;
	} else if (b->state == BBR3_REFILL && begins) {
		b->samples = 1;
		b->acks = BBR3_ACKS_STARTING;
		b->round_until = event->total_delivered;
		bbr3_seek_full(b, mpcc_sampled_rate(event));
		b->state = BBR3_UP;
		bbr3_steeper(b);
	} else if (b->state == BBR3_UP) {
		if ((event->flags & MPCC_CWND_LIMITED) && b->cwnd >= b->long_cwnd)
			bbr3_seek_full(b, mpcc_sampled_rate(event));
		else if (b->full_now)
			bbr3_down(conn, self, b, event);
	}
}

MPCC_INLINE void bbr3_save_cwnd(struct bbr3 *b)
{
	u32 reduced = b->repairs || b->state == BBR3_PROBE_RTT;

	b->saved_cwnd = reduced ? mpcc_max(b->saved_cwnd, b->cwnd) : b->cwnd;
}

/* Minimum window of PROBE_RTT: half of the BDP, at least 4 packets. */
MPCC_INLINE u32 bbr3_probe_cwnd(const struct bbr3 *b)
{
	return mpcc_max(bbr3_inflight(b, bbr3_rate(b), bbr3_window_gain(BBR3_PROBE_RTT)),
	                BBR3_MIN_CWND);
}

MPCC_INLINE void bbr3_probe_rtt(struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                                const struct mpcc_event *event, u32 begins)
{
	struct mpcc_subflow *sub = &conn->sub[self];
	u32 now = (u32)conn->now_us;

	if (!b->timed && event->in_flight <= bbr3_probe_cwnd(b)) {
		b->timed = 1;
		b->probe_end = now + BBR3_PROBE_RTT_US;
		b->round_until = event->total_delivered;
	} else if (b->timed && begins) {
		b->timed = 2;
	}
	if (b->timed < 2 || mpcc_after(b->probe_end, now))
		return;
	b->recent_at = now;
	b->limited = 1;
	b->limited_until = event->total_delivered + event->in_flight;
	sub->cwnd = mpcc_max(sub->cwnd, b->saved_cwnd);
	bbr3_no_short_term(b);
	b->state = BBR3_STARTUP;
	if (b->filled) {
		bbr3_down(conn, self, b, event);
		b->state = BBR3_CRUISE;
	}
}

/*
 * Takes the latest rate if no cycle of the max rate has ended since the last PROBE_RTT. If the queue was
 * longer than a BDP all the time, the path was full and delivered at its capacity: its rate has fallen.
 */
MPCC_INLINE void bbr3_believe_queue(struct bbr3 *b, u32 rtt)
{
	if (rtt / 2 <= b->rtt_us || !b->latest_rate)
		return;
	b->rate[0] = b->rate[1] = b->latest_rate;
	b->filled = 1;
}

/* Updates the min RTT and starts PROBE_RTT when due. The old min RTT holds until PROBE_RTT has measured a new
 * one. */
MPCC_INLINE void bbr3_watch_rtt(struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                                const struct mpcc_event *event, u32 begins)
{
	u32 now = (u32)conn->now_us, rtt = mpcc_min(event->rtt_us, MPCC_RTT_MAX_US);
	u32 look = b->recent_rtt_us && now - b->recent_at > BBR3_PROBE_US;

	if (rtt && (!b->recent_rtt_us || rtt < b->recent_rtt_us || look)) {
		b->recent_rtt_us = rtt;
		b->recent_at = now;
	}
	if (look && b->state != BBR3_PROBE_RTT && !b->idle) {
		bbr3_save_cwnd(b);
		if (!b->advanced && !(event->flags & MPCC_APP_LIMITED))
			bbr3_believe_queue(b, rtt);
		b->advanced = 0;
		b->state = BBR3_PROBE_RTT;
		b->timed = 0;
		b->acks = BBR3_ACKS_STOPPING;
		b->round_until = event->total_delivered;
	}
	if (b->state == BBR3_PROBE_RTT)
		bbr3_probe_rtt(conn, self, b, event, begins);
	if (b->recent_rtt_us && (!b->rtt_us || b->recent_rtt_us < b->rtt_us ||
	                         (b->state != BBR3_PROBE_RTT && now - b->rtt_at > BBR3_RTT_US))) {
		b->rtt_us = b->recent_rtt_us;
		b->rtt_at = b->recent_at;
	}
	b->idle = 0;
}

MPCC_INLINE void bbr3_startup(struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                              const struct mpcc_event *event, u32 begins)
{
	u32 lost = b->lost > bbr3_part(event->delivered + b->lost, MPCC_PARAM(conn, BBR3_LOSS));

	if (b->state == BBR3_STARTUP && begins && b->repairs && lost &&
	    b->loss_events >= BBR3_FULL_LOSSES) {
		b->filled = 1;
		b->long_cwnd =
			mpcc_max(bbr3_inflight(b, bbr3_max_rate(b), MPCC_GAIN_ONE), b->latest_cwnd);
	}
	if (b->state == BBR3_STARTUP && b->filled)
		b->state = BBR3_DRAIN;
	if (b->state == BBR3_DRAIN &&
	    event->in_flight <= bbr3_inflight(b, bbr3_max_rate(b), MPCC_GAIN_ONE))
		bbr3_down(conn, self, b, event);
}

MPCC_INLINE void bbr3_set_cwnd(struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                               const struct mpcc_event *event)
{
	struct mpcc_subflow *sub = &conn->sub[self];
	u32 repairs = (sub->flags & (MPCC_RECOVERY | MPCC_LOSS)) != 0, bound = BBR3_NONE, most,
	    grown;

	if (repairs && !b->repairs)
		bbr3_save_cwnd(b);
	sub->cwnd = sub->cwnd > event->lost ? sub->cwnd - event->lost : 1;
	if ((b->repairs && !repairs) || (event->flags & MPCC_IN_VAIN))
		sub->cwnd = mpcc_max(sub->cwnd, b->saved_cwnd);
	b->repairs = (unsigned char)repairs;

	most = bbr3_inflight(b, bbr3_rate(b), bbr3_window_gain(b->state)) +
	       mpcc_max(b->extra[0], b->extra[1]);
	most = mpcc_max(mpcc_max(most, 3 * mpcc_burst(sub->own.pacing_rate, event->mss)),
	                BBR3_MIN_CWND);
	most += b->state == BBR3_UP ? 2 : 0;
	grown = mpcc_add_saturating(sub->cwnd, event->acked);
	if (b->filled)
		sub->cwnd = mpcc_min(grown, most);
	else if (sub->cwnd < most || event->total_delivered < BBR3_INITIAL_CWND)
		sub->cwnd = grown;
	if (b->state == BBR3_PROBE_RTT)
		sub->cwnd = mpcc_min(sub->cwnd, bbr3_probe_cwnd(b));
	if (b->state == BBR3_CRUISE || b->state == BBR3_PROBE_RTT)
		bound = bbr3_with_headroom(conn, b);
	else if (b->state >= BBR3_DOWN)
		bound = b->long_cwnd;
	bound = mpcc_max(mpcc_min(bound, b->short_cwnd), BBR3_MIN_CWND);
	sub->cwnd = mpcc_min(mpcc_max(sub->cwnd, BBR3_MIN_CWND), bound);
}

MPCC_INLINE void bbr3_ack(struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                          const struct mpcc_event *event)
{
	struct mpcc_subflow *sub = &conn->sub[self];
	u32 begins = mpcc_round_by_delivery(&b->round_until, event), limited;
	u64 before = sub->own.pacing_rate;

	if (b->limited && event->acked && !mpcc_after(b->limited_until, event->prior_delivered))
		b->limited = 0;
	limited = b->limited || (event->flags & MPCC_APP_LIMITED) || b->state == BBR3_PROBE_RTT;
	b->lost = mpcc_add_saturating(b->lost, event->lost);
	b->loss_events += event->lost > 0;
	b->rounds = (unsigned char)mpcc_min(b->rounds + begins, BBR3_RENO_ROUNDS);
	bbr3_learn(conn, b, event, begins, limited);
	bbr3_aggregate(b, event, (u32)conn->now_us, begins);
	bbr3_startup(conn, self, b, event, begins);
	if (b->filled)
		bbr3_bound(conn, self, b, event, begins, limited);
	bbr3_cycle(conn, self, b, event, begins);
	bbr3_watch_rtt(conn, self, b, event, begins);
	if (begins)
		b->lost = b->loss_events = 0;
	if (bbr3_max_rate(b)) {
		mpcc_pace(sub, bbr3_rate(b), bbr3_gain(b->state), BBR3_MARGIN, event->mss);
		if (!b->filled && sub->own.pacing_rate < before)
			sub->own.pacing_rate = before;
	}
	bbr3_set_cwnd(conn, self, b, event);
}

MPCC_INLINE void bbr3_control(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event,
                              struct mpcc_area *area)
{
	struct bbr3 *b = bbr3_area(area);
	struct mpcc_subflow *sub = &conn->sub[self];
	u32 srtt = sub->srtt_us ? mpcc_rtt(sub) : BBR3_FIRST_RTT_US;

	if (event->flags & MPCC_STARTS) {
		bbr3_no_short_term(b);
		b->long_cwnd = b->up_every = BBR3_NONE;
		mpcc_pace(sub, (u32)mpcc_rate(mpcc_min(sub->cwnd, 1U << 16), srtt),
		          bbr3_gain(BBR3_STARTUP), BBR3_MARGIN, event->mss);
	} else if (event->flags & MPCC_RESTARTS) {
		b->idle = 1;
		b->extra_at = (u32)conn->now_us;
		b->extra_acked = 0;
		if (b->state >= BBR3_DOWN && b->state <= BBR3_UP)
			mpcc_pace(sub, bbr3_rate(b), MPCC_GAIN_ONE, BBR3_MARGIN, event->mss);
	} else if (event->flags & MPCC_TIMED_OUT) {
		bbr3_save_cwnd(b);
		b->repairs = 1;
		b->lossy = 1;
		b->lost = mpcc_add_saturating(b->lost, event->lost);
	} else {
		bbr3_ack(conn, self, b, event);
	}
	sub->cwnd = mpcc_clamp(sub->cwnd, 1, MPCC_CWND_MAX);
	sub->ssthresh = sub->cwnd;
	b->cwnd = sub->cwnd;
}

MPCC_CAPABILITIES(bbr3, MPCC_UNCOUPLED | MPCC_READS_DELAY | MPCC_OWNS_WINDOW);

static const struct mpcc_ops mpcc_ops_bbr3 = {
	.name = "bbr3",
	.title = "BBRv3",
	.paper = "draft-ietf-ccwg-bbr",
	.summary = "BBR that stays below 2 % loss and leaves room for other flows, uncoupled",
	.confidence = "L",
	.capabilities = mpcc_capabilities_bbr3,
	.min_cwnd = 1,
	.control = bbr3_control,
};

#endif
