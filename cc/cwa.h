/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * CWA-MPTCP, congestion window adaptation: Zhou, Song and Shi, CCNC 2013, Algorithm 1, on top of LIA.
 *
 *   every period:  theta = max_k D_k / min_k D_k;   the slowest path i, if theta_min <= theta <= theta_max:
 *                  cnt_i < m:  w_i <- max(w_i / theta, 2), ssthresh_i <- min(ssthresh_i, w_i), cnt_i + 1
 *                  else:       cnt_i <- 0, skipped
 *
 *   D_k: mean RTT over the period (ratios of RTTs stand for ratios of delays).
 *   loss: w_r <- max(w_r / 2, 2)
 *
 * Deviations
 *   - pull-only: each subflow checks its own clock when an ACK arrives (in the kernel: at least four times a
 *     window), publishes its mean delay, reads its siblings' delays, and acts if it is itself the slowest. On
 *     a tie the lower index acts.
 *   - a period without a sample uses the smoothed RTT.
 *   - theta above theta_max changes nothing, as printed; `beyond = divide` divides by theta_max. cnt is reset
 *     only at m, as printed; `reset = faster` also resets it when another path is the slowest. theta_min = 1,
 *     as printed, is always true; 1.1 avoids counting reductions by nothing.
 */
#ifndef MPCC_CWA_H
#define MPCC_CWA_H

#include "lia.h"

#define CWA_PARAMS(X)                                                                        \
	X(CWA_THETA_MIN, "theta_min", 1000, 1000, 100000, CWA_THETA_SCALE, "",               \
	  "ratio of delays from which the slowest path yields")                              \
	X(CWA_THETA_MAX, "theta_max", 3000, 1000, 100000, CWA_THETA_SCALE, "",               \
	  "ratio of delays up to which it yields")                                           \
	X(CWA_M, "m", 3, 1, 1000, 1, "", "reductions in a row before one period is skipped") \
	X(CWA_PERIOD, "period", 500, 10, 60000, 1000, "", "period, s")                       \
	X(CWA_BEYOND, "beyond", 0, 1, 0, 1, "nothing=0 divide=1",                            \
	  "above theta_max: nothing, or divide by theta_max")                                \
	X(CWA_RESET, "reset", 0, 1, 0, 1, "limit=0 faster=1",                                \
	  "the count restarts at m only, or also when another path is slower")
#define CWA_THETA_SCALE 1000
#define CWA_US_PER_MS   1000U
enum { CWA_PARAMS(MPCC_PARAM_ID) CWA_PARAM_COUNT };
enum { CWA_PARAMS(MPCC_PARAM_DEFAULT) };

enum cwa_wide { CWA_SUM /* us: RTT samples of this period */ };
enum cwa_word {
	CWA_SAMPLES, /* in this period */
	CWA_DELAY,   /* us: mean RTT of the last period, 0 = none */
	CWA_CUTS,    /* cnt: reductions in a row */
	CWA_LOOKED,  /* us, low 32 bits: last check */
};

#define CWA_MIN_CWND 2U /* packets */

MPCC_INLINE void cwa_init(struct mpcc_conn *conn, u32 self)
{
	conn->sub[self].own.word[CWA_LOOKED] = (u32)conn->now_us;
}

/* D_k, us */
MPCC_INLINE u32 cwa_delay(const struct mpcc_subflow *sub)
{
	return sub->own.word[CWA_DELAY] ? sub->own.word[CWA_DELAY] : mpcc_rtt(sub);
}

/* w <- w * num / den; ssthresh follows. */
MPCC_INLINE void cwa_cut(struct mpcc_subflow *sub, u32 num, u32 den)
{
	u32 w = (u32)((u64)mpcc_window(sub) * num / den);

	sub->cwnd = mpcc_min(sub->cwnd, mpcc_max(w, CWA_MIN_CWND));
	sub->ssthresh = mpcc_min(sub->ssthresh, sub->cwnd);
}

/* Algorithm 1, for one subflow. */
MPCC_INLINE void cwa_look(struct mpcc_conn *conn, u32 self)
{
	struct mpcc_subflow *sub = &conn->sub[self];
	u32 *cuts = &sub->own.word[CWA_CUTS];
	u32 own = cwa_delay(sub), least = own, slowest = 1;
	u32 theta_max = (u32)MPCC_PARAM(conn, CWA_THETA_MAX);
	u64 scaled;

	mpcc_for_each (conn, k) {
		u32 delay = cwa_delay(&conn->sub[k]);

		least = mpcc_min(least, delay);
		if (delay > own || (delay == own && k < self))
			slowest = 0;
	}
	if (!slowest) {
		if (MPCC_PARAM(conn, CWA_RESET))
			*cuts = 0;
		return;
	}
	scaled = (u64)own * CWA_THETA_SCALE; /* theta * least, scaled */
	if (scaled < (u64)MPCC_PARAM(conn, CWA_THETA_MIN) * least)
		return;
	if (scaled > (u64)theta_max * least && !MPCC_PARAM(conn, CWA_BEYOND))
		return;
	if (*cuts >= (u32)MPCC_PARAM(conn, CWA_M)) {
		*cuts = 0;
		return;
	}
	if (scaled > (u64)theta_max * least)
		cwa_cut(sub, CWA_THETA_SCALE, theta_max);
	else
		cwa_cut(sub, least, own);
	*cuts += 1;
}

MPCC_INLINE void cwa_sample(struct mpcc_own *own, u32 rtt_us)
{
	own->wide[CWA_SUM] += mpcc_min(rtt_us, MPCC_RTT_MAX_US);
	own->word[CWA_SAMPLES]++;
}

MPCC_INLINE void cwa_ack(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event)
{
	struct mpcc_own *own = &conn->sub[self].own;
	u32 now = (u32)conn->now_us, period = (u32)MPCC_PARAM(conn, CWA_PERIOD) * CWA_US_PER_MS;

	(void)event;
	if (now - own->word[CWA_LOOKED] < period)
		return;
	own->word[CWA_LOOKED] = now;
	own->word[CWA_DELAY] =
		own->word[CWA_SAMPLES] ? (u32)(own->wide[CWA_SUM] / own->word[CWA_SAMPLES]) : 0;
	own->wide[CWA_SUM] = 0;
	own->word[CWA_SAMPLES] = 0;
	if (!mpcc_alone(conn, self) && !(conn->sub[self].flags & MPCC_RECOVERY))
		cwa_look(conn, self);
}

MPCC_CAPABILITIES(cwa, MPCC_READS_DELAY | MPCC_ACKS_IN_SUM);

static const struct mpcc_ops mpcc_ops_cwa = {
	.name = "cwa",
	.title = "CWA-MPTCP",
	.paper = "Zhou, Song and Shi, CCNC 2013",
	.summary = "LIA that shrinks the slowest path's window to align delays",
	.confidence = "V",
	.capabilities = mpcc_capabilities_cwa,
	.min_cwnd = 1,
	.cache_acks = LIA_CACHE_ACKS,
	.increase = lia_increase,
	.init = cwa_init,
	.sample = cwa_sample,
	.ack = cwa_ack,
};

#endif
