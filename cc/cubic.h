/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * CUBIC on every subflow, as mainline Linux MPTCP runs by default: RFC 9438.
 *
 *   W_cubic(t) = C * (t - K)^3 + W_max        K = cbrt( (W_max - w_epoch) / C )        C = 0.4, beta = 0.7
 *
 *            max( W_cubic(t + tau), W_est ) - w
 *   delta = ------------------------------------      target within [w, 1.5 w]         loss: w <- 0.7 w
 *                            w
 *
 *   W_est grows by alpha / w per ACK, alpha = 3 (1 - beta) / (1 + beta) = 9/17, and 1 once it has reached the
 *   window before the loss. Fast convergence: W_max <- w (1 + beta) / 2 if w < W_max at a loss.
 *
 * Slow start ends by HyStart, as in Linux (mpcc_hystart.h).
 *
 * Deviations
 *   - until the first loss, and from a timeout to the next loss, delta is at least 1/20, as in Linux: the
 *     capacity is unknown.
 *   - W_est approaches its target over one window of ACKs, as in Linux; section 4.3 sets it at once.
 *   - an ACK that is not cwnd-limited ends the epoch, and the next one starts an epoch at the present window,
 *     so application-limited time does not count (section 5.8).
 *   - the time of an epoch saturates at 256 s, in steps of 61 us.
 */
#ifndef MPCC_CUBIC_H
#define MPCC_CUBIC_H

#include "cubic_curve.h"
#include "mpcc_hystart.h"

#define CUBIC_PARAMS(X)                                                         \
	X(CUBIC_FAST_CONVERGENCE, "fast_convergence", 1, 1, 0, 1, "off=0 on=1", \
	  "give up bandwidth to newcomers after a loss below the last maximum") \
	X(CUBIC_HYSTART, "hystart", 1, 1, 0, 1, "off=0 on=1",                   \
	  "leave slow start when ACK trains or delays show that a queue builds")
enum { CUBIC_PARAMS(MPCC_PARAM_ID) CUBIC_PARAM_COUNT };
enum { CUBIC_PARAMS(MPCC_PARAM_DEFAULT) };

enum cubic_wide { CUBIC_EPOCH /* us + 1: start of the epoch, 0 = none */ };
enum cubic_word {
	CUBIC_W_MAX, /* packets */
	CUBIC_PRIOR, /* packets: window before the last loss, 0 = none; and CUBIC_FOUND */
	/* While there is no epoch, a struct mpcc_hystart takes the place of these words. */
	CUBIC_K,            /* 2^-14 s */
	CUBIC_EST,          /* packets: whole part of W_est */
	CUBIC_EST_FRACTION, /* Q32 packets */
};
#define CUBIC_FOUND (1U << 31) /* of CUBIC_PRIOR: HyStart has ended slow start */

#define CUBIC_ALPHA ((u64)MPCC_PACKET * 9 / 17) /* Q32: 3 (1 - 0.7) / (1 + 0.7) */
#define CUBIC_PROBING \
	(MPCC_PACKET / 20) /* Q32 packets: least increase while the capacity is unknown */

MPCC_INLINE u32 cubic_prior(const struct mpcc_own *own)
{
	return own->word[CUBIC_PRIOR] & ~CUBIC_FOUND;
}

MPCC_INLINE void cubic_end_epoch(struct mpcc_own *own, u64 now_us)
{
	own->wide[CUBIC_EPOCH] = 0;
	mpcc_hystart_begin((struct mpcc_hystart *)&own->word[CUBIC_K], (u32)now_us);
}

MPCC_INLINE s64 cubic_increase(const struct mpcc_conn *conn, u32 self)
{
	const struct mpcc_subflow *sub = &conn->sub[self];
	const struct mpcc_own *own = &sub->own;
	u64 cwnd = mpcc_window(sub),
	    w = (cwnd << CUBIC_Q) + ((u64)own->acc >> (MPCC_PACKET_BITS - CUBIC_Q));
	u64 rtt = cubic_ticks(mpcc_rtt(sub)), epoch = own->wide[CUBIC_EPOCH], target;
	s64 step = 0;

	if (epoch && conn->now_us + 1 >= epoch) {
		u64 t = conn->now_us + 1 - epoch;
		u64 est = ((u64)own->word[CUBIC_EST] << CUBIC_Q) +
		          (own->word[CUBIC_EST_FRACTION] >> (MPCC_PACKET_BITS - CUBIC_Q));

		t = cubic_ticks(t < CUBIC_EPOCH_MAX ? t : CUBIC_EPOCH_MAX);
		target = cubic_window(t + rtt, own->word[CUBIC_K], own->word[CUBIC_W_MAX]);
		target = target > est ? target : est;
	} else {
		target = cubic_window(rtt, 0, cwnd);
	}
	target = target < w + w / 2 ? target : w + w / 2;
	/*   (target - w) / w   */
	if (target > w)
		step = (s64)(((target - w) << (MPCC_PACKET_BITS - CUBIC_Q)) / cwnd);
	return epoch && !cubic_prior(own) && step < CUBIC_PROBING ? CUBIC_PROBING : step;
}

MPCC_INLINE void cubic_start_epoch(struct mpcc_conn *conn, u32 self)
{
	struct mpcc_own *own = &conn->sub[self].own;
	u32 w = mpcc_window(&conn->sub[self]);
	u64 below;

	if (own->word[CUBIC_W_MAX] < w)
		own->word[CUBIC_W_MAX] = w;
	/* K^3 = (W_max - w) / C = (W_max - w) * 5/2, in 2^-42 s^3 */
	below = own->word[CUBIC_W_MAX] - w;
	own->word[CUBIC_K] = (u32)cubic_root(below * CUBIC_C_DEN << (3 * CUBIC_TIME_BITS - 1));
	own->word[CUBIC_EST] = w;
	own->word[CUBIC_EST_FRACTION] = 0;
	own->wide[CUBIC_EPOCH] = conn->now_us + 1;
}

/* Slow start: ends it if HyStart finds a queue. */
MPCC_INLINE void cubic_slow_start(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event)
{
	struct mpcc_subflow *sub = &conn->sub[self];
	struct mpcc_own *own = &sub->own;

	if (own->wide[CUBIC_EPOCH])
		cubic_end_epoch(own, conn->now_us);
	if (own->word[CUBIC_PRIOR] & CUBIC_FOUND || !MPCC_PARAM(conn, CUBIC_HYSTART))
		return;
	if (!mpcc_hystart((struct mpcc_hystart *)&own->word[CUBIC_K], sub, (u32)conn->now_us,
	                  event->rtt_us, event->flags))
		return;
	own->word[CUBIC_PRIOR] |= CUBIC_FOUND;
	sub->ssthresh = sub->cwnd;
}

MPCC_INLINE void cubic_ack(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event)
{
	struct mpcc_subflow *sub = &conn->sub[self];
	struct mpcc_own *own = &sub->own;
	u64 alpha, est;

	if (sub->flags & MPCC_RECOVERY)
		return;
	if (sub->cwnd < sub->ssthresh) {
		cubic_slow_start(conn, self, event);
		return;
	}
	if (!(event->flags & MPCC_CWND_LIMITED)) {
		cubic_end_epoch(own, conn->now_us);
		return;
	}
	if (!own->wide[CUBIC_EPOCH])
		cubic_start_epoch(conn, self);
	/* 9/17 if there is no prior window: 0 - 1 is the largest. */
	alpha = own->word[CUBIC_EST] <= cubic_prior(own) - 1 ? CUBIC_ALPHA : (u64)MPCC_PACKET;
	/*   W_est += alpha * acked / w   */
	est = ((u64)mpcc_min(own->word[CUBIC_EST], MPCC_CWND_MAX) << MPCC_PACKET_BITS) +
	      own->word[CUBIC_EST_FRACTION] +
	      alpha * mpcc_min(event->acked, MPCC_CWND_MAX) / mpcc_window(sub);
	own->word[CUBIC_EST] = (u32)(est >> MPCC_PACKET_BITS);
	own->word[CUBIC_EST_FRACTION] = (u32)est;
}

MPCC_INLINE u32 cubic_ssthresh(const struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind)
{
	(void)kind;
	return mpcc_max(mpcc_window(&conn->sub[self]) * 7 / 10, MPCC_SSTHRESH_MIN);
}

MPCC_INLINE void cubic_loss(struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind)
{
	struct mpcc_own *own = &conn->sub[self].own;
	u32 w = mpcc_window(&conn->sub[self]), found = own->word[CUBIC_PRIOR] & CUBIC_FOUND;

	cubic_end_epoch(own, conn->now_us);
	if (kind == MPCC_TIMEOUT) {
		/* The next epoch starts at its maximum (section 4.8). */
		own->word[CUBIC_W_MAX] = 0;
		own->word[CUBIC_PRIOR] = 0;
		return;
	}
	own->word[CUBIC_PRIOR] = w | found;
	/*   (1 + beta) / 2 = 0.85   */
	if (w < own->word[CUBIC_W_MAX] && MPCC_PARAM(conn, CUBIC_FAST_CONVERGENCE))
		w = w * 17 / 20;
	own->word[CUBIC_W_MAX] = w;
}

MPCC_INLINE void cubic_restart(struct mpcc_conn *conn, u32 self)
{
	cubic_end_epoch(&conn->sub[self].own, conn->now_us);
}

MPCC_CAPABILITIES(cubic, MPCC_UNCOUPLED | MPCC_ACKS_IN_SUM | MPCC_ENDS_SLOW_START);

static const struct mpcc_ops mpcc_ops_cubic = {
	.name = "cubic",
	.title = "CUBIC",
	.paper = "RFC 9438",
	.summary = "CUBIC on every subflow, uncoupled: the default of mainline Linux",
	.confidence = "L",
	.capabilities = mpcc_capabilities_cubic,
	.min_cwnd = 1,
	.increase = cubic_increase,
	.ssthresh = cubic_ssthresh,
	.ack = cubic_ack,
	.loss = cubic_loss,
	.restart = cubic_restart,
};

#endif
