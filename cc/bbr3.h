/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * BBR, version 3: draft-ietf-ccwg-bbr-06 (6 July 2026). Names and section numbers are the draft's.
 *
 *   max rate = max sample of this and the last cycle     min RTT of 10 s, probed every 5 s
 *   rate = min(max rate, short-term rate)                BDP = rate * min RTT
 *   pacing = 0.99 gain * rate       window = min(window gain * BDP + aggregation, long-term, short-term)
 *
 *   STARTUP 2.77 ──► DRAIN 0.5 ──► DOWN 0.9 ──► CRUISE 1 ──► REFILL 1 ──► UP 1.25 ──► DOWN ...
 *                                  from all: PROBE_RTT, window BDP / 2, 200 ms and a round
 *
 *   DRAIN   until the BDP is in flight, or for 3 rounds
 *   UP      until over 2 % of a round is lost, or until 3 rounds raise the rate by less than a quarter;
 *           the long-term window grows by 1, 2, 4 ... packets a round
 *   over 2 % lost:   long-term window <- max(what was in flight, 0.7 BDP); the next UP ends where it reaches
 *                    that window, and another probe follows at once if it lost less
 *   loss in a round of DRAIN, DOWN or CRUISE:  short-term rate, window <- max(latest, 0.7 of it);  none from
 *                    REFILL
 *   CRUISE  leaves 15 % of the long-term window free, for 2 .. 3 s or as many rounds as Reno would, <= 63
 *   a loss episode that was spurious:  bounds and state as before it
 *
 * Deviations, each with its reason; section
 *   - 5.5.10.2  RS.tx_in_flight and RS.lost are delivered + lost and lost since the first loss of the round:
 *     the kernel's rate samples carry neither. The prefix of a burst (InflightAtLoss) is not computed.
 *   - 5.3.1.3   6 ACKs that report losses stand for 6 lost ranges: the kernel does not report ranges.
 *   - 5.3.3.9   the early end of UP compares the packets in flight before the ACK. After it there are always
 *     fewer than the window, which the long-term window bounds.
 *   - 5.3.4.3   MarkConnectionAppLimited: samples during PROBE_RTT and a round after it count as
 *     application-limited, because a controller cannot write tcp_sock.app_limited for its own samples.
 *   - 5.3.4.3   the min RTT does not expire during PROBE_RTT: its first samples still contain the queue.
 *   - 5.3.4.3, 5.5.6   only a round of DOWN ends a cycle of the max rate. If a round takes longer than the
 *     5 s between two PROBE_RTTs, no cycle ends, and a path that has become slow keeps its old rate. Here
 *     PROBE_RTT takes the latest rate if no cycle has ended since the last PROBE_RTT and the RTT exceeds
 *     twice the min RTT, which also ends STARTUP.
 *   - 5.3.3.8   random choices are a hash of the clock, so that simulator and kernel agree.
 *   - 5.5.9     the aggregation is the maximum of two bins of 5 rounds (STARTUP: 1 round) instead of a filter
 *     over 10 rounds, as in Linux: the state is 128 bytes.
 *   - 5.6.3     the send quantum is the kernel's: a controller cannot set it.
 *   - 2         volumes are packets and rates packets per time, the kernel's units, not bytes.
 *   - no ECN: the draft does not define an answer to marks.
 */
#ifndef MPCC_BBR3_H
#define MPCC_BBR3_H

#include "bbr3_losses.h"
#include "bbr3_rtt.h"

/* The cycle DOWN, CRUISE, REFILL, UP. */
MPCC_FUNC u32 bbr3_cycle(const struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                         const struct mpcc_event *event, u32 begins)
{
	MPCC_REQUIRE(conn);
	MPCC_REQUIRE(b);
	MPCC_REQUIRE(event);
	u32 waited = (u32)conn->now_us - b->phase_at > b->wait_us ||
	             b->rounds >= mpcc_min(bbr3_target(b), BBR3_RENO_ROUNDS);

	if ((b->state == BBR3_DOWN || b->state == BBR3_CRUISE) && waited) {
		bbr3_refill(b, event);
	} else if (b->state == BBR3_DOWN) {
		if (event->in_flight <= bbr3_with_headroom(conn, b) &&
		    bbr3_drained(&conn->sub[MPCC_SLOT(self)], b, bbr3_max_rate(b), event))
			b->state = BBR3_CRUISE;
	} else if (b->state == BBR3_REFILL && begins) {
		b->samples = 1;
		b->acks = BBR3_ACKS_STARTING;
		b->round_until = event->total_delivered;
		bbr3_seek_full(b, mpcc_sampled_rate(event));
		b->state = BBR3_UP;
		bbr3_steeper(b);
	} else if (b->state == BBR3_UP) {
		u32 at_bound = b->too_high && event->prior_in_flight >= b->long_cwnd;

		if (!at_bound && (event->flags & MPCC_CWND_LIMITED) && b->cwnd >= b->long_cwnd) {
			bbr3_seek_full(b, mpcc_sampled_rate(event));
		} else if (at_bound || b->full_now) {
			b->early = b->early || at_bound;
			b->too_high = 0;
			bbr3_down(conn, self, b, event);
		}
	}
	return 0;
}

MPCC_FUNC u32 bbr3_startup(const struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                           const struct mpcc_event *event, u32 loss_ends)
{
	MPCC_REQUIRE(conn);
	MPCC_REQUIRE(b);
	MPCC_REQUIRE(event);
	if (b->state == BBR3_STARTUP && loss_ends && b->repairs &&
	    b->loss_events >= BBR3_FULL_LOSSES && bbr3_loses_much(conn, b, event)) {
		b->undo = BBR3_STARTUP;
		b->filled = b->full_now = 1;
		b->long_cwnd =
			mpcc_max(bbr3_inflight(b, bbr3_rate(b), MPCC_GAIN_ONE), b->latest_cwnd);
	}
	if (b->state == BBR3_STARTUP && b->filled) {
		b->state = BBR3_DRAIN;
		b->rounds = 0;
	}
	if (b->state == BBR3_DRAIN &&
	    (bbr3_drained(&conn->sub[MPCC_SLOT(self)], b, bbr3_rate(b), event) ||
	     b->rounds > BBR3_DRAIN_ROUNDS))
		bbr3_down(conn, self, b, event);
	return 0;
}

MPCC_FUNC u32 bbr3_set_cwnd(struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                            const struct mpcc_event *event)
{
	MPCC_REQUIRE(conn);
	MPCC_REQUIRE(b);
	MPCC_REQUIRE(event);
	struct mpcc_subflow *sub = &conn->sub[MPCC_SLOT(self)];
	u32 repairs = (sub->flags & (MPCC_RECOVERY | MPCC_LOSS)) != 0, bound = BBR3_NONE, most,
	    grown;

	if (repairs && !b->repairs)
		bbr3_save_cwnd(b);
	if ((b->repairs && !repairs) || (event->flags & MPCC_IN_VAIN))
		sub->cwnd = mpcc_max(sub->cwnd, b->saved_cwnd);
	b->repairs = repairs & 1;

	most = bbr3_inflight(b, bbr3_rate(b), bbr3_window_gain(b->state)) +
	       mpcc_max(b->extra[0], b->extra[1]);
	most = bbr3_with_bursts(b, sub->own.pacing_rate, event->mss, most);
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
	return 0;
}

MPCC_INLINE void bbr3_ack(struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                          const struct mpcc_event *event)
{
	struct mpcc_subflow *sub = &conn->sub[self];
	u32 when = 0, loss_ends;
	u64 before = sub->own.pacing_rate;

	if (event->flags & MPCC_IN_VAIN)
		bbr3_take_back(b, event);
	if (b->limited && event->acked && !mpcc_after(b->limited_until, event->prior_delivered))
		b->limited = 0;
	if (b->limited || (event->flags & MPCC_APP_LIMITED) || b->state == BBR3_PROBE_RTT)
		when |= BBR3_LIMITED;
	if (event->lost)
		bbr3_losses(conn, self, b, event, when);
	/* After the losses, because they may begin another round. */
	when |= mpcc_round_by_delivery(&b->round_until, event) ? BBR3_BEGINS : 0;
	loss_ends = mpcc_round_by_delivery(&b->loss_until, event);
	when |= loss_ends ? BBR3_LOSS_ENDS : 0;
	b->rounds = (unsigned char)mpcc_min(b->rounds + (when & BBR3_BEGINS), BBR3_RENO_ROUNDS);
	bbr3_learn(conn, b, event, when);
	bbr3_aggregate(b, event, (u32)conn->now_us, when);
	bbr3_startup(conn, self, b, event, loss_ends);
	if (b->filled && !bbr3_bound(conn, b, event, when))
		bbr3_cycle(conn, self, b, event, when & BBR3_BEGINS);
	bbr3_watch_rtt(conn, self, b, event, when);
	if (loss_ends) {
		b->latest_rate = mpcc_sampled_rate(event);
		b->latest_cwnd = event->delivered;
		b->lost = b->loss_events = 0;
	}
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
		b->undo = BBR3_NEVER;
		mpcc_pace(sub, (u32)mpcc_rate(mpcc_min(sub->cwnd, 1U << 16), srtt),
		          bbr3_gain(BBR3_STARTUP), BBR3_MARGIN, event->mss);
	} else if (event->flags & MPCC_RESTARTS) {
		b->idle = 1;
		b->extra_at = (u32)conn->now_us;
		b->extra_acked = 0;
		if (b->state >= BBR3_DOWN && b->state <= BBR3_UP)
			mpcc_pace(sub, bbr3_rate(b), MPCC_GAIN_ONE, BBR3_MARGIN, event->mss);
		else if (b->state == BBR3_PROBE_RTT)
			bbr3_end_probe_rtt(conn, self, b, event);
	} else if (event->flags & MPCC_TIMED_OUT) {
		bbr3_save_cwnd(b);
		b->repairs = 1;
		bbr3_losses(conn, self, b, event, b->limited ? BBR3_LIMITED : 0);
	} else {
		bbr3_ack(conn, self, b, event);
	}
	sub->cwnd = mpcc_clamp(sub->cwnd, 1, MPCC_CWND_MAX);
	sub->ssthresh = sub->cwnd;
	b->cwnd = sub->cwnd;
}

/* What `joulepath cc test` sees; the order of bbr3_shows. */
static const char bbr3_shows[] = "max_bw_pps bw_pps bw_shortterm_pps inflight_longterm "
				 "inflight_shortterm min_rtt_us extra_acked "
				 "full_bw_now full_bw_count full_bw_reached rounds "
				 "prev_probe_too_high prev_probe_precautionary bdp";

MPCC_INLINE u64 bbr3_per_s(u32 rate)
{
	return rate == BBR3_NONE ? MPCC_SHOW_NONE
	                         : mpcc_delivers(rate, 1000000) >> MPCC_AGGREGATE_BITS;
}

MPCC_INLINE u64 bbr3_bound_of(u32 packets)
{
	return packets == BBR3_NONE ? MPCC_SHOW_NONE : packets;
}

MPCC_INLINE void bbr3_show(const struct mpcc_conn *conn, u32 self, struct mpcc_area *area,
                           struct mpcc_shown *shown)
{
	const struct bbr3 *b = bbr3_area(area);
	u64 values[] = { bbr3_per_s(bbr3_max_rate(b)),
		         bbr3_per_s(bbr3_rate(b)),
		         bbr3_per_s(b->short_rate),
		         bbr3_bound_of(b->long_cwnd),
		         bbr3_bound_of(b->short_cwnd),
		         b->rtt_us ? b->rtt_us : MPCC_SHOW_NONE,
		         mpcc_max(b->extra[0], b->extra[1]),
		         b->full_now,
		         b->full_rounds,
		         b->filled,
		         b->rounds,
		         b->too_high,
		         b->early,
		         bbr3_inflight(b, bbr3_rate(b), MPCC_GAIN_ONE) };

	(void)conn;
	(void)self;
	shown->state = b->state;
	for (u32 k = 0; k < sizeof(values) / sizeof(values[0]); k++)
		shown->value[k] = values[k];
}

MPCC_CAPABILITIES(bbr3, MPCC_UNCOUPLED | MPCC_READS_DELAY | MPCC_OWNS_WINDOW);

static const struct mpcc_ops mpcc_ops_bbr3 = {
	.name = "bbr3",
	.title = "BBRv3",
	.paper = "draft-ietf-ccwg-bbr-06",
	.summary = "BBR that stays below 2 % loss and leaves room for other flows, uncoupled",
	.confidence = "V",
	.capabilities = mpcc_capabilities_bbr3,
	.min_cwnd = 1,
	.control = bbr3_control,
	.states = "STARTUP DRAIN DOWN CRUISE REFILL UP PROBE_RTT",
	.shows = bbr3_shows,
	.show = bbr3_show,
};

#endif
