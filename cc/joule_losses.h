/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * joule_losses.h - joule.h's evidence of congestion without a standing queue: losses that come in bursts
 * after growth, that follow the window, that come at a queue, or that exceed the usual loss probability.
 */
#ifndef MPCC_JOULE_LOSSES_H
#define MPCC_JOULE_LOSSES_H

#include "joule_trust.h"

/* Shrinks w_d; two strikes block trust for seconds. */
MPCC_INLINE void joule_strike(struct joule *j, u32 now_ms, u32 keep, u32 halves)
{
	j->low = (u32)((u64)j->low * keep >> 16);
	j->growth = 0;
	j->hold = JOULE_HOLD;
	j->strikes = mpcc_min(j->strikes + halves, 4) & 7;
	if (j->strikes < 4)
		return;
	j->strikes = 0;
	j->trust = 0;
	j->blocked_ms = now_ms + ((u32)JOULE_BLOCK_MS << mpcc_min(j->blocks, 4));
	j->blocks = mpcc_min(j->blocks + 1U, 4) & 7;
}

/* d^2 > 9 (p_base + 0.01) / n, all probabilities in Q16. */
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

/* d^2 > 4 p (1/n0 + 1/n1) */
MPCC_INLINE u32 joule_differs(u64 d, u64 p, u64 n0, u64 n1)
{
	return d && d * d > 4 * p * JOULE_ONE / n0 + 4 * p * JOULE_ONE / n1;
}

/*
 * A TCP's window is proportional to 1/sqrt(p), so competing TCPs keep 0.9 of their rate while p < 5/4
 * p_usual. While p_usual is too uncertain to decide, the window is the shadow's.
 */
MPCC_INLINE void joule_watch_level(const struct mpcc_conn *conn, struct joule *j, u32 now_ms)
{
	u32 high = j->trust >= JOULE_TRUSTED;
	unsigned short *count = high ? j->now : j->usual;
	u64 n0, n1, p0, p1, over;

	if (high != j->high) {
		j->high = high & 1;
		j->skip = 2;
		j->now[0] = j->now[1] = 0;
	}
	if (j->skip || !j->started || j->settled < JOULE_SETTLED) {
		j->skip = (u32)(j->skip - !!j->skip) & 3;
		return;
	}
	count[0] = (unsigned short)mpcc_min(count[0] + j->acked + j->lost, 60000);
	count[1] = (unsigned short)mpcc_min(count[1] + j->lost, count[0]);
	if (count[0] > JOULE_LEVEL_N) {
		count[0] /= 2;
		count[1] /= 2;
	}
	if (!high || j->now[0] < 32 || joule_without(conn, JOULE_LEVEL))
		return;
	n0 = mpcc_max(j->usual[0], 1);
	n1 = j->now[0];
	p0 = ((u64)j->usual[1] << 16) / n0;
	p1 = ((u64)j->now[1] << 16) / n1;
	over = p0 * 5 / 4 + JOULE_ONE / 128;
	if (p1 > JOULE_MOST && joule_differs(p1 - JOULE_MOST, p1, n1, 1ULL << 32)) {
		joule_strike(j, now_ms, JOULE_ONE / 2, 4);
	} else if (p1 > over) {
		u64 p = (((u64)j->usual[1] + j->now[1] + 1) << 16) / (n0 + n1);

		if (joule_differs(p1 - over, p, n0, n1)) {
			joule_strike(j, now_ms, JOULE_ONE / 2, 4);
		} else if (n1 > 4 * n0) {
			j->trust = 0;
			j->blocked_ms = now_ms + JOULE_PAUSE_MS;
			j->blocks = mpcc_max(j->blocks, 1) & 7;
		}
	}
}

/* Four rounds high, four low. The first round of each is skipped, because losses are known a round later. */
MPCC_INLINE void joule_watch_dither(struct joule *j, u32 now_ms)
{
	u32 high = j->phase < 4, skip = !(j->phase & 3);
	u64 n0, n1, p0, p1, p;

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
	p0 += JOULE_ONE / 100;
	if (p1 > p0 && joule_differs(p1 - p0, p, n0, n1))
		joule_strike(j, now_ms, JOULE_ONE * 7 / 8, 2);
	else if (j->strikes)
		j->strikes--;
	j->sent[0] = j->sent[1] = j->gone[0] = j->gone[1] = 0;
}

/* A loss or mark at a queue; judged once per round. */
MPCC_INLINE void joule_queue_loss(struct joule *j, u32 now_ms)
{
	j->judged = 1;
	j->queued = mpcc_min(j->queued + 1U, 8) & 15;
	j->queue_ms = now_ms;
	if (j->queued >= 4)
		j->trust = 0;
}

/*
 * Losses during a standing queue count as congestion, whatever the mean RTT is; so do marks. The RTT is then
 * above tau0 + Q + 2 s, or above Q and seven eighths of the way to the recent maximum (`top`). When these
 * losses outnumber the others by four, trust is blocked for 10 s.
 */
MPCC_INLINE void joule_watch_queue(struct joule *j, u64 *top, const struct mpcc_event *event,
                                   u32 now_ms)
{
	u32 base = joule_base(j), rtt = mpcc_min(event->rtt_us, MPCC_RTT_MAX_US), edge, off, most;

	if (j->mean_us && event->marked && !j->judged)
		joule_queue_loss(j, now_ms);
	if (!rtt || !j->mean_us)
		return;
	off = rtt > j->mean_us ? rtt - j->mean_us : j->mean_us - rtt;
	j->spread_us = j->spread_us - j->spread_us / 64 + off;
	*top = *top > rtt ? *top : rtt;
	if (!event->lost || j->judged)
		return;
	edge = joule_target(j) + 2 * mpcc_min(j->spread_us / 64, MPCC_RTT_MAX_US);
	edge += joule_is_high(j) ? base / 24 : 0;
	most = (u32)(*top < MPCC_RTT_MAX_US ? *top : MPCC_RTT_MAX_US);
	most = most > base ? (most - base) * 7 / 8 : 0;
	edge = base + mpcc_min(edge, mpcc_max(most, joule_target(j)));
	j->judged = 1;
	/* losses that are as frequent without a queue do not count either */
	if (rtt > edge &&
	    4ULL * j->lost * j->usual[0] < 5ULL * j->usual[1] * ((u64)j->acked + j->lost))
		return;
	if (rtt <= edge) {
		j->queued = (u32)(j->queued - !!j->queued) & 15;
		return;
	}
	joule_queue_loss(j, now_ms);
}

#endif
