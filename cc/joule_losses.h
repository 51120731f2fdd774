/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * joule_losses.h - joule.h's evidence of congestion without a standing queue: losses that come in bursts
 * after growth, or that exceed the usual loss probability.
 */
#ifndef MPCC_JOULE_LOSSES_H
#define MPCC_JOULE_LOSSES_H

#include "joule_trust.h"

/* Shrinks w_d; two strikes block trust for seconds. */
MPCC_INLINE void joule_strike(struct joule *j, u32 now_ms, u32 keep, u32 strikes)
{
	j->low = (u32)((u64)j->low * keep >> 16);
	j->growth = 0;
	j->hold = JOULE_HOLD;
	j->strikes = mpcc_min(j->strikes + strikes, 2) & 3;
	if (j->strikes < 2)
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
		             d > JOULE_ONE / 5 ? 2 : 1);
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
MPCC_INLINE void joule_watch_level(struct joule *j, u32 now_ms)
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
	if (!high || j->now[0] < 32)
		return;
	n0 = mpcc_max(j->usual[0], 1);
	n1 = j->now[0];
	p0 = ((u64)j->usual[1] << 16) / n0;
	p1 = ((u64)j->now[1] << 16) / n1;
	over = p0 * 5 / 4 + JOULE_ONE / 128;
	if (p1 > JOULE_MOST && joule_differs(p1 - JOULE_MOST, p1, n1, 1ULL << 32)) {
		joule_strike(j, now_ms, JOULE_ONE / 2, 2);
	} else if (p1 > over) {
		u64 p = (((u64)j->usual[1] + j->now[1] + 1) << 16) / (n0 + n1);

		if (joule_differs(p1 - over, p, n0, n1)) {
			joule_strike(j, now_ms, JOULE_ONE / 2, 2);
		} else if (n1 > 4 * n0) {
			j->trust = 0;
			j->blocked_ms = now_ms + JOULE_PAUSE_MS;
			j->blocks = mpcc_max(j->blocks, 1) & 7;
		}
	}
}

#endif
