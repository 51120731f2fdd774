/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * joule_shadow.h - the state of joule.h, and its shadow w_f: the window of NewReno in joule's place.
 *
 *   w_f += a acked / w        a = min(1, w_f A),  A: LIA's among the shadows of a group; alone a = 1
 *   loss: its part w_f / w is the shadow's; when these parts make one loss, w_f <- w_f / 2
 */
#ifndef MPCC_JOULE_SHADOW_H
#define MPCC_JOULE_SHADOW_H

#include "mpcc_run.h"

#define JOULE_PARAMS(X)

enum joule_numbers {
	JOULE_Q = 10,               /* Q10 packets: w_d */
	JOULE_SHARE_Q = 8,          /* Q8 packets: w_f as siblings see it */
	JOULE_ONE = 1 << 16,        /* Q16: one loss, a probability of 1, a = 1 */
	JOULE_TRUSTED = 1000,       /* ms of trust */
	JOULE_MOST = 9830,          /* Q16: 0.15, random loss is at most this */
	JOULE_BUCKET_MS = 10000,    /* ms */
	JOULE_EPOCH_MAX = 64,       /* rounds; no epoch is longer */
	JOULE_SETTLED = 16,         /* rounds until the spread of RTTs is valid */
	JOULE_HOLD = 8,             /* epochs without fast growth after a guard has struck */
	JOULE_BLOCK_MS = 8000,      /* ms: first block, doubled up to 16 times */
	JOULE_PAUSE_MS = 4000,      /* ms: without trust, to measure p_usual */
	JOULE_LEVEL_N = 2048,       /* packets: at this count both counts are halved */
	JOULE_START_GAIN = 512,     /* Q8: 2, tcp_pacing_ss_ratio */
	JOULE_LOSSES_MAX = 1 << 12, /* upper bound on losses per event */
};

struct joule {
	u64 shadow;            /* Q32 packets: w_f */
	u64 rate_max;          /* Q24 packets/us, decaying */
	u64 epoch_sum;         /* us: sum of the epoch's RTT samples */
	u32 epoch_count;       /* number of those samples */
	u32 began_us;          /* us: start of the epoch */
	u32 acked, lost;       /* packets of the round */
	u32 low;               /* Q10 packets: w_d */
	u32 base_us[2];        /* us: minimum m of this bucket and of the previous one */
	u32 base_ms;           /* ms: start of this bucket */
	u32 mean_us;           /* us: mean of the last round */
	u32 step_us;           /* us, Q3: e, from one round mean to the next */
	u32 spread_us;         /* us, Q6: s, of the samples around the round mean */
	u32 trust;             /* ms */
	u32 blocked_ms;        /* ms: no trust until then */
	u32 recover;           /* packets delivered: no further cut before */
	u32 debt;              /* Q16 losses: progress to the shadow's next one */
	u32 before;            /* packets: the shadow before its last cut */
	u32 ramp;              /* packets: window after a timeout, 0 = none */
	unsigned short p_base; /* Q16: usual loss probability, + 1; 0 = unknown */
	unsigned short usual[2],
		now[2]; /* packets, lost ones: untrusted, and since trusted; sliding */
	unsigned char rounds, settled; /* of the epoch; since the start */
	u32 started : 1, drained : 1;  /* past the first slow start; cut since the bucket began */
	u32 limited : 1, fresh : 1;    /* window is the limit; restarted after idle */
	u32 high : 1;                  /* trusted in the previous round */
	u32 skip : 2;                  /* rounds to skip after `high` changed */
	u32 growth : 5, hold : 4;      /* epochs without a queue; epochs without fast growth */
	u32 strikes : 2, blocks : 3;   /* bursts; number of blocks */
};
MPCC_AREA(joule)

/* Private words of struct mpcc_own that siblings read. */
enum joule_word { JOULE_SHARE, JOULE_FACTOR };

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

/* w_f += a acked / w */
MPCC_INLINE void joule_grow(struct mpcc_conn *conn, u32 self, struct joule *j, u32 acked)
{
	u32 w = mpcc_clamp(conn->sub[self].cwnd, 1, MPCC_CWND_MAX),
	    n = mpcc_min(acked, MPCC_CWND_MAX);
	u64 most = (u64)MPCC_CWND_MAX << MPCC_PACKET_BITS;
	u64 step = ((u64)n * mpcc_min(conn->sub[self].own.word[JOULE_FACTOR], JOULE_ONE) << 16) / w;

	j->shadow = j->shadow < most - step && step < most ? j->shadow + step : most;
}

/* w_f / 2 */
MPCC_INLINE void joule_cut(struct joule *j)
{
	j->before = joule_share(j);
	j->shadow = (u64)mpcc_max(j->before / 2, 2) << MPCC_PACKET_BITS;
	j->debt = 0;
	j->drained = 1;
}

#endif
