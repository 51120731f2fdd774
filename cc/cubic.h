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
 * Deviations
 *   - W_est approaches its target over one window of ACKs, as in Linux; section 4.3 sets it at once.
 *   - an ACK that is not cwnd-limited ends the epoch, and the next one starts an epoch at the present window,
 *     so application-limited time does not count (section 5.8).
 *   - the time of an epoch saturates at 256 s, in steps of 61 us.
 */
#ifndef MPCC_CUBIC_H
#define MPCC_CUBIC_H

#include "mpcc_run.h"

#define CUBIC_PARAMS(X)                                                         \
	X(CUBIC_FAST_CONVERGENCE, "fast_convergence", 1, 1, 0, 1, "off=0 on=1", \
	  "give up bandwidth to newcomers after a loss below the last maximum")
enum { CUBIC_PARAMS(MPCC_PARAM_ID) CUBIC_PARAM_COUNT };
enum { CUBIC_PARAMS(MPCC_PARAM_DEFAULT) };

enum cubic_wide { CUBIC_EPOCH /* us + 1: start of the epoch, 0 = none */ };
enum cubic_word {
	CUBIC_W_MAX,        /* packets */
	CUBIC_K,            /* 2^-14 s */
	CUBIC_EST,          /* packets: whole part of W_est */
	CUBIC_EST_FRACTION, /* Q32 packets */
	CUBIC_PRIOR,        /* packets: window before the last loss */
};

#define CUBIC_TIME_BITS 14                 /* times in 2^-14 s = 61 us */
#define CUBIC_TIME_MAX  ((1ULL << 22) - 1) /* 2^-14 s: 256 s, cubes fit in 64 bits */
#define CUBIC_EPOCH_MAX 256000000ULL       /* us: the same */
#define CUBIC_CUBE_DROP 12                 /* bits dropped between square and cube */
#define CUBIC_Q         24                 /* Q24 packets */
#define CUBIC_US_PER_S  1000000U
#define CUBIC_ALPHA     ((u64)MPCC_PACKET * 9 / 17) /* Q32: 3 (1 - 0.7) / (1 + 0.7) */
/* C = 2/5 and 1/C = 5/2 (RFC 9438, section 5) */
#define CUBIC_C_NUM 2
#define CUBIC_C_DEN 5

/* Integer cube root in 22 steps without branches: the verifier would follow both sides of each branch. */
MPCC_FUNC u64 cubic_root(u64 x)
{
	u64 root = 0;

	for (s32 bit = 63; bit >= 0; bit -= 3) {
		u64 step, fits;

		root *= 2;
		step = 3 * root * (root + 1) + 1;
		/* 1 where x >> bit >= step: both are below 2^63 */
		fits = 1 ^ ((x >> bit) - step) >> 63;
		x -= step * fits << bit;
		root += fits;
	}
	return root;
}

MPCC_INLINE u64 cubic_ticks(u64 us)
{
	return (us << CUBIC_TIME_BITS) / CUBIC_US_PER_S;
}

/* W_cubic `t` ticks after the start of the epoch, Q24 packets: C (t - K)^3 + W_max. */
MPCC_FUNC u64 cubic_window(u64 t, u64 k, u64 w_max)
{
	enum { CUBE_BITS = 3 * CUBIC_TIME_BITS - CUBIC_CUBE_DROP };
	u64 d = t > k ? t - k : k - t, cube, change;

	d = d < CUBIC_TIME_MAX ? d : CUBIC_TIME_MAX;
	cube = (d * d >> CUBIC_CUBE_DROP) * d;
	change = cube * CUBIC_C_NUM / CUBIC_C_DEN >> (CUBE_BITS - CUBIC_Q);
	w_max <<= CUBIC_Q;
	if (t >= k)
		return w_max + change;
	return w_max > change ? w_max - change : 0;
}

MPCC_INLINE s64 cubic_increase(const struct mpcc_conn *conn, u32 self)
{
	const struct mpcc_subflow *sub = &conn->sub[self];
	const struct mpcc_own *own = &sub->own;
	u64 cwnd = mpcc_window(sub),
	    w = (cwnd << CUBIC_Q) + ((u64)own->acc >> (MPCC_PACKET_BITS - CUBIC_Q));
	u64 rtt = cubic_ticks(mpcc_rtt(sub)), epoch = own->wide[CUBIC_EPOCH], target;

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
	if (target <= w)
		return 0;
	target = target < w + w / 2 ? target : w + w / 2;
	/*   (target - w) / w   */
	return (s64)(((target - w) << (MPCC_PACKET_BITS - CUBIC_Q)) / cwnd);
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

MPCC_INLINE void cubic_ack(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event)
{
	struct mpcc_subflow *sub = &conn->sub[self];
	struct mpcc_own *own = &sub->own;
	u64 alpha, est;

	if (sub->cwnd < sub->ssthresh || (sub->flags & MPCC_RECOVERY))
		return;
	if (!(event->flags & MPCC_CWND_LIMITED)) {
		own->wide[CUBIC_EPOCH] = 0;
		return;
	}
	if (!own->wide[CUBIC_EPOCH])
		cubic_start_epoch(conn, self);
	alpha = own->word[CUBIC_EST] < own->word[CUBIC_PRIOR] ? CUBIC_ALPHA : (u64)MPCC_PACKET;
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
	u32 w = mpcc_window(&conn->sub[self]);

	(void)kind;
	own->word[CUBIC_PRIOR] = w;
	/*   (1 + beta) / 2 = 0.85   */
	if (w < own->word[CUBIC_W_MAX] && MPCC_PARAM(conn, CUBIC_FAST_CONVERGENCE))
		own->word[CUBIC_W_MAX] = w * 17 / 20;
	else
		own->word[CUBIC_W_MAX] = w;
	own->wide[CUBIC_EPOCH] = 0;
}

MPCC_INLINE void cubic_restart(struct mpcc_conn *conn, u32 self)
{
	conn->sub[self].own.wide[CUBIC_EPOCH] = 0;
}

MPCC_CAPABILITIES(cubic, MPCC_UNCOUPLED | MPCC_ACKS_IN_SUM);

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
