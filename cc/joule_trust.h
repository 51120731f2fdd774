/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * joule_trust.h - what joule.h takes as evidence: for an empty queue the mean RTT, against it losses that
 * come in bursts after growth, that follow the window, or that come while a queue stands.
 */
#ifndef MPCC_JOULE_TRUST_H
#define MPCC_JOULE_TRUST_H

#include "joule_shadow.h"

MPCC_INLINE u32 joule_base(const struct joule *j)
{
	u32 a = j->base_us[0], b = j->base_us[1];

	return mpcc_clamp(b && b < a ? b : a, 1, MPCC_RTT_MAX_US);
}

/* h, us: max(1 ms, tau0/16, s/2) */
MPCC_INLINE u32 joule_tolerance(const struct joule *j)
{
	return mpcc_max(mpcc_max(1000, joule_base(j) / 16),
	                mpcc_min(j->spread_us / 128, MPCC_RTT_MAX_US / 64));
}

/* Q, us: max(tau0/16, 3 ms, 3 packets at the largest rate) + s/2 */
MPCC_INLINE u32 joule_target(const struct joule *j)
{
	u32 base = joule_base(j);
	u64 three = j->rate_max ? (3ULL << MPCC_RATE_BITS) / j->rate_max : 0;

	return mpcc_max(mpcc_max(base / 16, 3000), three < base ? (u32)three : base) +
	       mpcc_min(j->spread_us / 128, MPCC_RTT_MAX_US / 64);
}

MPCC_INLINE u32 joule_is_high(const struct joule *j)
{
	return j->trust >= JOULE_TRUSTED && j->low >> JOULE_Q > joule_share(j);
}

/* Without losses there is nothing to find out. */
MPCC_INLINE u32 joule_dithers(const struct joule *j)
{
	return joule_is_high(j) && j->low >> JOULE_Q >= JOULE_DITHER_LEAST &&
	       j->p_base > JOULE_ONE / 2048;
}

/* ---- guards ---------------------------------------------------------------------------------- */

/* Seconds of silence for w_d after two strikes. */
MPCC_INLINE void joule_strike(struct joule *j, u32 now_ms, u32 keep, u32 halves)
{
	j->low = (u32)((u64)j->low * keep >> 16);
	j->growth = 0;
	j->hold = JOULE_HOLD;
	j->strikes = (unsigned char)mpcc_min(j->strikes + halves, 4);
	if (j->strikes < 4)
		return;
	j->strikes = 0;
	j->trust = 0;
	j->blocked_ms = now_ms + ((u32)JOULE_BLOCK_MS << mpcc_min(j->blocks, 4));
	j->blocks = (unsigned char)mpcc_min(j->blocks + 1U, 4);
}

/* d^2 > 9 (p_base + 0.01) / n, all of them probabilities in Q16. */
MPCC_INLINE void joule_watch_bursts(struct joule *j, u32 now_ms, u32 calm)
{
	u64 n = (u64)j->acked + j->lost;
	u32 p = n ? (u32)(((u64)j->lost << 16) / n) : 0, bounded = mpcc_min(p, JOULE_ONE * 3 / 10);
	u32 base = mpcc_min(j->p_base ? j->p_base - 1U : bounded, JOULE_ONE * 3 / 10),
	    over = base + JOULE_ONE * 3 / 100;
	u64 d = p > over ? p - over : 0;

	if (n < 4)
		return;
	if (calm && d && d * d * n > (u64)9 * (base + JOULE_ONE / 100) * JOULE_ONE) {
		joule_strike(j, now_ms, mpcc_max(JOULE_ONE - p, JOULE_ONE / 2),
		             d > JOULE_ONE / 5 ? 4 : 2);
		return;
	}
	/*   p_base += (p - p_base) min(n / 500, 1/5)   */
	n = n < 100 ? n : 100;
	j->p_base = (unsigned short)((base * (500 - n) + bounded * n) / 500 + 1);
}

/* Four rounds high, four low; the first of each is left out, because losses are known a round later. */
MPCC_INLINE void joule_watch_dither(struct joule *j, u32 now_ms)
{
	u32 high = j->phase < 4, skip = !(j->phase & 3);
	u64 n0, n1, p0, p1, p, d;

	if (!skip) {
		j->sent[high] = (unsigned short)mpcc_min(j->sent[high] + j->acked + j->lost, 60000);
		j->gone[high] = (unsigned short)mpcc_min(j->gone[high] + j->lost, j->sent[high]);
	}
	j->phase = (j->phase + 1) & 7;
	if (j->phase || mpcc_min(j->sent[0], j->sent[1]) < 60)
		return;
	n0 = j->sent[0];
	n1 = j->sent[1];
	p0 = ((u64)j->gone[0] << 16) / n0;
	p1 = ((u64)j->gone[1] << 16) / n1;
	p = (((u64)j->gone[0] + j->gone[1] + 1) << 16) / (n0 + n1);
	d = p1 > p0 + JOULE_ONE / 100 ? p1 - p0 - JOULE_ONE / 100 : 0;
	/*   d^2 > 4 p (n0 + n1) / (n0 n1)   */
	if (d && d * d > 4 * p * JOULE_ONE / n0 + 4 * p * JOULE_ONE / n1)
		joule_strike(j, now_ms, JOULE_ONE * 7 / 8, 2);
	else if (j->strikes)
		j->strikes--;
	j->sent[0] = j->sent[1] = j->gone[0] = j->gone[1] = 0;
}

/*
 * Losses that come while a queue stands are of congestion, whatever the mean RTT is. The RTT then lies above
 * tau0 + Q + 2 s, or above Q and seven eighths of the way to the largest one of late (`top`). Once
 * these outnumber the others by four there is no trust for 10 s.
 */
MPCC_INLINE void joule_watch_queue(struct joule *j, u64 *top, const struct mpcc_event *event,
                                   u32 now_ms)
{
	u32 base = joule_base(j), rtt = mpcc_min(event->rtt_us, MPCC_RTT_MAX_US), edge, off, most;

	if (!rtt || !j->mean_us)
		return;
	off = rtt > j->mean_us ? rtt - j->mean_us : j->mean_us - rtt;
	j->spread_us = j->spread_us - j->spread_us / 64 + off;
	*top = *top > rtt ? *top : rtt;
	edge = joule_target(j) + 2 * mpcc_min(j->spread_us / 64, MPCC_RTT_MAX_US);
	edge += joule_is_high(j) ? base / 24 : 0;
	most = (u32)(*top < MPCC_RTT_MAX_US ? *top : MPCC_RTT_MAX_US);
	most = most > base ? (most - base) * 7 / 8 : 0;
	edge = base + mpcc_min(edge, mpcc_max(most, joule_target(j)));
	if (!event->lost || j->judged)
		return;
	j->judged = 1;
	if (rtt <= edge) {
		j->queued = (unsigned char)(j->queued - !!j->queued);
		return;
	}
	j->queued = (unsigned char)mpcc_min(j->queued + 1U, 8);
	j->queue_ms = now_ms;
	if (j->queued >= 4)
		j->trust = 0;
}

/* ---- trust ----------------------------------------------------------------------------------- */

/* Time in which the RTT hugs the base makes trust, a queue takes it. Returns q, us. */
MPCC_INLINE u32 joule_weigh(struct joule *j, u32 mean, u32 now_us, u32 now_ms, u32 history_us,
                            u32 precise)
{
	u32 base = joule_base(j), h = joule_tolerance(j), q;
	u64 time = mpcc_min(now_us - j->began_us, MPCC_RTT_MAX_US * 4);

	/* while nothing has drained the queue, an old base is better than none */
	if (!j->base_us[0] ||
	    now_ms - j->base_ms > (j->drained ? JOULE_BUCKET_MS : 8U * JOULE_BUCKET_MS)) {
		j->drained = 0;
		j->base_us[1] = j->base_us[0];
		j->base_us[0] = mean;
		j->base_ms = now_ms;
	}
	if (j->base_us[1] && mean + h < base)
		j->trust = 0;
	/* the first base is one round's: where RTTs spread it is replaced by the first mean that is precise */
	if (precise && j->settled == JOULE_SETTLED) {
		j->base_us[0] = j->spread_us / 128 >= h ? mean : j->base_us[0];
		j->settled++;
	}
	j->base_us[0] = mpcc_min(j->base_us[0], mean);
	base = joule_base(j);
	h = joule_tolerance(j);
	q = mean > base ? mean - base : 0;
	if (j->queued >= 4 && now_ms - j->queue_ms > JOULE_BUCKET_MS)
		j->queued = 0;
	if (precise && j->queued < 4 && q <= h &&
	    (!history_us || mean < mpcc_add_saturating(history_us, history_us / 4 + h))) {
		u64 gain = time * 50 / base;

		j->trust += (u32)(gain < time / 1000 ? gain : time / 1000);
	} else if (q > joule_target(j)) {
		u64 loss = time * 50 / base;

		j->trust -= loss < j->trust ? (u32)loss : j->trust;
	}
	j->trust = mpcc_min(j->trust, (s32)(j->blocked_ms - now_ms) > 0 && j->blocks
	                                      ? JOULE_TRUSTED - 1
	                                      : 2 * JOULE_TRUSTED);
	return q;
}

#endif
