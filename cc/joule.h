/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * joule - at least a TCP's share, plus the bandwidth that random losses leave idle while no queue stands.
 *
 *   w = w_f,  trusted: max(w_f, w_d);  paced at 2 w / srtt at the start, after idle and timeouts
 *
 * Shadow w_f: what NewReno would have. Per ACK w_f += a acked / w,  a = 1, in a group LIA's.
 * A loss or mark is the shadow's for the part w_f / w; one loss of its own: w_f <- w_f / 2, once per window.
 *
 * Low-queue window w_d, once per epoch, by its mean RTT m, the base RTT tau0, the mean deviation s of RTTs
 * from the mean of their round, and q = m - tau0 against Q = max(tau0/16, 3 ms, 3/rate) + s/2:
 *
 *   q < Q/2:  w_d += clamp(max(2^(n-2), rounds), 1, w_d/4), the n-th epoch in a row      q < Q:  w_d += 1
 *   else:     w_d -= 1 + (w_d - w_d (tau0 + Q) / (tau0 + q)) / 2         w_d <= 5/4 rate_max tau0 + 4,
 *                                                                       9/8 if p_base < 1/64
 *
 * Trust: the time with m <= tau0 + h,  h = max(1 ms, tau0/16, s/2), at most one second per 20 tau0; trusted
 * from 1 s on, capped at 2 s. q > Q costs trust, one second per 20 tau0; m < tau0 - h costs all of it, as the
 * base was wrong. tau0 is the minimum of m over the last 10 to 20 s, or longer without a cut. To measure a
 * mean within h, an epoch has at least (4 e / h)^2 rounds, if the means of two rounds differ by e, and (16/3
 * s / h)^2 samples.
 *
 * Losses of congestion without a standing queue (short buffers, policers), probabilities p of n packets:
 *   a burst after growth:    d = p - p_base - 0.03,       d^2 > 9 (p_base + 0.01) / n: w_d *= max(1 - p, 1/2)
 *   more is lost than usual: d = p - 5/4 p_usual - 1/128, d^2 > 4 p (1/n_usual + 1/n): no trust
 * The second, two bursts, or a burst of over a fifth: no trust for 8, 16, .. 128 s. p_usual is the loss
 * probability without trust. If n > 4 n_usual does not decide: no trust for 4 s, to measure p_usual.
 *
 * Deviations: this project's own design, docs/models/joule.md. It differs from TCP:
 *   - the shadow's losses are spread evenly over all losses, not drawn at random;
 *   - otherwise unpaced: a paced sender loses less than competing unpaced TCPs, and takes more than its
 *     share;
 *   - while trusted the window returns with the first ACK after a timeout, without slow start. */
#ifndef MPCC_JOULE_H
#define MPCC_JOULE_H

#include "joule_losses.h"

/* w_d (tau0 + q*) / (tau0 + q) */
MPCC_INLINE u32 joule_scaled(u32 low, u32 base, u32 target, u32 q)
{
	return (u32)((u64)low * (base + target) / ((u64)base + q));
}

/* w_d at the end of an epoch. */
MPCC_INLINE void joule_steer(struct joule *j, u32 w, u32 q)
{
	u32 base = joule_base(j), target = joule_target(j), one = 1U << JOULE_Q, aim;
	/* without random losses an eighth is enough, and a quarter overflows a short queue */
	u32 eighths = j->p_base < JOULE_ONE / 64 ? 9 : 10;
	u64 most =
		mpcc_delivers(j->rate_max, base) * eighths / 8 >> (MPCC_AGGREGATE_BITS - JOULE_Q);

	if (j->hold)
		j->hold--;
	if (j->trust < JOULE_TRUSTED) {
		j->low = q < target ? w << JOULE_Q : joule_scaled(w << JOULE_Q, base, target, q);
		j->growth = 0;
		return;
	}
	if (q < target / 2) {
		u32 step = mpcc_max(j->growth > 2 ? 1U << mpcc_min(j->growth - 2U, 20) : 1,
		                    j->hold ? 1 : j->rounds)
		           << JOULE_Q;

		if (j->limited)
			j->low += mpcc_clamp(step, one, mpcc_max(j->low / 4, one));
		j->growth = j->hold || !j->limited ? 0 : mpcc_min(j->growth + 1U, 20) & 31;
	} else if (q < target) {
		j->low += j->limited ? one : 0;
		j->growth = 0;
	} else {
		aim = joule_scaled(j->low, base, target, q);
		j->low -= mpcc_min(j->low, one + (j->low - mpcc_min(aim, j->low)) / 2);
		j->growth = 0;
	}
	most += 4 << JOULE_Q;
	j->low = mpcc_clamp(most < j->low ? (u32)most : j->low, 2 << JOULE_Q,
	                    MPCC_CWND_MAX << JOULE_Q);
}

/* Adds a sample to the mean deviation of RTTs from the mean of their round. */
MPCC_INLINE void joule_spread(struct joule *j, u32 rtt_us)
{
	u32 rtt = mpcc_min(rtt_us, MPCC_RTT_MAX_US);

	if (rtt && j->mean_us)
		j->spread_us = j->spread_us - j->spread_us / 64 +
		               (rtt > j->mean_us ? rtt - j->mean_us : j->mean_us - rtt);
}

/* Adds the round's samples to the epoch, which ends once its mean is precise. */
MPCC_INLINE void joule_sample(struct mpcc_conn *conn, u32 self, struct joule *j, u32 now_ms)
{
	struct mpcc_subflow *sub = &conn->sub[self];
	const struct mpcc_own *own = &sub->own;
	u32 mean = (u32)(own->rtt_sum_us / mpcc_max(own->rtt_count, 1)), q;
	u32 step = mean > j->mean_us ? mean - j->mean_us : j->mean_us - mean;
	u64 h = joule_tolerance(j), k = mpcc_min(j->step_us, 8 * MPCC_RTT_MAX_US) / 2;
	u64 many = (u64)mpcc_min(j->spread_us, MPCC_RTT_MAX_US) / 12;

	if (j->mean_us)
		j->step_us = j->step_us - j->step_us / 8 + step;
	mean = mpcc_min(mean, MPCC_RTT_MAX_US);
	j->mean_us = mean;
	j->epoch_sum += own->rtt_sum_us;
	j->epoch_count = mpcc_add_saturating(j->epoch_count, own->rtt_count);
	j->rounds++;
	if (j->settled < JOULE_SETTLED)
		j->settled++;
	/*   (4 e / h)^2 rounds, e in Q3, and (16/3 s / h)^2 samples, s in Q6   */
	k = k * k / (h * h);
	many = many * many / (h * h);
	if ((j->rounds <= k || j->epoch_count < many) && j->rounds < JOULE_EPOCH_MAX)
		return;
	mean = (u32)(j->epoch_sum / mpcc_max(j->epoch_count, 1));
	mean = mpcc_min(mean, MPCC_RTT_MAX_US);
	q = joule_weigh(j, mean, (u32)conn->now_us, now_ms, own->history_rtt_us,
	                k < JOULE_EPOCH_MAX && j->epoch_count >= many);
	if (j->started)
		joule_steer(j, sub->cwnd, q);
	j->began_us = (u32)conn->now_us;
	j->epoch_sum = j->epoch_count = 0;
	j->rounds = j->limited = 0;
}

MPCC_INLINE void joule_round(struct mpcc_conn *conn, u32 self, struct joule *j,
                             const struct mpcc_event *event)
{
	u32 now_ms = (u32)(conn->now_us / 1000), base, q;
	u64 rate = mpcc_rate(event->delivered, event->interval_us);

	j->rate_max -= j->limited ? j->rate_max / 64 : 0;
	j->rate_max = rate > j->rate_max ? rate : j->rate_max;
	if (conn->sub[self].own.rtt_count)
		joule_sample(conn, self, j, now_ms);
	base = joule_base(j);
	q = j->mean_us > base ? j->mean_us - base : 0;
	joule_watch_level(j, now_ms);
	joule_watch_bursts(j, now_ms, joule_is_high(j) && q < joule_target(j));
	conn->sub[self].own.word[JOULE_FACTOR] = joule_factor(conn, self);
	j->acked = j->lost = 0;
	j->fresh = 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

MPCC_INLINE void joule_start(struct mpcc_conn *conn, u32 self, struct joule *j)
{
	u32 w = mpcc_clamp(conn->sub[self].cwnd, 2, MPCC_CWND_MAX);

	j->shadow = (u64)w << MPCC_PACKET_BITS;
	j->low = w << JOULE_Q;
	conn->sub[self].own.word[JOULE_FACTOR] = JOULE_ONE;
}

/* Handles losses, marks and timeouts, before the round is counted. */
MPCC_INLINE void joule_lose(struct mpcc_conn *conn, u32 self, struct joule *j,
                            const struct mpcc_event *event)
{
	u32 w = mpcc_clamp(conn->sub[self].cwnd, 1, MPCC_CWND_MAX), base, q, target;
	u32 losses = mpcc_min(event->lost, JOULE_LOSSES_MAX) + !!event->marked;
	u64 part;

	if (!losses && !(event->flags & (MPCC_TIMED_OUT | MPCC_EPISODE | MPCC_IN_VAIN)))
		return;
	base = joule_base(j);
	q = j->mean_us > base ? j->mean_us - base : 0;
	target = joule_target(j);
	part = ((u64)joule_share(j) << 16) / w;
	if (event->flags & MPCC_TIMED_OUT) {
		j->ramp = 1;
		j->low = (u32)((u64)j->low * 7 / 10);
	} else if (event->flags & MPCC_EPISODE && q > target) {
		j->low = mpcc_min(j->low, joule_scaled(w << JOULE_Q, base, 0, q));
	}
	if (event->marked)
		j->trust = 0;
	/* the lost packets were only late: undo the cut */
	if (event->flags & MPCC_IN_VAIN && j->before > joule_share(j))
		j->shadow = (u64)mpcc_min(j->before, MPCC_CWND_MAX) << MPCC_PACKET_BITS;
	if (!losses || (s32)(event->total_delivered - j->recover) < 0)
		return;
	j->debt =
		mpcc_min(j->debt, JOULE_ONE) + losses * (u32)(part < JOULE_ONE ? part : JOULE_ONE);
	if (j->debt < JOULE_ONE)
		return;
	if (!j->started) {
		j->started = 1;
		j->low = q > target ? w << JOULE_Q >> 1 : w << JOULE_Q;
		j->growth = 4;
	}
	joule_cut(j);
	j->recover = event->total_delivered + event->in_flight;
}

/* Sets window and pacing rate. */
MPCC_INLINE void joule_apply(struct mpcc_conn *conn, u32 self, struct joule *j,
                             const struct mpcc_event *event)
{
	struct mpcc_subflow *sub = &conn->sub[self];
	u32 gain = j->started && !j->fresh && !j->ramp ? 0 : JOULE_START_GAIN;
	u32 share = joule_share(j), w = share, low = mpcc_min(j->low >> JOULE_Q, MPCC_CWND_MAX);

	if (j->trust >= JOULE_TRUSTED)
		w = mpcc_max(low, share);
	if (j->ramp) {
		j->ramp = j->trust >= JOULE_TRUSTED && event->acked
		                  ? w
		                  : mpcc_min(j->ramp, MPCC_CWND_MAX) +
		                            mpcc_min(event->acked, MPCC_CWND_MAX);
		if (j->ramp >= w)
			j->ramp = 0;
		else
			w = j->ramp;
	}
	sub->cwnd = sub->ssthresh = mpcc_clamp(w, j->ramp ? 1 : 2, MPCC_CWND_MAX);
	sub->own.word[JOULE_SHARE] = (u32)(j->shadow >> (MPCC_PACKET_BITS - JOULE_SHARE_Q));
	sub->own.pacing_rate =
		gain ? mpcc_bytes_per_s(mpcc_rate(sub->cwnd, sub->srtt_us), gain, event->mss) : 0;
}

MPCC_INLINE void joule_control(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event,
                               struct mpcc_area *area)
{
	struct joule *j = joule_area(area);
	u32 w = conn->sub[self].cwnd, acked = mpcc_min(event->acked, MPCC_CWND_MAX);

	if (event->flags & MPCC_STARTS)
		joule_start(conn, self, j);
	if (event->flags & (MPCC_STARTS | MPCC_RESTARTS)) {
		j->began_us = (u32)conn->now_us;
		j->epoch_sum = j->epoch_count = j->acked = j->lost = 0;
		j->rounds = 0;
		j->fresh = 1;
	}
	joule_spread(j, event->rtt_us);
	j->acked = mpcc_min(j->acked + acked, MPCC_CWND_MAX);
	j->lost = mpcc_min(j->lost + mpcc_min(event->lost, JOULE_LOSSES_MAX), MPCC_CWND_MAX);
	joule_lose(conn, self, j, event);
	if (event->flags & MPCC_CWND_LIMITED ||
	    event->prior_in_flight + event->prior_in_flight / 8 >= w ||
	    (!j->started && event->prior_in_flight * 2 >= w)) {
		j->limited = 1;
		if (!j->started) {
			j->shadow += (u64)acked << MPCC_PACKET_BITS;
			j->low = joule_share(j) << JOULE_Q;
		} else if (!j->ramp && (s32)(event->total_delivered - j->recover) >= 0) {
			joule_grow(conn, self, j, acked);
		}
	}
	if (event->flags & MPCC_ROUND_END)
		joule_round(conn, self, j, event);
	joule_apply(conn, self, j, event);
}

MPCC_CAPABILITIES(joule, MPCC_OWNS_WINDOW | MPCC_READS_DELAY);

static const struct mpcc_ops mpcc_ops_joule = {
	.name = "joule",
	.title = "joule",
	.paper = "Joulepath",
	.summary = "a TCP's share always, and what random losses leave idle while no queue stands",
	.confidence = "N",
	.capabilities = mpcc_capabilities_joule,
	.min_cwnd = 1,
	.control = joule_control,
};

#endif
