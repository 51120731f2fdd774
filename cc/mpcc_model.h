/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * mpcc_model.h - shared code of controllers that own their window and model their path: extremes over a
 * window of time, rounds by delivery, bandwidth in 32 bits, and pseudo-random numbers.
 *
 * Instants are the lower 32 bits of the clock in us: two compared instants are less than 71 minutes apart.
 */
#ifndef MPCC_MODEL_H
#define MPCC_MODEL_H

#include "mpcc_run.h"

#define MPCC_GAIN_ONE (1U << MPCC_GAIN_BITS)

/*
 * The maximum over the last `window` ticks: Nichols' filter of three values. value[0] is the maximum,
 * value[1] the maximum since value[0], value[2] the maximum since value[1], each measured at `at`. A minimum
 * is the maximum of complements (mpcc_keep_min).
 */
struct mpcc_extreme {
	u32 value[3];
	u32 at[3];
};

MPCC_INLINE void mpcc_set_extreme(struct mpcc_extreme *x, u32 from, u32 now, u32 value)
{
	for (u32 k = from; k < 3; k++) {
		x->value[k] = value;
		x->at[k] = now;
	}
}

MPCC_INLINE void mpcc_keep_max(struct mpcc_extreme *x, u32 window, u32 now, u32 value)
{
	if (value >= x->value[0] || now - x->at[2] > window) {
		mpcc_set_extreme(x, 0, now, value);
		return;
	}
	if (value >= x->value[1])
		mpcc_set_extreme(x, 1, now, value);
	else if (value >= x->value[2])
		mpcc_set_extreme(x, 2, now, value);
	/* At most two of the three are expired: the last one is never. */
	for (u32 k = 0; k < 2 && now - x->at[0] > window; k++) {
		x->value[0] = x->value[1];
		x->at[0] = x->at[1];
		x->value[1] = x->value[2];
		x->at[1] = x->at[2];
		mpcc_set_extreme(x, 2, now, value);
	}
	/* value[1] and value[2] come from the second quarter and the second half of the window. */
	if (x->at[1] == x->at[0] && now - x->at[0] > window / 4)
		mpcc_set_extreme(x, 1, now, value);
	else if (x->at[2] == x->at[1] && now - x->at[1] > window / 2)
		mpcc_set_extreme(x, 2, now, value);
}

MPCC_INLINE void mpcc_keep_min(struct mpcc_extreme *x, u32 window, u32 now, u32 value)
{
	mpcc_keep_max(x, window, now, ~value);
}

/* The minimum that mpcc_keep_min() has kept; ~0 before the first value. */
MPCC_INLINE u32 mpcc_least(const struct mpcc_extreme *x)
{
	return ~x->value[0];
}

/* True if a is after b, for wrapping counters and clocks. */
MPCC_INLINE u32 mpcc_after(u32 a, u32 b)
{
	return (b - a) >> 31;
}

/*
 * True if this is the first ACK of a packet that left after *until packets were delivered. Then a round has
 * passed, and *until becomes the present count.
 */
MPCC_INLINE u32 mpcc_round_by_delivery(u32 *until, const struct mpcc_event *event)
{
	if (!event->acked || mpcc_after(*until, event->prior_delivered))
		return 0;
	*until = event->total_delivered;
	return 1;
}

/* The bandwidth of the rate sample, Q24 packets/us, at most 256 packets/us; 0 = no sample. */
MPCC_INLINE u32 mpcc_sampled_rate(const struct mpcc_event *event)
{
	u64 rate = mpcc_rate(event->delivered, event->interval_us);

	return rate >> 32 ? 0xffffffffU : (u32)rate;
}

/* gain * rate * time, packets, rounded up: the window that fills a path `gain` times. */
MPCC_INLINE u32 mpcc_pipe(u32 rate, u32 time_us, u32 gain)
{
	enum { BITS = MPCC_AGGREGATE_BITS + MPCC_GAIN_BITS };
	u64 packets = (mpcc_delivers(rate, time_us) * mpcc_min(gain, MPCC_GAIN_MAX) +
	               ((1ULL << BITS) - 1)) >>
	              BITS;

	return packets < MPCC_CWND_MAX ? (u32)packets : MPCC_CWND_MAX;
}

/* Burst of the kernel at a pacing rate, packets: 1, 2, or 1 ms worth of data up to 64 KiB. */
MPCC_INLINE u32 mpcc_burst(u64 bytes_per_s, u32 mss)
{
	enum { SINGLE_BELOW = 150000, PAIR_BELOW = 3000000, MOST = 65536, PER_S = 1000 };
	u64 bytes = bytes_per_s / PER_S < MOST ? bytes_per_s / PER_S : MOST;

	if (bytes_per_s < PAIR_BELOW)
		return bytes_per_s < SINGLE_BELOW ? 1 : 2;
	return mpcc_max((u32)bytes / mpcc_max(mss, 1), 2);
}

/*
 * A pseudo-random number in [0, n), so that flows do not act in step. The same events give the same number.
 */
MPCC_INLINE u32 mpcc_noise(const struct mpcc_conn *conn, u32 self, const struct mpcc_event *event,
                           u32 n)
{
	/* Two rounds of multiply and fold. The factors only need to be odd. */
	u64 mixed = (conn->now_us * 8 + self + ((u64)event->total_delivered << 40)) *
	            0x9e3779b97f4a7c15ULL;

	mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9ULL;
	return (u32)((mixed >> 32) * n >> 32);
}

/* Sets the pacing rate to gain * rate, less `margin` percent, and never to 0, which would mean unpaced. */
MPCC_INLINE void mpcc_pace(struct mpcc_subflow *sub, u32 rate, u32 gain, u32 margin, u32 mss)
{
	u64 less = (u64)rate * (100 - mpcc_min(margin, 99)) / 100;
	u64 bytes = mpcc_bytes_per_s(less, gain, mss);

	sub->own.pacing_rate = bytes ? bytes : 1;
}

#endif
