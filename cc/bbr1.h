/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * BBR, version 1: Cardwell et al., ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00.
 *
 *   BtlBw  = max rate sample of 10 rounds          RTprop = min RTT of 10 s
 *
 *   pacing = gain * BtlBw,    window = window gain * BtlBw * RTprop + 3 bursts, at least 4
 *
 *             full for 3 rounds        in flight <= BDP
 *   STARTUP ─────────────────► DRAIN ────────────────► PROBE_BW   gain 5/4, 3/4, 1, 1, 1, 1, 1, 1,
 *      ▲ gain 2/ln 2             gain ln 2/2          │   ▲       each for one RTprop
 *      └─ not full ──┐                 RTprop 10 s old│   │full
 *                    └────────────── PROBE_RTT ◄──────┘   │       window 4, for 200 ms and a round
 *                                        └────────────────┘
 *
 * Full: BtlBw has not grown by a quarter for 3 rounds. A loss reduces the window by the lost packets. For one
 * round the window is then what is delivered; the end of recovery restores it.
 *
 * Deviations
 *   - pacing stays 1 percent below the draft's rate, as in Linux: otherwise a rate that noise measures too
 *     high leaves a standing queue of a BDP.
 *   - a hash of the clock chooses the first phase of PROBE_BW.
 *   - during PROBE_RTT and for the round after it, rate samples count as application-limited: in the draft
 *     the transport marks them.
 *   - after a timeout the window restarts from the runner's value and grows by the packets acknowledged.
 *   - two Linux additions are missing: long-term bandwidth for policers, and the allowance for aggregated
 *     ACKs.
 */
#ifndef MPCC_BBR1_H
#define MPCC_BBR1_H

#include "mpcc_model.h"

#define BBR1_PARAMS(X) \
	X(BBR1_MARGIN, "margin", 1, 0, 20, 1, "", "percent by which pacing stays below BtlBw")
enum { BBR1_PARAMS(MPCC_PARAM_ID) BBR1_PARAM_COUNT };
enum { BBR1_PARAMS(MPCC_PARAM_DEFAULT) };

#define BBR1_HIGH_GAIN    739U /* Q8: 2 / ln 2 = 2.885 */
#define BBR1_DRAIN_GAIN   89U  /* Q8: ln 2 / 2 = 0.347 */
#define BBR1_UP_GAIN      320U /* Q8: 5/4 */
#define BBR1_DOWN_GAIN    192U /* Q8: 3/4 */
#define BBR1_CWND_GAIN    512U /* Q8: 2 */
#define BBR1_RATE_ROUNDS  10U
#define BBR1_RTT_US       10000000U /* us: validity of RTprop */
#define BBR1_PROBE_RTT_US 200000U   /* us */
#define BBR1_FULL_ROUNDS  3U
#define BBR1_CYCLE        8U
#define BBR1_MIN_CWND     4U    /* packets */
#define BBR1_INITIAL_CWND 10U   /* packets: RFC 6928 */
#define BBR1_FIRST_RTT_US 1000U /* us: if no RTT is known */

enum bbr1_state { BBR1_STARTUP, BBR1_DRAIN, BBR1_PROBE_BW, BBR1_PROBE_RTT };

struct bbr1 {
	struct mpcc_extreme rate; /* Q24 packets/us, by rounds: BtlBw */
	u32 round;                /* rounds by delivery */
	u32 round_until;          /* total_delivered at which the round ends */
	u32 rtt_us;               /* us: RTprop, 0 = none */
	u32 rtt_at;               /* us: when it was measured */
	u32 phase_at;             /* us: when the phase of PROBE_BW began */
	u32 probe_end;            /* us: earliest end of PROBE_RTT, valid if probe_timed */
	u32 full_rate;            /* Q24 packets/us: full if BtlBw stays below 5/4 of it */
	u32 limited_until;        /* packets delivered: earlier samples belong to PROBE_RTT */
	u32 conserve_until;       /* packets delivered: packet conservation ends */
	u32 saved_cwnd;           /* packets: before recovery or PROBE_RTT */
	u32 cwnd;                 /* packets: at the end of the last event */
	u32 state;                /* enum bbr1_state */
	u32 phase;                /* of PROBE_BW, 0 .. 7 */
	u32 full_rounds;          /* rounds without growth; 3 = the pipe is full */
	u32 probe_timed; /* 1 = in flight has fallen to 4 in PROBE_RTT, 2 = and a round has passed */
	u32 repairs;     /* 1 = in recovery or after a timeout */
	u32 conserves;   /* 1 = packet conservation */
	u32 idle;        /* 1 = restarted after idle, no ACK yet */
	u32 limited;     /* 1 = limited_until is valid */
};
MPCC_AREA(bbr1);

MPCC_INLINE u32 bbr1_pacing_gain(const struct bbr1 *b)
{
	u32 cycle = b->phase == 0 ? BBR1_UP_GAIN : b->phase == 1 ? BBR1_DOWN_GAIN : MPCC_GAIN_ONE;

	return b->state == BBR1_STARTUP    ? BBR1_HIGH_GAIN
	       : b->state == BBR1_DRAIN    ? BBR1_DRAIN_GAIN
	       : b->state == BBR1_PROBE_BW ? cycle
	                                   : MPCC_GAIN_ONE;
}

/* gain * BtlBw * RTprop + 3 bursts, packets. */
MPCC_INLINE u32 bbr1_inflight(const struct bbr1 *b, u64 pacing, u32 mss, u32 gain)
{
	if (!b->rtt_us || !b->rate.value[0])
		return BBR1_INITIAL_CWND;
	return mpcc_pipe(b->rate.value[0], b->rtt_us, gain) + 3 * mpcc_burst(pacing, mss);
}

MPCC_INLINE void bbr1_save_cwnd(struct bbr1 *b)
{
	b->saved_cwnd = b->repairs || b->state == BBR1_PROBE_RTT ? mpcc_max(b->saved_cwnd, b->cwnd)
	                                                         : b->cwnd;
}

MPCC_INLINE void bbr1_probe_bw(struct bbr1 *b, u32 now, u32 phase)
{
	b->state = BBR1_PROBE_BW;
	b->phase = phase % BBR1_CYCLE;
	b->phase_at = now;
}

/* Updates BtlBw and detects a full pipe. */
MPCC_INLINE u32 bbr1_update_rate(struct bbr1 *b, const struct mpcc_event *event)
{
	u32 rate = mpcc_sampled_rate(event),
	    begins = mpcc_round_by_delivery(&b->round_until, event);
	u32 limited;

	if (b->limited && event->acked && !mpcc_after(b->limited_until, event->prior_delivered))
		b->limited = 0;
	limited = b->limited || (event->flags & MPCC_APP_LIMITED) || b->state == BBR1_PROBE_RTT;
	b->round += begins;
	if (rate && (!limited || rate >= b->rate.value[0]))
		mpcc_keep_max(&b->rate, BBR1_RATE_ROUNDS, b->round, rate);
	if (!begins || limited || b->full_rounds >= BBR1_FULL_ROUNDS)
		return begins;
	if ((u64)b->rate.value[0] * 4 >= (u64)b->full_rate * 5) {
		b->full_rate = b->rate.value[0];
		b->full_rounds = 0;
	} else {
		b->full_rounds++;
	}
	return begins;
}

/* True if the phase of PROBE_BW has lasted long enough. */
MPCC_INLINE u32 bbr1_phase_ends(const struct bbr1 *b, const struct mpcc_event *event, u32 now,
                                u64 pacing)
{
	u32 lasted = now - b->phase_at > b->rtt_us;

	if (b->phase == 0) /* until in flight reaches the probe's target */
		return lasted &&
		       (event->lost || event->prior_in_flight >=
		                               bbr1_inflight(b, pacing, event->mss, BBR1_UP_GAIN));
	if (b->phase == 1) /* until the queue of phase 0 is gone */
		return lasted || event->prior_in_flight <=
		                         bbr1_inflight(b, pacing, event->mss, MPCC_GAIN_ONE);
	return lasted;
}

MPCC_INLINE void bbr1_probe_rtt(struct bbr1 *b, struct mpcc_subflow *sub,
                                const struct mpcc_event *event, u32 now, u32 begins)
{
	if (!b->probe_timed && event->in_flight <= BBR1_MIN_CWND) {
		b->probe_timed = 1;
		b->probe_end = now + BBR1_PROBE_RTT_US;
		b->round_until = event->total_delivered;
	} else if (b->probe_timed && begins) {
		b->probe_timed = 2;
	}
	if (b->probe_timed < 2 || mpcc_after(b->probe_end, now))
		return;
	b->rtt_at = now;
	b->limited = 1;
	b->limited_until = event->total_delivered + event->in_flight;
	sub->cwnd = mpcc_max(sub->cwnd, b->saved_cwnd);
	if (b->full_rounds >= BBR1_FULL_ROUNDS)
		bbr1_probe_bw(b, now, 2);
	else
		b->state = BBR1_STARTUP;
}

/* Advances the state machine and updates RTprop. */
MPCC_INLINE void bbr1_advance(struct bbr1 *b, const struct mpcc_conn *conn, u32 self,
                              struct mpcc_subflow *sub, const struct mpcc_event *event, u32 begins)
{
	u32 now = (u32)conn->now_us, old = b->rtt_us && now - b->rtt_at > BBR1_RTT_US;
	u64 pacing = sub->own.pacing_rate;

	if (b->state == BBR1_PROBE_BW && bbr1_phase_ends(b, event, now, pacing))
		bbr1_probe_bw(b, now, b->phase + 1);
	if (b->state == BBR1_STARTUP && b->full_rounds >= BBR1_FULL_ROUNDS)
		b->state = BBR1_DRAIN;
	if (b->state == BBR1_DRAIN &&
	    event->in_flight <= bbr1_inflight(b, pacing, event->mss, MPCC_GAIN_ONE))
		/* any phase but the second, which would drain again */
		bbr1_probe_bw(b, now, 2 + mpcc_noise(conn, self, event, BBR1_CYCLE - 1));
	if (event->rtt_us && (!b->rtt_us || event->rtt_us <= b->rtt_us || old)) {
		b->rtt_us = mpcc_min(event->rtt_us, MPCC_RTT_MAX_US);
		b->rtt_at = now;
	}
	if (old && b->state != BBR1_PROBE_RTT && !b->idle) {
		bbr1_save_cwnd(b);
		b->state = BBR1_PROBE_RTT;
		b->probe_timed = 0;
	}
	if (b->state == BBR1_PROBE_RTT)
		bbr1_probe_rtt(b, sub, event, now, begins);
	b->idle = 0;
}

/* Applies losses to the window. */
MPCC_INLINE void bbr1_repair(struct bbr1 *b, struct mpcc_subflow *sub,
                             const struct mpcc_event *event)
{
	u32 repairs = (sub->flags & (MPCC_RECOVERY | MPCC_LOSS)) != 0;

	if (b->conserves && event->acked && !mpcc_after(b->conserve_until, event->prior_delivered))
		b->conserves = 0;
	sub->cwnd = sub->cwnd > event->lost ? sub->cwnd - event->lost : 1;
	if ((sub->flags & MPCC_RECOVERY) && !b->repairs) {
		bbr1_save_cwnd(b);
		b->conserves = 1;
		b->conserve_until = event->total_delivered;
		sub->cwnd = event->in_flight + mpcc_max(event->acked, 1);
	}
	if (b->repairs && !repairs) {
		b->conserves = 0;
		sub->cwnd = mpcc_max(sub->cwnd, b->saved_cwnd);
	}
	b->repairs = repairs;
	if (b->conserves)
		sub->cwnd = mpcc_max(sub->cwnd, event->in_flight + event->acked);
}

MPCC_INLINE void bbr1_set_cwnd(struct bbr1 *b, struct mpcc_subflow *sub,
                               const struct mpcc_event *event)
{
	u32 gain = b->state == BBR1_STARTUP || b->state == BBR1_DRAIN ? BBR1_HIGH_GAIN
	           : b->state == BBR1_PROBE_BW                        ? BBR1_CWND_GAIN
	                                                              : MPCC_GAIN_ONE;
	u32 target = bbr1_inflight(b, sub->own.pacing_rate, event->mss, gain);

	bbr1_repair(b, sub, event);
	if (!b->conserves) {
		u32 grown = mpcc_add_saturating(sub->cwnd, event->acked);

		if (b->full_rounds >= BBR1_FULL_ROUNDS)
			sub->cwnd = mpcc_min(grown, target);
		else if (sub->cwnd < target || event->total_delivered < BBR1_INITIAL_CWND)
			sub->cwnd = grown;
		sub->cwnd = mpcc_max(sub->cwnd, BBR1_MIN_CWND);
	}
	if (b->state == BBR1_PROBE_RTT)
		sub->cwnd = mpcc_min(sub->cwnd, BBR1_MIN_CWND);
}

MPCC_INLINE void bbr1_control(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event,
                              struct mpcc_area *area)
{
	struct bbr1 *b = bbr1_area(area);
	struct mpcc_subflow *sub = &conn->sub[self];
	u64 before = sub->own.pacing_rate;
	u32 margin = (u32)MPCC_PARAM(conn, BBR1_MARGIN);
	u32 srtt = sub->srtt_us ? mpcc_rtt(sub) : BBR1_FIRST_RTT_US, begins;

	if (event->flags & MPCC_STARTS) {
		mpcc_pace(sub, (u32)mpcc_rate(mpcc_min(sub->cwnd, 1U << 16), srtt), BBR1_HIGH_GAIN,
		          margin, event->mss);
	} else if (event->flags & MPCC_RESTARTS) {
		b->idle = 1;
		if (b->state == BBR1_PROBE_BW && b->rate.value[0])
			mpcc_pace(sub, b->rate.value[0], MPCC_GAIN_ONE, margin, event->mss);
	} else if (event->flags & MPCC_TIMED_OUT) {
		bbr1_save_cwnd(b);
		b->repairs = 1;
		b->conserves = 0;
		b->full_rate = 0;
	} else {
		if (event->flags & MPCC_IN_VAIN)
			sub->cwnd = mpcc_max(sub->cwnd, b->saved_cwnd);
		begins = bbr1_update_rate(b, event);
		bbr1_advance(b, conn, self, sub, event, begins);
		if (b->rate.value[0]) {
			mpcc_pace(sub, b->rate.value[0], bbr1_pacing_gain(b), margin, event->mss);
			if (b->full_rounds < BBR1_FULL_ROUNDS && sub->own.pacing_rate < before)
				sub->own.pacing_rate = before;
		}
		bbr1_set_cwnd(b, sub, event);
	}
	sub->cwnd = mpcc_clamp(sub->cwnd, 1, MPCC_CWND_MAX);
	sub->ssthresh = sub->cwnd;
	b->cwnd = sub->cwnd;
}

MPCC_CAPABILITIES(bbr1, MPCC_UNCOUPLED | MPCC_READS_DELAY | MPCC_OWNS_WINDOW);

static const struct mpcc_ops mpcc_ops_bbr1 = {
	.name = "bbr1",
	.title = "BBRv1",
	.paper = "Cardwell et al., ACM Queue 14(5), 2016",
	.summary = "paces at the bandwidth that it measures, with two BDP in flight at most, "
		   "uncoupled",
	.confidence = "L",
	.capabilities = mpcc_capabilities_bbr1,
	.min_cwnd = 1,
	.control = bbr1_control,
};

#endif
