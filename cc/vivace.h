/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Vivace, after PCC Vivace: Dong et al., NSDI 2018, utility "Vivace-Latency".
 *
 *                 t          d RTT
 *   u(x, L)  =  x    -  b x -------  -  c x L         x Mbit/s, L: part lost, t = 0.9, b = 900, c = 11.35
 *                             d T
 *
 *   two monitor intervals of an RTT, at r (1 + e) and r (1 - e), e = 0.05, in random order:
 *
 *              u+ - u-
 *   gamma  =  ---------       r <- r + m gamma, at most (0.05 + 0.1 k) r
 *               2 e r
 *
 *   m(n) = n up to 3, 2n - 3 above, for the n-th step in one direction;  k: consecutive steps at the bound
 *   start: r doubles until the utility falls; then one step back
 *
 * With equal L in both intervals gamma > 0 while L < 0.9 r^-0.1 / c: 6 % at 10 Mbit/s.
 *
 * Deviations ("Vivace-like")
 *   - after each interval the sender waits for its ACKs at the rate r, also at the start.
 *   - d RTT / d T is the difference of the means of an interval's halves; below 0.01, or two standard errors,
 *     it is 0. An interval has at least 10 packets.
 *   - r^0.1 is interpolated between powers of two (0.06 %); u+ - u- uses the requested rates.
 *   - a loss counts in the interval whose ACK reports it; in flight are at most 2 r RTT + 10 packets; a
 *     timeout halves r.
 */
#ifndef MPCC_VIVACE_H
#define MPCC_VIVACE_H

#include "mpcc_model.h"

#define VIVACE_PARAMS(X)                                                                 \
	X(VIVACE_B, "b", 900, 0, 10000, 1, "", "weight of a growing RTT in the utility") \
	X(VIVACE_C, "c", 1135, 0, 100000, VIVACE_SCALE, "", "weight of losses in the utility")
#define VIVACE_SCALE 100
enum { VIVACE_PARAMS(MPCC_PARAM_ID) VIVACE_PARAM_COUNT };
enum { VIVACE_PARAMS(MPCC_PARAM_DEFAULT) };

#define VIVACE_BITS         16 /* Q16: gradients, losses, utilities */
#define VIVACE_ONE          (1 << VIVACE_BITS)
#define VIVACE_RATE_MIN     64U         /* kbit/s */
#define VIVACE_RATE_MAX     1000000000U /* kbit/s: 1 Tbit/s */
#define VIVACE_FIRST_RTT_US 100000U     /* us: if no RTT is known */
#define VIVACE_LEAST        10U         /* packets: length of the shortest interval */
#define VIVACE_SPARE        10U         /* packets in flight beyond 2 r RTT */
#define VIVACE_STILL        655         /* Q16: 0.01, smaller slopes count as 0 */
#define VIVACE_TENTH_ROOT   130762U     /* Q16: 1000^0.1: (1 kbit/s in Mbit/s)^-0.1 */
#define VIVACE_OCTAVE       61147U      /* Q16: 2^-0.1 */
#define VIVACE_POWER        58985       /* Q16: (1.05^0.9 - 0.95^0.9) / 0.1 */

enum vivace_phase { VIVACE_FIRST, VIVACE_SECOND, VIVACE_WAIT };

struct vivace {
	s64 utility;    /* Q16: of the start's last step */
	u64 rtt_sum[2]; /* us: of the interval's first and second half */
	u32 rtt_count[2];
	u32 rtt_least, rtt_most; /* us: of the interval */
	s32 slope[2];            /* Q16: d RTT / d T of the two intervals */
	u32 loss[2];             /* Q16: part lost */
	u32 rate;                /* kbit/s: r */
	u32 begun_at;            /* us: when the present interval's first packet left */
	u32 acked_at;            /* us: when its first ACK came */
	u32 until[2];            /* packets delivered when sending ended */
	u32 from;                /* packets delivered when the first one began */
	u32 length_us;           /* us: of an interval */
	u32 acked, lost;         /* packets of the interval that ACKs arrive for */
	u32 steps, bound;        /* n and k */
	unsigned char phase;     /* enum vivace_phase: the interval being sent */
	unsigned char heard;     /* intervals with complete ACKs */
	unsigned char starts;    /* 1 = r doubles; 2 = and a utility to compare exists */
	unsigned char down_first, fell, limited; /* order; last step; lack of data */
};
MPCC_AREA(vivace);

/* r^-0.1 in Q16 for r in Mbit/s, given in kbit/s. */
MPCC_INLINE u32 vivace_tenth(u32 kbit)
{
	u64 value = VIVACE_TENTH_ROOT;
	u32 octave = 0;

	kbit = mpcc_max(kbit, 1);
	for (u32 k = 0; k < 31 && kbit >> (k + 1); k++) {
		value = value * VIVACE_OCTAVE >> VIVACE_BITS;
		octave = k + 1;
	}
	/* linear interpolation between this octave and the next */
	return (u32)(value - (value * (VIVACE_ONE - VIVACE_OCTAVE) >> VIVACE_BITS) *
	                             (kbit - (1U << octave)) / (1U << octave));
}

/* b * slope + c * loss, Q16: the utility that 1 Mbit/s loses. */
MPCC_INLINE s64 vivace_cost(const struct mpcc_conn *conn, const struct vivace *v, u32 k)
{
	u64 loss = (u64)MPCC_PARAM(conn, VIVACE_C) * mpcc_min(v->loss[k & 1], VIVACE_ONE);
	s64 slope = v->slope[k & 1];

	slope = slope > VIVACE_ONE ? VIVACE_ONE : slope < -VIVACE_ONE ? -VIVACE_ONE : slope;
	return (s64)MPCC_PARAM(conn, VIVACE_B) * slope + (s64)(loss / VIVACE_SCALE);
}

/* Clears the measurements for the next interval. */
MPCC_INLINE void vivace_forget(struct vivace *v)
{
	v->rtt_sum[0] = v->rtt_sum[1] = 0;
	v->rtt_count[0] = v->rtt_count[1] = 0;
	v->rtt_least = MPCC_RTT_MAX_US;
	v->rtt_most = 0;
	v->acked = v->lost = 0;
}

/* Ends interval k: its ACKs are complete. */
MPCC_INLINE void vivace_close(struct vivace *v, u32 k)
{
	u64 all = (u64)v->acked + v->lost, half = mpcc_max(v->length_us / 2, 1);
	u64 early = v->rtt_sum[0] / mpcc_max(v->rtt_count[0], 1);
	u64 late = v->rtt_sum[1] / mpcc_max(v->rtt_count[1], 1);
	u64 differs = late > early ? late - early : early - late, slope, chance;
	u64 least = mpcc_min(mpcc_min(v->rtt_count[0], v->rtt_count[1]), 1U << 12);

	slope = (differs << VIVACE_BITS) / half;
	/* ignores a difference within two standard errors of 2 n samples in this range */
	chance = (u64)mpcc_min(v->rtt_most - v->rtt_least, MPCC_RTT_MAX_US);
	if (2 * least * differs * differs < chance * chance || !least || slope < VIVACE_STILL)
		slope = 0;
	slope = slope < VIVACE_ONE ? slope : VIVACE_ONE;
	v->slope[k & 1] = late > early ? (s32)slope : -(s32)slope;
	v->loss[k & 1] = all ? (u32)(((u64)v->lost << VIVACE_BITS) / all) : 0;
	vivace_forget(v);
	v->heard = (unsigned char)(k + 1);
}

MPCC_INLINE void vivace_begin(struct mpcc_conn *conn, u32 self, struct vivace *v,
                              const struct mpcc_event *event)
{
	u32 srtt = conn->sub[self].srtt_us ? mpcc_rtt(&conn->sub[self]) : VIVACE_FIRST_RTT_US;
	u32 packets_ms = VIVACE_LEAST * mpcc_min(event->mss, 65536) * 8 / mpcc_max(v->rate, 1);

	v->phase = VIVACE_FIRST;
	v->heard = 0;
	v->limited = 0;
	vivace_forget(v);
	v->begun_at = (u32)conn->now_us;
	v->from = event->total_delivered;
	v->length_us = mpcc_max(srtt, mpcc_min(packets_ms * 1000, MPCC_RTT_MAX_US));
	v->down_first = (unsigned char)mpcc_noise(conn, self, event, 2);
}

/* The start: doubles r, or undoes the last doubling. */
MPCC_INLINE void vivace_double(const struct mpcc_conn *conn, struct vivace *v)
{
	s64 utility = ((s64)vivace_tenth(v->rate) - vivace_cost(conn, v, 0)) * (s64)v->rate;

	if (v->starts == 2 && utility < v->utility) {
		v->rate = mpcc_max(v->rate / 2, VIVACE_RATE_MIN);
		v->starts = 0;
		return;
	}
	v->starts = 2;
	v->utility = utility;
	v->rate = mpcc_min(v->rate, VIVACE_RATE_MAX / 2) * 2;
}

/* One step along the gradient. */
MPCC_INLINE void vivace_step(const struct mpcc_conn *conn, struct vivace *v)
{
	u32 up = v->down_first, down = 1U - up;
	/* gamma = r^-0.1 K - ((1 + e) cost+ - (1 - e) cost-) / 2e, e = 1/20 */
	s64 power = (s64)((u64)vivace_tenth(v->rate) * VIVACE_POWER >> VIVACE_BITS);
	s64 twice = 21 * vivace_cost(conn, v, up) - 19 * vivace_cost(conn, v, down);
	u64 half = (u64)(twice < 0 ? -twice : twice) / 2, size, most;
	s64 gamma = twice < 0 ? power + (s64)half : power - (s64)half;
	u32 falls = gamma < 0, amplifier;

	if (falls != v->fell || !v->steps) {
		v->steps = 0;
		v->bound = 0;
	}
	v->fell = (unsigned char)falls;
	v->steps = mpcc_min(v->steps + 1, 1000);
	amplifier = v->steps <= 3 ? v->steps : 2 * v->steps - 3;
	size = (u64)(falls ? -gamma : gamma);
	size = (size < 1ULL << 40 ? size : 1ULL << 40) * amplifier; /* Q16 Mbit/s */
	size = size / VIVACE_ONE * 1000 + (size % VIVACE_ONE) * 1000 / VIVACE_ONE;
	most = (u64)v->rate * (1 + 2 * v->bound) / 20; /* (0.05 + 0.1 k) r */
	if (size > most) {
		size = most;
		v->bound = mpcc_min(v->bound + 1, 9);
	} else {
		v->bound = 0;
		for (u32 k = 0; k < 9 && size > (u64)v->rate * (1 + 2 * k) / 20; k++)
			v->bound = k + 1;
	}
	size = falls ? (size < v->rate ? v->rate - size : 0) : v->rate + size;
	v->rate = mpcc_clamp(size < VIVACE_RATE_MAX ? (u32)size : VIVACE_RATE_MAX, VIVACE_RATE_MIN,
	                     VIVACE_RATE_MAX);
}

/* Attributes the ACK to the interval in which its packet left. */
MPCC_INLINE void vivace_hear(struct mpcc_conn *conn, struct vivace *v,
                             const struct mpcc_event *event)
{
	u32 sent = event->prior_delivered, second;

	if (!event->acked || mpcc_after(v->from, sent))
		return;
	if (!v->heard && v->phase > VIVACE_FIRST && !mpcc_after(v->until[0], sent))
		vivace_close(v, 0);
	if (v->heard == 1 && v->phase == VIVACE_WAIT && !v->starts &&
	    !mpcc_after(v->until[1], sent))
		vivace_close(v, 1);
	if (!v->acked)
		v->acked_at = (u32)conn->now_us;
	second = (u32)conn->now_us - v->acked_at >= v->length_us / 2;
	v->acked = mpcc_add_saturating(v->acked, event->acked);
	v->lost = mpcc_add_saturating(v->lost, event->lost);
	v->limited |= (event->flags & MPCC_APP_LIMITED) != 0;
	if (event->rtt_us) {
		u32 rtt = mpcc_min(event->rtt_us, MPCC_RTT_MAX_US);

		v->rtt_sum[second] += rtt;
		v->rtt_count[second]++;
		v->rtt_least = mpcc_min(v->rtt_least, rtt);
		v->rtt_most = mpcc_max(v->rtt_most, rtt);
	}
}

MPCC_INLINE void vivace_ack(struct mpcc_conn *conn, u32 self, struct vivace *v,
                            const struct mpcc_event *event)
{
	u32 now = (u32)conn->now_us, sends = v->phase == VIVACE_FIRST ? v->from : v->until[0];

	vivace_hear(conn, v, event);
	if (v->phase != VIVACE_WAIT && now - v->begun_at >= v->length_us &&
	    event->total_delivered - sends >= VIVACE_LEAST / 2) {
		v->until[v->phase & 1] = event->total_delivered;
		v->begun_at = now;
		v->phase = v->starts || v->phase ? VIVACE_WAIT : VIVACE_SECOND;
	}
	if (v->phase != VIVACE_WAIT || v->heard < (v->starts ? 1 : 2))
		return;
	if (v->limited)
		v->steps = 0;
	else if (v->starts)
		vivace_double(conn, v);
	else
		vivace_step(conn, v);
	vivace_begin(conn, self, v, event);
}

MPCC_INLINE void vivace_control(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event,
                                struct mpcc_area *area)
{
	struct vivace *v = vivace_area(area);
	struct mpcc_subflow *sub = &conn->sub[self];
	u32 srtt = sub->srtt_us ? mpcc_rtt(sub) : VIVACE_FIRST_RTT_US,
	    mss = mpcc_clamp(event->mss, 1, 65536);
	u64 rate;

	if (event->flags & MPCC_STARTS) {
		/* the initial window per RTT */
		rate = (u64)mpcc_min(sub->cwnd, MPCC_CWND_MAX) * mss * 8000 / srtt;
		v->rate = mpcc_clamp(rate < VIVACE_RATE_MAX ? (u32)rate : VIVACE_RATE_MAX,
		                     VIVACE_RATE_MIN, VIVACE_RATE_MAX);
		v->starts = 1;
		vivace_begin(conn, self, v, event);
	} else if (event->flags & (MPCC_RESTARTS | MPCC_TIMED_OUT)) {
		if (event->flags & MPCC_TIMED_OUT) {
			v->rate = mpcc_max(v->rate / 2, VIVACE_RATE_MIN);
			v->starts = 0;
		}
		v->steps = 0;
		vivace_begin(conn, self, v, event);
	} else {
		vivace_ack(conn, self, v, event);
	}
	rate = v->rate;
	if (!v->starts && v->phase != VIVACE_WAIT)
		rate = rate * (v->phase == v->down_first ? 21 : 19) / 20;
	sub->own.pacing_rate = rate *= 125; /* bytes/s */
	rate = 2 * rate / mss * srtt / MPCC_US_PER_S + VIVACE_SPARE;
	sub->cwnd = rate < MPCC_CWND_MAX ? (u32)rate : MPCC_CWND_MAX;
	sub->ssthresh = sub->cwnd;
}

MPCC_CAPABILITIES(vivace, MPCC_UNCOUPLED | MPCC_READS_DELAY | MPCC_OWNS_WINDOW);

static const struct mpcc_ops mpcc_ops_vivace = {
	.name = "vivace",
	.title = "Vivace",
	.paper = "Dong et al., NSDI 2018",
	.summary = "probes higher and lower rates, and follows a utility of rate, delay and loss",
	.confidence = "R",
	.capabilities = mpcc_capabilities_vivace,
	.min_cwnd = 1,
	.control = vivace_control,
};

#endif
