/* ---- fixed point; Qn: the integer is the value times 2^n -------------------------------------- */

enum {
	NAME_FEATURES = 9, /* of each path */
	NAME_INPUTS = NAME_PATHS * NAME_FEATURES + 3,
	NAME_ONE = 1 << 14,          /* Q14: inputs */
	NAME_ACTION_ONE = 1 << 16,   /* Q16: actions */
	NAME_LOG2_RATE = 870824,     /* Q16: log2 of 10 kbit/s, the unit of rates */
	NAME_LOG2_TIME = 653118,     /* Q16: log2 of 1000 us, the unit of times */
	NAME_PART_RATE = 246724,     /* Q22: 1 / 17 octaves */
	NAME_PART_TIME = 322639,     /* Q22: 1 / 13 octaves */
	NAME_PART_PACKETS = 299593,  /* Q22: 1 / 14 octaves */
	NAME_SUM_MAX = (8 << 16) - 1 /* Q16: tanh is 1 from here on */
};

/* The observation, Q14: the features of each path, path after path, then those of the connection. */
struct name__input {
	s32 x[NAME_INPUTS];
};

/* log2(n) in Q16; linear interpolation between the table's 65 values per octave. */
MPCC_FUNC u32 name__log2(u64 n)
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
	return (whole << 16) + name__log2_table[at] +
	       ((name__log2_table[at + 1] - name__log2_table[at]) * rest >> 16);
}

/* 2^(e - 16) in Q16, for e in Q16 from 0 to 60: the offset of 16 makes the result an integer. */
MPCC_FUNC u64 name__exp2(u32 e)
{
	u32 whole = mpcc_min(e >> 16, 60), at = (e >> 10) & 63, rest = e & 1023;
	u64 low = name__exp2_table[at], high = name__exp2_table[at + 1];
	u64 value = low + ((high - low) * rest >> 10); /* Q30: 1 to 2 */

	return whole < 30 ? value >> ((30 - whole) & 31) : value << ((whole - 30) & 31);
}

/* log2(1 + x / unit) / octaves in Q14, at most 1; the argument is x + unit. */
MPCC_INLINE s32 name__scaled(u64 x_and_unit, u32 log2_unit, u32 part)
{
	u32 log2 = mpcc_max(name__log2(x_and_unit), log2_unit) - log2_unit;

	return (s32)mpcc_min((u32)((u64)log2 * part >> 24), NAME_ONE);
}

/* Values that siblings read in own.word. */
enum { NAME_RATE, NAME_LOSS, NAME_IN_FLIGHT }; /* bit/s, Q14, packets */

MPCC_FUNC s32 name__see(const struct mpcc_conn *conn, struct name__input *input, u32 interval_us)
{
	MPCC_REQUIRE(conn);
	MPCC_REQUIRE(input);
	s32 *x = input->x;

	for (u32 k = 0; k < NAME_PATHS; k++, x += NAME_FEATURES) {
		const struct mpcc_subflow *sub = &conn->sub[k];
		s32 there = k < conn->n ? -1 : 0; /* as a mask */

		x[0] = NAME_ONE & there;
		x[1] = sub->flags & MPCC_ESTABLISHED ? NAME_ONE & there : 0;
		x[2] = name__scaled((u64)sub->own.word[NAME_RATE] + 10000, NAME_LOG2_RATE,
		                    NAME_PART_RATE) &
		       there;
		x[3] = name__scaled((u64)sub->srtt_us + 1000, NAME_LOG2_TIME, NAME_PART_TIME) &
		       there;
		x[4] = name__scaled((u64)sub->own.base_rtt_us + 1000, NAME_LOG2_TIME,
		                    NAME_PART_TIME) &
		       there;
		x[5] = (s32)mpcc_min(sub->own.word[NAME_LOSS], NAME_ONE) & there;
		x[6] = name__scaled((u64)sub->own.word[NAME_IN_FLIGHT] + 1, 0, NAME_PART_PACKETS) &
		       there;
		x[7] = name__scaled((u64)sub->cwnd + 1, 0, NAME_PART_PACKETS) & there;
		x[8] = NAME_POWER & there;
	}
	x[0] = name__scaled((u64)interval_us + 1000, NAME_LOG2_TIME, NAME_PART_TIME);
	x[1] = NAME_LEFT;
	x[2] = NAME_TIME;
	return 0;
}

/* ---- the network ------------------------------------------------------------------------------- */

/* Activation of a hidden unit: sum in Q16, result in Q15. */
#ifdef NAME_TANH
MPCC_INLINE s32 name__activate(s64 sum)
{
	u64 sign = (u64)(sum >> 63);
	u64 size = ((u64)sum ^ sign) - sign;
	u32 a = size < NAME_SUM_MAX ? (u32)size : NAME_SUM_MAX;
	u32 at = (a >> 11) & 255, rest = a & 2047;
	u32 low = name__tanh_table[at], high = name__tanh_table[at + 1];
	u32 value = low + ((high - low) * rest >> 11);

	return (s32)((value ^ (u32)sign) - (u32)sign);
}
#else
MPCC_INLINE s32 name__activate(s64 sum)
{
	enum { MOST = 1 << 24 }; /* Q15: 512 */
	s64 half = sum >> 1;

	half &= ~(half >> 63);
	return half < MOST ? (s32)half : MOST;
}
#endif

/* sum of w1[unit][] x + b1[unit], activated. */
MPCC_FUNC s32 name__unit(const struct name__input *input, u32 unit)
{
	MPCC_REQUIRE(input);
	s64 sum = 0;

	unit &= NAME_UNITS - 1;
	for (u32 i = 0; i < NAME_INPUTS; i++)
		sum += (s64)name__w1[unit][i] * input->x[i];
	return name__activate((sum >> 14) + name__b1[unit]);
}

/* The action for path `self` in Q16, -1 to 1. */
MPCC_FUNC s32 name__act(const struct name__input *input, u32 self)
{
	MPCC_REQUIRE(input);
	s64 sum = 0, action;

	self = MPCC_SLOT(self);
	for (u32 unit = 0; unit < NAME_UNITS; unit++)
		sum += (s64)name__w2[self][unit] * name__unit(input, unit);
	action = (sum >> 15) + name__b2[self];
	if (action > NAME_ACTION_ONE)
		return NAME_ACTION_ONE;
	return action < -NAME_ACTION_ONE ? -NAME_ACTION_ONE : (s32)action;
}

/* ---- the subflow ------------------------------------------------------------------------------- */

struct name__state {
	u64 target; /* Q16: packets, or bytes/s */
	u64 since_us;
	u32 delivered, lost; /* packets: until since_us, after since_us */
};
MPCC_AREA(name__state)

/* Records the measurements of a round; returns its length, us. */
MPCC_INLINE u32 name__note(const struct mpcc_conn *conn, struct mpcc_own *own,
                           const struct mpcc_event *event, struct name__state *state)
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
	own->word[NAME_RATE] = rate < ~0U ? (u32)rate : ~0U;
	own->word[NAME_LOSS] = sent ? (u32)(((u64)state->lost << 14) / sent) : 0;
	own->word[NAME_IN_FLIGHT] = event->in_flight;
	state->since_us = conn->now_us;
	state->delivered = event->total_delivered;
	state->lost = 0;
	return interval_us;
}

/* The target after an action, Q16. */
MPCC_INLINE u64 name__steer(u64 target, s32 action)
{
#ifdef NAME_RELATIVE
	u64 wanted = target * name__exp2((u32)(action + (16 << 16))) >> 16;
#else
	u64 half = (u64)(action + NAME_ACTION_ONE) >> 1; /* Q16: 0 to 1 */
	u64 wanted =
		name__exp2(NAME_LOG2_LEAST + (16U << 16) + (u32)(half * NAME_LOG2_RATIO >> 16));

	(void)target;
#endif
	if (wanted < NAME_LEAST)
		return NAME_LEAST;
	return wanted < NAME_MOST ? wanted : NAME_MOST;
}

/* Sets the subflow's window and rate to its target. */
MPCC_INLINE void name__apply(struct mpcc_subflow *sub, u64 target, u32 mss)
{
	u32 whole = (u32)((target + (1 << 15)) >> 16);

#ifdef NAME_RATES
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

MPCC_INLINE void name__control(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event,
                               struct mpcc_area *area)
{
	struct name__state *state = name__state_area(area);
	struct mpcc_subflow *sub = &conn->sub[self];
	struct name__input input;

	if (event->flags & MPCC_STARTS) {
		state->target = NAME_FIRST;
		state->since_us = conn->now_us;
		state->delivered = event->total_delivered;
	}
	state->lost = mpcc_add_saturating(state->lost, event->lost);
	if (event->flags & MPCC_ROUND_END) {
		u32 interval_us = name__note(conn, &sub->own, event, state);

		name__see(conn, &input, interval_us);
		if (self < NAME_PATHS)
			state->target = name__steer(state->target, name__act(&input, self));
	}
	/* For any content of the area. */
	if (state->target < NAME_LEAST)
		state->target = NAME_LEAST;
	if (state->target > NAME_MOST)
		state->target = NAME_MOST;
	name__apply(sub, state->target, event->mss);
	/* One packet until the next ACK. */
	if (event->flags & MPCC_TIMED_OUT)
		sub->cwnd = 1;
}

MPCC_CAPABILITIES(name_, MPCC_READS_DELAY | MPCC_OWNS_WINDOW);

static const struct mpcc_ops mpcc_ops_name_ = {
	.name = "name_",
	.title = "name_",
	.paper = "unpublished",
	.summary = "a network trained in joulepath.gym",
	.confidence = "R",
	.capabilities = mpcc_capabilities_name_,
	.min_cwnd = 1,
	.control = name__control,
};

#endif
