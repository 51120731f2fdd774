/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * bbr3_model.h - BBRv3's model of its path: rate, RTT, aggregation, and the two bounds on packets in flight.
 * Equations, source and deviations are in bbr3.h, which acts on the model.
 */
#ifndef MPCC_BBR3_MODEL_H
#define MPCC_BBR3_MODEL_H

#include "mpcc_model.h"

#define BBR3_PARAMS(X)                                                                       \
	X(BBR3_LOSS, "loss", 20, 1, 500, BBR3_SCALE, "", "part of a round that may be lost") \
	X(BBR3_BETA, "beta", 700, 100, 990, BBR3_SCALE, "", "part kept where more is lost")  \
	X(BBR3_HEADROOM, "headroom", 150, 0, 900, BBR3_SCALE, "",                            \
	  "part of the window left to other flows")
#define BBR3_SCALE 1000
enum { BBR3_PARAMS(MPCC_PARAM_ID) BBR3_PARAM_COUNT };
enum { BBR3_PARAMS(MPCC_PARAM_DEFAULT) };

#define BBR3_NONE         0xffffffffU /* no bound */
#define BBR3_MARGIN       1U          /* percent */
#define BBR3_RTT_US       10000000U   /* us: validity of a min RTT */
#define BBR3_PROBE_US     5000000U    /* us: interval between its probes */
#define BBR3_PROBE_RTT_US 200000U     /* us */
#define BBR3_WAIT_US      2000000U    /* us: minimum time between two rate probes */
#define BBR3_WAIT_MORE_US 1000000U    /* us: random part of that time */
#define BBR3_RENO_ROUNDS  63U         /* maximum of rounds between them */
#define BBR3_FULL_ROUNDS  3U
#define BBR3_DRAIN_ROUNDS 3U
#define BBR3_FULL_LOSSES  6U    /* loss events in a round that end STARTUP */
#define BBR3_MIN_CWND     4U    /* packets */
#define BBR3_INITIAL_CWND 10U   /* packets */
#define BBR3_FIRST_RTT_US 1000U /* us: if no RTT is known */
#define BBR3_BIN_ROUNDS   5U

enum bbr3_state {
	BBR3_STARTUP,
	BBR3_DRAIN,
	BBR3_DOWN,
	BBR3_CRUISE,
	BBR3_REFILL,
	BBR3_UP,
	BBR3_PROBE_RTT,
	BBR3_NEVER /* no state: nothing to return to */
};
/* What an ACK is. */
enum bbr3_when {
	BBR3_BEGINS = 1,  /* it begins a round */
	BBR3_LIMITED = 2, /* its sample is application-limited */
	BBR3_LOSS_ENDS =
		4 /* a round trip has passed since the first loss, or since the last such ACK */
};
/* The probe that the present ACKs belong to. */
enum bbr3_acks { BBR3_ACKS_NONE, BBR3_ACKS_STARTING, BBR3_ACKS_FEEDBACK, BBR3_ACKS_STOPPING };

/* Q8: pacing and window gains by state. */
MPCC_INLINE u32 bbr3_gain(u32 state)
{
	return state == BBR3_STARTUP ? 709
	       : state == BBR3_DRAIN ? 128
	       : state == BBR3_DOWN  ? 230
	       : state == BBR3_UP    ? 320
	                             : MPCC_GAIN_ONE;
}

MPCC_INLINE u32 bbr3_window_gain(u32 state)
{
	return state == BBR3_UP ? 576 : state == BBR3_PROBE_RTT ? 128 : 512;
}

struct bbr3 {
	u32 rate[2]; /* Q24 packets/us: maximum of this cycle and of the last */
	u32 short_rate, latest_rate, full_rate;       /* Q24 packets/us */
	u32 long_cwnd, short_cwnd, latest_cwnd;       /* packets in flight; BBR3_NONE = no bound */
	u32 rtt_us, rtt_at, recent_rtt_us, recent_at; /* us: min RTT of 10 s, of 5 s; their times */
	u32 phase_at, wait_us, probe_end;             /* us */
	u32 round_until, loss_until, limited_until;   /* packets delivered */
	u32 up_every, up_acks;                /* packets acked: the long-term window grows by 1 */
	u32 lost;                             /* in this round of losses */
	u32 saved_cwnd, cwnd;                 /* packets: before recovery or PROBE_RTT; latest */
	u32 extra_at, extra_acked, extra[2];  /* us, packets: aggregation */
	u32 undo_rate, undo_short, undo_long; /* the bounds before the latest loss episode */
	unsigned char rounds;                 /* since DRAIN began, then since the last probe */
	unsigned char up_rounds;              /* in which the long-term window has grown */
	unsigned char loss_events; /* ACKs that reported losses in this round of losses */
	unsigned char state : 3, undo : 3,
		full_rounds : 2; /* undo: state that a loss ended, or BBR3_NEVER */
	unsigned char acks : 2, timed : 2, extra_rounds : 3,
		filled : 1; /* timed 2: a round has passed */
	unsigned char full_now : 1, repairs : 1, lossy : 1, samples : 1, idle : 1, limited : 1;
	unsigned char too_high : 1,
		early : 1;          /* the last UP lost too much; ended at the long-term window */
	unsigned char advanced : 1; /* a cycle of the max rate has ended since the last PROBE_RTT */
};
MPCC_AREA(bbr3);

MPCC_INLINE u32 bbr3_part(u32 value, s32 thousandths)
{
	return (u32)((u64)value * (u64)thousandths / BBR3_SCALE);
}

MPCC_INLINE u32 bbr3_max_rate(const struct bbr3 *b)
{
	return mpcc_max(b->rate[0], b->rate[1]);
}

/* gain * BDP, packets */
MPCC_INLINE u32 bbr3_inflight(const struct bbr3 *b, u32 rate, u32 gain)
{
	return b->rtt_us && rate ? mpcc_pipe(rate, b->rtt_us, gain) : BBR3_INITIAL_CWND;
}

MPCC_INLINE u32 bbr3_rate(const struct bbr3 *b)
{
	return mpcc_min(bbr3_max_rate(b), b->short_rate);
}

MPCC_INLINE u32 bbr3_target(const struct bbr3 *b)
{
	return mpcc_min(bbr3_inflight(b, bbr3_rate(b), MPCC_GAIN_ONE), b->cwnd);
}

/* Room for three bursts and for delayed ACKs, section 5.6.4.2. */
MPCC_INLINE u32 bbr3_with_bursts(const struct bbr3 *b, u64 pacing_rate, u32 mss, u32 packets)
{
	packets = mpcc_max(mpcc_max(packets, 3 * mpcc_burst(pacing_rate, mss)), BBR3_MIN_CWND);
	return packets + (b->state == BBR3_UP ? 2 : 0);
}

/* True if no more than `rate` * min RTT is in flight. */
MPCC_INLINE u32 bbr3_drained(const struct mpcc_subflow *sub, const struct bbr3 *b, u32 rate,
                             const struct mpcc_event *event)
{
	u32 bdp = bbr3_inflight(b, rate, MPCC_GAIN_ONE);

	return event->in_flight <= bbr3_with_bursts(b, sub->own.pacing_rate, event->mss, bdp);
}

MPCC_INLINE u32 bbr3_with_headroom(const struct mpcc_conn *conn, const struct bbr3 *b)
{
	u32 room = mpcc_max(bbr3_part(b->long_cwnd, MPCC_PARAM(conn, BBR3_HEADROOM)), 1);

	return b->long_cwnd == BBR3_NONE
	               ? BBR3_NONE
	               : mpcc_max(b->long_cwnd - mpcc_min(room, b->long_cwnd), BBR3_MIN_CWND);
}

MPCC_INLINE void bbr3_no_short_term(struct bbr3 *b)
{
	b->short_rate = b->short_cwnd = BBR3_NONE;
}

MPCC_INLINE void bbr3_no_signals(struct bbr3 *b)
{
	b->latest_rate = b->latest_cwnd = 0;
	b->lossy = 0;
}

MPCC_INLINE void bbr3_seek_full(struct bbr3 *b, u32 rate)
{
	b->full_rate = rate;
	b->full_rounds = b->full_now = 0;
}

MPCC_INLINE void bbr3_down(const struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                           const struct mpcc_event *event)
{
	bbr3_no_signals(b);
	b->up_every = BBR3_NONE;
	b->rounds = (unsigned char)mpcc_noise(conn, self, event, 2);
	b->wait_us = BBR3_WAIT_US + mpcc_noise(conn, self ^ 4, event, BBR3_WAIT_MORE_US);
	b->phase_at = (u32)conn->now_us;
	b->acks = BBR3_ACKS_STOPPING;
	b->round_until = event->total_delivered;
	b->state = BBR3_DOWN;
}

MPCC_INLINE void bbr3_refill(struct bbr3 *b, const struct mpcc_event *event)
{
	bbr3_no_short_term(b);
	b->up_rounds = 0;
	b->up_acks = 0;
	b->early = 0;
	b->acks = BBR3_ACKS_NONE;
	b->round_until = event->total_delivered;
	b->state = BBR3_REFILL;
}

/* Makes the long-term window grow by 1, 2, 4 ... packets in successive rounds of UP. */
MPCC_INLINE void bbr3_steeper(struct bbr3 *b)
{
	b->up_every = mpcc_max(b->cwnd >> mpcc_min(b->up_rounds, 30), 1);
	b->up_rounds = (unsigned char)mpcc_min(b->up_rounds + 1U, 30);
}

/* Updates the bandwidth filter and the short-term bounds, and detects a full pipe. */
MPCC_FUNC u32 bbr3_learn(const struct mpcc_conn *conn, struct bbr3 *b,
                         const struct mpcc_event *event, u32 when)
{
	MPCC_REQUIRE(conn);
	MPCC_REQUIRE(b);
	MPCC_REQUIRE(event);
	u32 rate = mpcc_sampled_rate(event), limited = when & BBR3_LIMITED;

	b->latest_rate = mpcc_max(b->latest_rate, rate);
	b->latest_cwnd = mpcc_max(b->latest_cwnd, event->delivered);
	if (rate && (!limited || rate >= bbr3_max_rate(b)))
		b->rate[0] = mpcc_max(b->rate[0], rate);
	if (when & BBR3_LOSS_ENDS) {
		if (b->lossy && b->state != BBR3_STARTUP && b->state != BBR3_REFILL &&
		    b->state != BBR3_UP) {
			s32 beta = MPCC_PARAM(conn, BBR3_BETA);

			if (b->short_rate == BBR3_NONE)
				b->short_rate = bbr3_max_rate(b);
			if (b->short_cwnd == BBR3_NONE)
				b->short_cwnd = b->cwnd;
			b->short_rate = mpcc_max(b->latest_rate, bbr3_part(b->short_rate, beta));
			b->short_cwnd = mpcc_max(b->latest_cwnd, bbr3_part(b->short_cwnd, beta));
		}
		b->lossy = 0;
	}
	if (b->full_now || !(when & BBR3_BEGINS) || limited)
		return 0;
	if ((u64)rate * 4 >= (u64)b->full_rate * 5) {
		bbr3_seek_full(b, rate);
	} else if (++b->full_rounds >= BBR3_FULL_ROUNDS) {
		b->full_now = b->filled = 1;
	}
	return 0;
}

/* ACK aggregation: packets acknowledged in excess of the rate. */
MPCC_FUNC u32 bbr3_aggregate(struct bbr3 *b, const struct mpcc_event *event, u32 now, u32 when)
{
	MPCC_REQUIRE(b);
	MPCC_REQUIRE(event);
	u32 due = mpcc_pipe(bbr3_rate(b), now - b->extra_at, MPCC_GAIN_ONE), extra;

	if (when & BBR3_BEGINS && ++b->extra_rounds >= (b->filled ? BBR3_BIN_ROUNDS : 1)) {
		b->extra[1] = b->extra[0];
		b->extra[0] = b->extra_rounds = 0;
	}
	if (b->extra_acked <= due) {
		b->extra_at = now;
		b->extra_acked = due = 0;
	}
	b->extra_acked = mpcc_add_saturating(b->extra_acked, event->acked);
	extra = b->extra_acked > due ? b->extra_acked - due : 0;
	b->extra[0] = mpcc_max(b->extra[0], mpcc_min(extra, b->cwnd));
	return 0;
}

#endif
