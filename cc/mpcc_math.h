/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * mpcc_math.h - types and fixed-point arithmetic of controllers, part of mpcc.h.
 *
 * Fixed point is written Qn: the integer is the value times 2^n.
 */
#ifndef MPCC_MATH_H
#define MPCC_MATH_H

typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define MPCC_INLINE static inline __attribute__((always_inline))

/*
 * The kernel's verifier walks every path through a program, and loops over subflows multiply the paths. It
 * checks a global function once, separately, and forgets everything about its return value. So functions with
 * loops or many branches are MPCC_FUNC. Such a function starts with MPCC_REQUIRE for each pointer, and an
 * index that it returns goes through MPCC_SLOT.
 */
#ifdef __bpf__
#define MPCC_FUNC __attribute__((noinline))
#define MPCC_REQUIRE(pointer) \
	if (!(pointer))       \
	return 0
#else
#define MPCC_FUNC             MPCC_INLINE
#define MPCC_REQUIRE(pointer) (void)0
#endif

#define MPCC_RTT_MAX_US 10000000U /* us: longer RTTs are taken as 10 s */

#define MPCC_PACKET_BITS    32 /* Q32 packets: increases and the accumulator */
#define MPCC_PACKET         (1LL << MPCC_PACKET_BITS)
#define MPCC_AGGREGATE_BITS 16 /* Q16 packets: mpcc_aggregate() */
#define MPCC_RATIO_BITS     27 /* Q27: a part of a whole, 0..1 */
#define MPCC_RATIO_ONE      (1U << MPCC_RATIO_BITS)

#ifdef __bpf__
/*
 * Branch-free: the verifier would follow both sides of a branch. The empty asm stops clang from reintroducing
 * one.
 */
MPCC_INLINE u32 mpcc_min(u32 a, u32 b)
{
	s64 less = (s64)a - b;

	__asm__("" : "+r"(less));
	return b + (u32)(less & less >> 63);
}

MPCC_INLINE u32 mpcc_max(u32 a, u32 b)
{
	s64 less = (s64)a - b;

	__asm__("" : "+r"(less));
	return a - (u32)(less & less >> 63);
}

MPCC_INLINE u32 mpcc_select(u32 bit, u32 if_set, u32 if_clear)
{
	u32 mask = 0 - bit;

	__asm__("" : "+r"(mask));
	return (if_set & mask) | (if_clear & ~mask);
}
#else
MPCC_INLINE u32 mpcc_min(u32 a, u32 b)
{
	return a < b ? a : b;
}

MPCC_INLINE u32 mpcc_max(u32 a, u32 b)
{
	return a > b ? a : b;
}

/* bit is 0 or 1 */
MPCC_INLINE u32 mpcc_select(u32 bit, u32 if_set, u32 if_clear)
{
	return bit ? if_set : if_clear;
}
#endif

MPCC_INLINE u32 mpcc_clamp(u32 v, u32 lo, u32 hi)
{
	return mpcc_min(mpcc_max(v, lo), hi);
}

MPCC_INLINE s64 mpcc_min_s64(s64 a, s64 b)
{
	return a < b ? a : b;
}

MPCC_INLINE u32 mpcc_add_saturating(u32 a, u32 b)
{
	return a + b < a ? 0xffffffffU : a + b;
}

/* Sign of a*b - c*d, exact to 96 bits: -1, 0 or 1. */
MPCC_INLINE s32 mpcc_compare_products(u64 a, u32 b, u64 c, u32 d)
{
	u64 ab_low = (a & 0xffffffffU) * b, cd_low = (c & 0xffffffffU) * d;
	u64 ab_high = (a >> 32) * b + (ab_low >> 32), cd_high = (c >> 32) * d + (cd_low >> 32);

	if (ab_high != cd_high)
		return ab_high > cd_high ? 1 : -1;
	ab_low &= 0xffffffffU;
	cd_low &= 0xffffffffU;
	return ab_low > cd_low ? 1 : ab_low < cd_low ? -1 : 0;
}

/* part / whole in Q27 for part <= whole, any 64-bit size; 0 for an empty whole. */
MPCC_FUNC u32 mpcc_ratio(u64 part, u64 whole)
{
	enum { WHOLE_BITS = 64 - MPCC_RATIO_BITS, STEP_BITS = 8, STEPS = 4 };

	for (u32 step = 0; step < STEPS && whole >> WHOLE_BITS; step++) {
		part >>= STEP_BITS;
		whole >>= STEP_BITS;
	}
	if (!whole)
		return 0;
	return part >= whole ? MPCC_RATIO_ONE : (u32)((part << MPCC_RATIO_BITS) / whole);
}

/* step * num / den, Q32 packets, for a step of at most one packet. den = 0 returns step. */
MPCC_INLINE s64 mpcc_scale(s64 step, u32 num, u32 den)
{
	return den ? (s64)((u64)step * num / den) : step;
}

/* 1/w in Q32, rounded up so that w ACKs add up to a whole packet. */
MPCC_INLINE s64 mpcc_reciprocal(u64 w)
{
	return w ? (s64)(((u64)MPCC_PACKET + w - 1) / w) : MPCC_PACKET;
}

#define MPCC_RATE_BITS 24           /* Q24 packets/us: a bandwidth, as the kernel's BBR has it */
#define MPCC_RATE_MAX  (1ULL << 34) /* Q24: 1,024 packets/us, beyond any link */
#define MPCC_GAIN_BITS 8            /* Q8: a gain of a rate or of a window */
#define MPCC_GAIN_MAX  (1U << 12)   /* Q8: 16 */
#define MPCC_US_PER_S  1000000U     /* us */

/* packets / interval in Q24 packets/us; 0 without an interval. Packets saturate at 2^24. */
MPCC_INLINE u64 mpcc_rate(u32 packets, u32 interval_us)
{
	u64 rate;

	if (!interval_us)
		return 0;
	rate = ((u64)mpcc_min(packets, 1U << 24) << MPCC_RATE_BITS) / interval_us;
	return rate < MPCC_RATE_MAX ? rate : MPCC_RATE_MAX;
}

/* Packets that a rate in Q24 packets/us delivers in time_us, Q16: at most 2^50. */
MPCC_INLINE u64 mpcc_delivers(u64 rate, u32 time_us)
{
	u64 bounded = rate < MPCC_RATE_MAX ? rate : MPCC_RATE_MAX;

	return bounded * mpcc_min(time_us, MPCC_RTT_MAX_US) >>
	       (MPCC_RATE_BITS - MPCC_AGGREGATE_BITS);
}

/*
 * rate * gain * mss in bytes/s, the unit of own.pacing_rate: rate in Q24 packets/us, gain in Q8. The steps
 * keep every intermediate below 2^64: at most 2^50 bytes/us in Q24, 2^58 in Q28 with the gain, 2^44 in Q14.
 */
MPCC_INLINE u64 mpcc_bytes_per_s(u64 rate, u32 gain, u32 mss)
{
	enum { MSS_MAX = 1 << 16, FIRST = 4, SECOND = 14 };
	u64 bytes = (rate < MPCC_RATE_MAX ? rate : MPCC_RATE_MAX) * mpcc_min(mss, MSS_MAX);
	u64 gained = (bytes >> FIRST) * mpcc_min(gain, MPCC_GAIN_MAX);

	return (gained >> SECOND) * MPCC_US_PER_S >>
	       (MPCC_RATE_BITS + MPCC_GAIN_BITS - FIRST - SECOND);
}

#endif
