/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * joule_shadow.h - the state of joule.h, and its shadow w_f: the window of NewReno or CUBIC in joule's place.
 *
 *   w_f += a acked / w        a = min(1, w_f A),  A: LIA's among the shadows of a group; alone a = 1
 *   loss: its part w_f / w is the shadow's; when these parts make one loss, w_f <- w_f / 2 (CUBIC: 0.7 w_f)
 */
#ifndef MPCC_JOULE_SHADOW_H
#define MPCC_JOULE_SHADOW_H

#include "cubic.h"

#define JOULE_PARAMS(X)                                                                     \
	X(JOULE_SHADOW, "shadow", 0, 1, 0, 1, "reno=0 cubic=1", "whose share is the least") \
	X(JOULE_FLOOR, "floor", 0, 1, 0, 1, "always=0 detect=1",                            \
	  "whether the shadow holds always, or while trusted only beside others' queues")   \
	X(JOULE_GROUP, "group", 0, 1, 0, 2, "each=0 one=1 none=2",                          \
	  "how many of the subflows that may share a bottleneck are trusted")               \
	X(JOULE_WITHOUT, "without", 0, 1, 0, 6,                                             \
	  "nothing=0 trust=1 bursts=2 dither=3 queue=4 level=5 pacing=6",                   \
	  "a part that is left out, to see what it is worth")
enum { JOULE_PARAMS(MPCC_PARAM_ID) JOULE_PARAM_COUNT };
enum { JOULE_PARAMS(MPCC_PARAM_DEFAULT) };
enum joule_group { JOULE_GROUP_EACH, JOULE_GROUP_ONE, JOULE_GROUP_NONE };
enum joule_part {
	JOULE_TRUST = 1,
	JOULE_BURSTS,
	JOULE_DITHER,
	JOULE_QUEUE,
	JOULE_LEVEL,
	JOULE_PACING
};

enum joule_numbers {
	JOULE_Q = 10,               /* Q10 packets: w_d */
	JOULE_SHARE_Q = 8,          /* Q8 packets: w_f as siblings see it */
	JOULE_ONE = 1 << 16,        /* Q16: one loss, a probability of 1, a = 1 */
	JOULE_TRUSTED = 1000,       /* ms of trust */
	JOULE_MOST = 9830,          /* Q16: 0.15, random loss is at most this */
	JOULE_BUCKET_MS = 10000,    /* ms */
	JOULE_EPOCH_MAX = 64,       /* rounds; no epoch is longer */
	JOULE_SETTLED = 16,         /* rounds until the spread of RTTs is valid */
	JOULE_DITHER_LEAST = 12,    /* packets: below, a dither would be under a packet */
	JOULE_HOLD = 8,             /* epochs without fast growth after a guard has struck */
	JOULE_BLOCK_MS = 8000,      /* ms: first block, doubled up to 16 times */
	JOULE_PAUSE_MS = 4000,      /* ms: without trust, to measure p_usual */
	JOULE_LEVEL_N = 2048,       /* packets: at this count both counts are halved */
	JOULE_START_GAIN = 512,     /* Q8: 2, tcp_pacing_ss_ratio */
	JOULE_DRAIN_MS = 3000,      /* ms: between two drains, doubled up to 4 times */
	JOULE_LOSSES_MAX = 1 << 12, /* upper bound on losses per event */
};

struct joule {
	u64 shadow;                      /* Q32 packets: w_f */
	u64 rate_max;                    /* Q24 packets/us, decaying */
	u64 epoch_sum;                   /* us: sum of the epoch's RTT samples */
	u32 epoch_count;                 /* number of those samples */
	u32 began_us;                    /* us: start of the epoch */
	u32 acked, lost;                 /* packets of the round */
	u32 low;                         /* Q10 packets: w_d */
	u32 base_us[2];                  /* us: minimum m of this bucket and of the previous one */
	u32 base_ms;                     /* ms: start of this bucket */
	u32 mean_us;                     /* us: mean of the last round */
	u32 step_us;                     /* us, Q3: e, from one round mean to the next */
	u32 spread_us;                   /* us, Q6: s, of the samples around the round mean */
	u32 trust;                       /* ms */
	u32 blocked_ms;                  /* ms: no trust until then */
	u32 queue_ms;                    /* ms: latest loss during a queue */
	u32 recover;                     /* packets delivered: no further cut before */
	u32 debt;                        /* Q16 losses: progress to the shadow's next one */
	u32 before;                      /* packets: the shadow before its last cut */
	u32 ramp;                        /* packets: window after a timeout, 0 = none */
	u32 drain_ms;                    /* ms: next drain */
	unsigned short p_base;           /* Q16: usual loss probability, + 1; 0 = unknown */
	unsigned short sent[2], gone[2]; /* packets, lost ones: low and high rounds of the dither */
	unsigned short usual[2],
		now[2]; /* packets, lost ones: untrusted, and since trusted; sliding */
	unsigned char rounds, settled; /* of the epoch; since the start */
	u32 started : 1, drained : 1;  /* past the first slow start; cut since the bucket began */
	u32 limited : 1, fresh : 1;    /* window is the limit; restarted after idle */
	u32 judged : 1, high : 1;      /* has judged a loss; trusted in the previous round */
	u32 skip : 2;                  /* rounds to skip after `high` changed */
	u32 growth : 5, hold : 4;      /* epochs without a queue; epochs without fast growth */
	u32 phase : 3;                 /* round of the dither */
	u32 strikes : 3, blocks : 3;   /* halves; number of blocks */
	u32 queued : 4;                /* losses during a queue */
	u32 drain : 3, waits : 3, full : 3, calm : 5, others : 1; /* floor=detect */
};
MPCC_AREA(joule)

/* Private words of struct mpcc_own that siblings read. wide[0]: recent maximum of the RTT, us. */
enum joule_word { JOULE_SHARE, JOULE_FACTOR, JOULE_W_MAX, JOULE_K, JOULE_EPOCH };

MPCC_INLINE u32 joule_without(const struct mpcc_conn *conn, enum joule_part part)
{
	return MPCC_PARAM(conn, JOULE_WITHOUT) == (s32)part;
}

/* ---- the shadow ------------------------------------------------------------------------------ */

/* a in Q16, among the shadows of a group: w_r w_b / (sum_k w_k tau_b / tau_k)^2 */
MPCC_FUNC u32 joule_factor(const struct mpcc_conn *conn, u32 self)
{
	MPCC_REQUIRE(conn);
	const struct mpcc_subflow *own = &conn->sub[MPCC_SLOT(self)];
	u32 w = mpcc_clamp(own->own.word[JOULE_SHARE], 1, 1U << 28), best_w = w;
	u32 best_tau = mpcc_rtt(own);
	u64 sum = 0, part;

	if (!own->own.group)
		return JOULE_ONE;
	mpcc_for_each (conn, k) {
		const struct mpcc_subflow *sub = &conn->sub[k];
		u32 its = mpcc_min(sub->own.word[JOULE_SHARE], 1U << 28), tau = mpcc_rtt(sub);

		if (sub->own.group == own->own.group &&
		    mpcc_compare_products((u64)its * best_tau, best_tau, (u64)best_w * tau, tau) >
		            0) {
			best_w = its;
			best_tau = tau;
		}
	}
	mpcc_for_each (conn, k) {
		const struct mpcc_subflow *sub = &conn->sub[k];
		u64 its = mpcc_min(sub->own.word[JOULE_SHARE], 1U << 28);

		if (sub->own.group == own->own.group)
			sum += its * best_tau / mpcc_rtt(sub);
	}
	sum = sum > best_w ? sum : best_w;
	part = ((u64)best_w << 16) / sum * w / sum;
	return part < JOULE_ONE ? (u32)part : JOULE_ONE;
}

/* w_f in packets. */
MPCC_INLINE u32 joule_share(const struct joule *j)
{
	return mpcc_clamp((u32)(j->shadow >> MPCC_PACKET_BITS), 2, MPCC_CWND_MAX);
}

/* Reno: w_f += a acked / w. CUBIC: also (W_cubic(t + tau) - w_f) acked / w, at most w_f / 2 per window. */
MPCC_INLINE void joule_grow(struct mpcc_conn *conn, u32 self, struct joule *j, u32 acked)
{
	u32 *word = conn->sub[self].own.word;
	u32 w = mpcc_clamp(conn->sub[self].cwnd, 1, MPCC_CWND_MAX),
	    n = mpcc_min(acked, MPCC_CWND_MAX);
	u64 most = (u64)MPCC_CWND_MAX << MPCC_PACKET_BITS;
	u64 step = ((u64)n * mpcc_min(word[JOULE_FACTOR], JOULE_ONE) << 16) / w, to = 0;

	if (MPCC_PARAM(conn, JOULE_SHADOW) && word[JOULE_W_MAX]) {
		u64 t = (u32)(conn->now_us / 1000) - word[JOULE_EPOCH];

		t = cubic_ticks((t < 256000 ? t * 1000 : 256000000) + mpcc_rtt(&conn->sub[self]));
		to = cubic_window(t, word[JOULE_K], mpcc_min(word[JOULE_W_MAX], MPCC_CWND_MAX))
		     << (MPCC_PACKET_BITS - CUBIC_Q);
		if (joule_share(j) < word[JOULE_W_MAX])
			step = step * 9 / 17;
	}
	if (to > j->shadow + step) {
		u64 gap = to - j->shadow < j->shadow / 2 ? to - j->shadow : j->shadow / 2;

		step = gap / w * mpcc_min(n, w);
	}
	j->shadow = j->shadow < most - step && step < most ? j->shadow + step : most;
}

/* w_f / 2. CUBIC: 0.7 w_f, and starts an epoch. */
MPCC_INLINE void joule_cut(struct mpcc_conn *conn, u32 self, struct joule *j)
{
	u32 *word = conn->sub[self].own.word, w = joule_share(j), less = w / 2;

	if (MPCC_PARAM(conn, JOULE_SHADOW)) {
		less = w * 7 / 10;
		word[JOULE_W_MAX] = w < word[JOULE_W_MAX] ? w * 17 / 20 : w;
		word[JOULE_K] = (u32)cubic_root(
			(u64)(mpcc_max(word[JOULE_W_MAX], less) - less) * CUBIC_C_DEN
			<< (3 * CUBIC_TIME_BITS - 1));
		word[JOULE_EPOCH] = (u32)(conn->now_us / 1000);
	}
	j->before = w;
	j->shadow = (u64)mpcc_max(less, 2) << MPCC_PACKET_BITS;
	j->debt = 0;
	j->drained = 1;
}

#endif
