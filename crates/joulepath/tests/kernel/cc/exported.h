/* clang-format off */
/*
 * exported.h - a network that was trained in joulepath.gym, in integers.
 *
 * joulepath/Rates-v0, 2 paths, relative, 16 units of tanh.
 *
 * Once per round trip each subflow sees what docs/gym.md lists, of all subflows, and steers its own window or
 * rate by the network's output. Written by joulepath.gym.export(): train and export again instead of editing.
 */
#ifndef MPCC_EXPORTED_H
#define MPCC_EXPORTED_H

#include "mpcc_run.h"

#define EXPORTED_PARAMS(X)

#define EXPORTED_PATHS 2
#define EXPORTED_UNITS 16
#define EXPORTED_RATES 1
#define EXPORTED_RELATIVE 1
#define EXPORTED_TANH 1
#define EXPORTED_POWER 8192
#define EXPORTED_LEFT 16384
#define EXPORTED_TIME 0
#define EXPORTED_FIRST 8192000000ULL
#define EXPORTED_LEAST 524288000ULL
#define EXPORTED_MOST 8192000000000ULL
#define EXPORTED_LOG2_LEAST 849726U
#define EXPORTED_LOG2_RATIO 913019ULL

static const s32 exported_w1[16][21] = { /* Q16 */
	{ -65536, -36864, -8192, 20480, 49152, -57344, -28672, 0,
	28672, 57344, -49152, -20480, 8192, 36864, 65536, -40960,
	-12288, 16384, 45056, -61440, -32768, },
	{ -4096, 24576, 53248, -53248, -24576, 4096, 32768, 61440,
	-45056, -16384, 12288, 40960, -65536, -36864, -8192, 20480,
	49152, -57344, -28672, 0, 28672, },
	{ 57344, -49152, -20480, 8192, 36864, 65536, -40960, -12288,
	16384, 45056, -61440, -32768, -4096, 24576, 53248, -53248,
	-24576, 4096, 32768, 61440, -45056, },
	{ -16384, 12288, 40960, -65536, -36864, -8192, 20480, 49152,
	-57344, -28672, 0, 28672, 57344, -49152, -20480, 8192,
	36864, 65536, -40960, -12288, 16384, },
	{ 45056, -61440, -32768, -4096, 24576, 53248, -53248, -24576,
	4096, 32768, 61440, -45056, -16384, 12288, 40960, -65536,
	-36864, -8192, 20480, 49152, -57344, },
	{ -28672, 0, 28672, 57344, -49152, -20480, 8192, 36864,
	65536, -40960, -12288, 16384, 45056, -61440, -32768, -4096,
	24576, 53248, -53248, -24576, 4096, },
	{ 32768, 61440, -45056, -16384, 12288, 40960, -65536, -36864,
	-8192, 20480, 49152, -57344, -28672, 0, 28672, 57344,
	-49152, -20480, 8192, 36864, 65536, },
	{ -40960, -12288, 16384, 45056, -61440, -32768, -4096, 24576,
	53248, -53248, -24576, 4096, 32768, 61440, -45056, -16384,
	12288, 40960, -65536, -36864, -8192, },
	{ 20480, 49152, -57344, -28672, 0, 28672, 57344, -49152,
	-20480, 8192, 36864, 65536, -40960, -12288, 16384, 45056,
	-61440, -32768, -4096, 24576, 53248, },
	{ -53248, -24576, 4096, 32768, 61440, -45056, -16384, 12288,
	40960, -65536, -36864, -8192, 20480, 49152, -57344, -28672,
	0, 28672, 57344, -49152, -20480, },
	{ 8192, 36864, 65536, -40960, -12288, 16384, 45056, -61440,
	-32768, -4096, 24576, 53248, -53248, -24576, 4096, 32768,
	61440, -45056, -16384, 12288, 40960, },
	{ -65536, -36864, -8192, 20480, 49152, -57344, -28672, 0,
	28672, 57344, -49152, -20480, 8192, 36864, 65536, -40960,
	-12288, 16384, 45056, -61440, -32768, },
	{ -4096, 24576, 53248, -53248, -24576, 4096, 32768, 61440,
	-45056, -16384, 12288, 40960, -65536, -36864, -8192, 20480,
	49152, -57344, -28672, 0, 28672, },
	{ 57344, -49152, -20480, 8192, 36864, 65536, -40960, -12288,
	16384, 45056, -61440, -32768, -4096, 24576, 53248, -53248,
	-24576, 4096, 32768, 61440, -45056, },
	{ -16384, 12288, 40960, -65536, -36864, -8192, 20480, 49152,
	-57344, -28672, 0, 28672, 57344, -49152, -20480, 8192,
	36864, 65536, -40960, -12288, 16384, },
	{ 45056, -61440, -32768, -4096, 24576, 53248, -53248, -24576,
	4096, 32768, 61440, -45056, -16384, 12288, 40960, -65536,
	-36864, -8192, 20480, 49152, -57344, },
};
static const s32 exported_b1[16] = { /* Q16 */
	0, 4096, 8192, 12288, 16384, 20480, 24576, 28672,
	32768, 36864, 40960, 45056, 49152, 53248, 57344, 61440,
};
static const s32 exported_w2[8][16] = { /* Q16 */
	{ -32768, -12288, 8192, 28672, -20480, 0, 20480, -28672,
	-8192, 12288, 32768, -16384, 4096, 24576, -24576, -4096, },
	{ 16384, -32768, -12288, 8192, 28672, -20480, 0, 20480,
	-28672, -8192, 12288, 32768, -16384, 4096, 24576, -24576, },
	{ 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, },
	{ 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, },
	{ 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, },
	{ 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, },
	{ 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, },
	{ 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, },
};
static const s32 exported_b2[8] = { /* Q16 */
	16384, -16384, 0, 0, 0, 0, 0, 0,
};
static const u32 exported_tanh_table[257] = { /* Q15, every 1/32 */
	0, 1024, 2045, 3063, 4075, 5079, 6073, 7056,
	8025, 8980, 9919, 10840, 11743, 12625, 13486, 14326,
	15143, 15936, 16706, 17452, 18173, 18870, 19542, 20189,
	20813, 21411, 21986, 22538, 23066, 23571, 24054, 24516,
	24956, 25376, 25776, 26157, 26519, 26864, 27191, 27502,
	27797, 28076, 28341, 28592, 28830, 29055, 29268, 29470,
	29660, 29840, 30010, 30170, 30322, 30465, 30600, 30727,
	30847, 30960, 31067, 31167, 31262, 31351, 31435, 31515,
	31589, 31659, 31726, 31788, 31846, 31901, 31953, 32002,
	32048, 32091, 32132, 32170, 32206, 32240, 32271, 32301,
	32329, 32356, 32381, 32404, 32426, 32447, 32466, 32484,
	32501, 32517, 32532, 32547, 32560, 32573, 32584, 32596,
	32606, 32616, 32625, 32634, 32642, 32649, 32657, 32663,
	32670, 32676, 32681, 32686, 32691, 32696, 32700, 32704,
	32708, 32712, 32715, 32718, 32721, 32724, 32727, 32729,
	32732, 32734, 32736, 32738, 32740, 32741, 32743, 32745,
	32746, 32747, 32749, 32750, 32751, 32752, 32753, 32754,
	32755, 32755, 32756, 32757, 32758, 32758, 32759, 32759,
	32760, 32760, 32761, 32761, 32762, 32762, 32762, 32763,
	32763, 32763, 32764, 32764, 32764, 32764, 32765, 32765,
	32765, 32765, 32765, 32766, 32766, 32766, 32766, 32766,
	32766, 32766, 32766, 32767, 32767, 32767, 32767, 32767,
	32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
	32767, 32767, 32767, 32767, 32767, 32768, 32768, 32768,
	32768, 32768, 32768, 32768, 32768, 32768, 32768, 32768,
	32768, 32768, 32768, 32768, 32768, 32768, 32768, 32768,
	32768, 32768, 32768, 32768, 32768, 32768, 32768, 32768,
	32768, 32768, 32768, 32768, 32768, 32768, 32768, 32768,
	32768, 32768, 32768, 32768, 32768, 32768, 32768, 32768,
	32768, 32768, 32768, 32768, 32768, 32768, 32768, 32768,
	32768, 32768, 32768, 32768, 32768, 32768, 32768, 32768,
	32768, 32768, 32768, 32768, 32768, 32768, 32768, 32768,
	32768,
};
static const u32 exported_log2_table[65] = { /* Q16, of 1 to 2 */
	0, 1466, 2909, 4331, 5732, 7112, 8473, 9814,
	11136, 12440, 13727, 14996, 16248, 17484, 18704, 19909,
	21098, 22272, 23433, 24579, 25711, 26830, 27936, 29029,
	30109, 31178, 32234, 33279, 34312, 35334, 36346, 37346,
	38336, 39316, 40286, 41246, 42196, 43137, 44068, 44990,
	45904, 46809, 47705, 48593, 49472, 50344, 51207, 52063,
	52911, 53751, 54584, 55410, 56229, 57040, 57845, 58643,
	59434, 60219, 60997, 61769, 62534, 63294, 64047, 64794,
	65536,
};
static const u32 exported_exp2_table[65] = { /* Q30, of 0 to 1 */
	1073741824, 1085434106, 1097253708, 1109202018, 1121280436, 1133490379, 1145833280, 1158310587,
	1170923762, 1183674286, 1196563654, 1209593378, 1222764986, 1236080024, 1249540052, 1263146652,
	1276901417, 1290805962, 1304861917, 1319070932, 1333434672, 1347954824, 1362633090, 1377471191,
	1392470869, 1407633882, 1422962010, 1438457051, 1454120821, 1469955159, 1485961921, 1502142985,
	1518500250, 1535035634, 1551751076, 1568648537, 1585730000, 1602997467, 1620452965, 1638098541,
	1655936265, 1673968228, 1692196547, 1710623359, 1729250827, 1748081133, 1767116489, 1786359126,
	1805811301, 1825475297, 1845353420, 1865448001, 1885761398, 1906295993, 1927054196, 1948038440,
	1969251188, 1990694927, 2012372174, 2034285470, 2056437387, 2078830522, 2101467502, 2124350982,
	2147483648,
};

/* ---- fixed point; Qn: the integer is the value times 2^n -------------------------------------- */

enum {
	EXPORTED_FEATURES = 9, /* of each path */
	EXPORTED_INPUTS = EXPORTED_PATHS * EXPORTED_FEATURES + 3,
	EXPORTED_ONE = 1 << 14,          /* Q14: inputs */
	EXPORTED_ACTION_ONE = 1 << 16,   /* Q16: actions */
	EXPORTED_LOG2_RATE = 870824,     /* Q16: log2 of 10 kbit/s, the unit of rates */
	EXPORTED_LOG2_TIME = 653118,     /* Q16: log2 of 1000 us, the unit of times */
	EXPORTED_PART_RATE = 246724,     /* Q22: 1 / 17 octaves */
	EXPORTED_PART_TIME = 322639,     /* Q22: 1 / 13 octaves */
	EXPORTED_PART_PACKETS = 299593,  /* Q22: 1 / 14 octaves */
	EXPORTED_SUM_MAX = (8 << 16) - 1 /* Q16: from there on tanh is 1 */
};

/* What is seen, Q14: the features of each path, path after path, then those of the connection. */
struct exported_input {
	s32 x[EXPORTED_INPUTS];
};

/* log2(n) in Q16; a line between the 65 values that the table has of an octave. */
MPCC_FUNC u32 exported_log2(u64 n)
{
	u64 top = n ? n : 1; /* n, shifted until its highest bit is bit 63 */
	u32 whole = 63, at, rest;

	for (u32 step = 32; step; step >>= 1) {
		u32 bits = top >> (64 - step) ? 0 : step;

		top <<= bits;
		whole -= bits;
	}
	at = (u32)(top >> 57) & 63;
	rest = (u32)(top >> 41) & 0xffff;
	return (whole << 16) + exported_log2_table[at] +
	       ((exported_log2_table[at + 1] - exported_log2_table[at]) * rest >> 16);
}

/* 2^(e - 16) in Q16, for e in Q16 from 0 to 60: the 16 that are taken off make the result whole. */
MPCC_FUNC u64 exported_exp2(u32 e)
{
	u32 whole = mpcc_min(e >> 16, 60), at = (e >> 10) & 63, rest = e & 1023;
	u64 low = exported_exp2_table[at], high = exported_exp2_table[at + 1];
	u64 value = low + ((high - low) * rest >> 10); /* Q30: 1 to 2 */

	return whole < 30 ? value >> ((30 - whole) & 31) : value << ((whole - 30) & 31);
}

/* log2(1 + x / unit) / octaves in Q14, at most 1: of x + unit. */
MPCC_INLINE s32 exported_scaled(u64 x_and_unit, u32 log2_unit, u32 part)
{
	u32 log2 = mpcc_max(exported_log2(x_and_unit), log2_unit) - log2_unit;

	return (s32)mpcc_min((u32)((u64)log2 * part >> 24), EXPORTED_ONE);
}

/* What a subflow shows to its siblings, in own.word. */
enum { EXPORTED_RATE, EXPORTED_LOSS, EXPORTED_IN_FLIGHT }; /* bit/s, Q14, packets */

MPCC_FUNC s32 exported_see(const struct mpcc_conn *conn, struct exported_input *input, u32 interval_us)
{
	MPCC_REQUIRE(conn);
	MPCC_REQUIRE(input);
	s32 *x = input->x;

	for (u32 k = 0; k < EXPORTED_PATHS; k++, x += EXPORTED_FEATURES) {
		const struct mpcc_subflow *sub = &conn->sub[k];
		s32 there = k < conn->n ? -1 : 0; /* as a mask */

		x[0] = EXPORTED_ONE & there;
		x[1] = sub->flags & MPCC_ESTABLISHED ? EXPORTED_ONE & there : 0;
		x[2] = exported_scaled((u64)sub->own.word[EXPORTED_RATE] + 10000, EXPORTED_LOG2_RATE,
		                    EXPORTED_PART_RATE) &
		       there;
		x[3] = exported_scaled((u64)sub->srtt_us + 1000, EXPORTED_LOG2_TIME, EXPORTED_PART_TIME) &
		       there;
		x[4] = exported_scaled((u64)sub->own.base_rtt_us + 1000, EXPORTED_LOG2_TIME,
		                    EXPORTED_PART_TIME) &
		       there;
		x[5] = (s32)mpcc_min(sub->own.word[EXPORTED_LOSS], EXPORTED_ONE) & there;
		x[6] = exported_scaled((u64)sub->own.word[EXPORTED_IN_FLIGHT] + 1, 0, EXPORTED_PART_PACKETS) &
		       there;
		x[7] = exported_scaled((u64)sub->cwnd + 1, 0, EXPORTED_PART_PACKETS) & there;
		x[8] = EXPORTED_POWER & there;
	}
	x[0] = exported_scaled((u64)interval_us + 1000, EXPORTED_LOG2_TIME, EXPORTED_PART_TIME);
	x[1] = EXPORTED_LEFT;
	x[2] = EXPORTED_TIME;
	return 0;
}

/* ---- the network ------------------------------------------------------------------------------- */

/* A hidden unit of a sum in Q16, in Q15. */
#ifdef EXPORTED_TANH
MPCC_INLINE s32 exported_activate(s64 sum)
{
	u64 sign = (u64)(sum >> 63);
	u64 size = ((u64)sum ^ sign) - sign;
	u32 a = size < EXPORTED_SUM_MAX ? (u32)size : EXPORTED_SUM_MAX;
	u32 at = (a >> 11) & 255, rest = a & 2047;
	u32 low = exported_tanh_table[at], high = exported_tanh_table[at + 1];
	u32 value = low + ((high - low) * rest >> 11);

	return (s32)((value ^ (u32)sign) - (u32)sign);
}
#else
MPCC_INLINE s32 exported_activate(s64 sum)
{
	enum { MOST = 1 << 24 }; /* Q15: 512 */
	s64 half = sum >> 1;

	half &= ~(half >> 63);
	return half < MOST ? (s32)half : MOST;
}
#endif

/* sum of w1[unit][] x + b1[unit], activated. */
MPCC_FUNC s32 exported_unit(const struct exported_input *input, u32 unit)
{
	MPCC_REQUIRE(input);
	s64 sum = 0;

	unit &= EXPORTED_UNITS - 1;
	for (u32 i = 0; i < EXPORTED_INPUTS; i++)
		sum += (s64)exported_w1[unit][i] * input->x[i];
	return exported_activate((sum >> 14) + exported_b1[unit]);
}

/* The action for path `self` in Q16, -1 to 1. */
MPCC_FUNC s32 exported_act(const struct exported_input *input, u32 self)
{
	MPCC_REQUIRE(input);
	s64 sum = 0, action;

	self = MPCC_SLOT(self);
	for (u32 unit = 0; unit < EXPORTED_UNITS; unit++)
		sum += (s64)exported_w2[self][unit] * exported_unit(input, unit);
	action = (sum >> 15) + exported_b2[self];
	if (action > EXPORTED_ACTION_ONE)
		return EXPORTED_ACTION_ONE;
	return action < -EXPORTED_ACTION_ONE ? -EXPORTED_ACTION_ONE : (s32)action;
}

/* ---- the subflow ------------------------------------------------------------------------------- */

struct exported_state {
	u64 target; /* Q16: packets, or bytes/s */
	u64 since_us;
	u32 delivered, lost; /* packets: until since_us, after since_us */
};
MPCC_AREA(exported_state)

/* What a round has brought; returns its length, us. */
MPCC_INLINE u32 exported_note(const struct mpcc_conn *conn, struct mpcc_own *own,
                           const struct mpcc_event *event, struct exported_state *state)
{
	u64 passed_us = conn->now_us - state->since_us;
	u32 interval_us = passed_us < MPCC_RTT_MAX_US ? (u32)passed_us : MPCC_RTT_MAX_US;
	u32 delivered = event->total_delivered - state->delivered;
	u64 sent = (u64)delivered + state->lost;
	u64 bits = (u64)delivered * mpcc_min(event->mss, 1 << 16) * 8, rate = 0;

	/* Below 2^43 bits times a million. */
	if (interval_us)
		rate = mpcc_min(delivered, 1 << 24) == delivered
		               ? bits * MPCC_US_PER_S / interval_us
		               : ~0U;
	own->word[EXPORTED_RATE] = rate < ~0U ? (u32)rate : ~0U;
	own->word[EXPORTED_LOSS] = sent ? (u32)(((u64)state->lost << 14) / sent) : 0;
	own->word[EXPORTED_IN_FLIGHT] = event->in_flight;
	state->since_us = conn->now_us;
	state->delivered = event->total_delivered;
	state->lost = 0;
	return interval_us;
}

/* The target that an action leads to, Q16. */
MPCC_INLINE u64 exported_steer(u64 target, s32 action)
{
#ifdef EXPORTED_RELATIVE
	u64 wanted = target * exported_exp2((u32)(action + (16 << 16))) >> 16;
#else
	u64 half = (u64)(action + EXPORTED_ACTION_ONE) >> 1; /* Q16: 0 to 1 */
	u64 wanted =
		exported_exp2(EXPORTED_LOG2_LEAST + (16U << 16) + (u32)(half * EXPORTED_LOG2_RATIO >> 16));

	(void)target;
#endif
	if (wanted < EXPORTED_LEAST)
		return EXPORTED_LEAST;
	return wanted < EXPORTED_MOST ? wanted : EXPORTED_MOST;
}

/* Lets the subflow have its target. */
MPCC_INLINE void exported_apply(struct mpcc_subflow *sub, u64 target, u32 mss)
{
	u32 whole = (u32)((target + (1 << 15)) >> 16);

#ifdef EXPORTED_RATES
	u64 packets = 2ULL * whole * mpcc_rtt(sub) / ((u64)MPCC_US_PER_S * mpcc_max(mss, 1));

	sub->own.pacing_rate = whole;
	sub->cwnd = sub->srtt_us ? mpcc_clamp((u32)packets, 2, MPCC_CWND_MAX) : 10;
#else
	(void)mss;
	sub->own.pacing_rate = 0;
	sub->cwnd = whole;
#endif
	sub->ssthresh = sub->cwnd;
}

MPCC_INLINE void exported_control(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event,
                               struct mpcc_area *area)
{
	struct exported_state *state = exported_state_area(area);
	struct mpcc_subflow *sub = &conn->sub[self];
	struct exported_input input;

	if (event->flags & MPCC_STARTS) {
		state->target = EXPORTED_FIRST;
		state->since_us = conn->now_us;
		state->delivered = event->total_delivered;
	}
	state->lost = mpcc_add_saturating(state->lost, event->lost);
	if (event->flags & MPCC_ROUND_END) {
		u32 interval_us = exported_note(conn, &sub->own, event, state);

		exported_see(conn, &input, interval_us);
		if (self < EXPORTED_PATHS)
			state->target = exported_steer(state->target, exported_act(&input, self));
	}
	/* Whatever the area holds. */
	if (state->target < EXPORTED_LEAST)
		state->target = EXPORTED_LEAST;
	if (state->target > EXPORTED_MOST)
		state->target = EXPORTED_MOST;
	exported_apply(sub, state->target, event->mss);
	/* One packet until the next ACK. */
	if (event->flags & MPCC_TIMED_OUT)
		sub->cwnd = 1;
}

MPCC_CAPABILITIES(exported, MPCC_READS_DELAY | MPCC_OWNS_WINDOW);

static const struct mpcc_ops mpcc_ops_exported = {
	.name = "exported",
	.title = "exported",
	.paper = "unpublished",
	.summary = "a network that was trained in joulepath.gym",
	.confidence = "R",
	.capabilities = mpcc_capabilities_exported,
	.min_cwnd = 1,
	.control = exported_control,
};

#endif
