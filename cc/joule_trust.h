/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * joule_trust.h - joule.h's evidence of an empty queue: the mean RTT, and drains with floor=detect.
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

/* True if the window alternates. Without losses there is nothing to measure. */
MPCC_INLINE u32 joule_dithers(const struct mpcc_conn *conn, const struct joule *j)
{
	return joule_is_high(j) && j->low >> JOULE_Q >= JOULE_DITHER_LEAST &&
	       j->p_base > JOULE_ONE / 2048 && !joule_without(conn, JOULE_DITHER);
}

/* Packets by which the window of a subflow exceeds its shadow. */
MPCC_INLINE u32 joule_excess(const struct mpcc_subflow *sub)
{
	u32 w = mpcc_min(sub->cwnd, MPCC_CWND_MAX),
	    share = sub->own.word[JOULE_SHARE] >> JOULE_SHARE_Q;

	return w > share + 1 ? w - share : 0;
}

/*
 * True if another subflow of the group blocks this subflow's trust (group=none, group=one). Each trusted
 * subflow leaves competing flows 9/10 of their rate. Two at one bottleneck break that, and neither detects
 * it: each takes the other's losses for usual ones.
 */
MPCC_FUNC u32 joule_gives_way(const struct mpcc_conn *conn, u32 self)
{
	MPCC_REQUIRE(conn);
	u32 slot = MPCC_SLOT(self), one = MPCC_PARAM(conn, JOULE_GROUP) == JOULE_GROUP_ONE, way = 0;
	const struct mpcc_subflow *own = &conn->sub[slot];
	u32 mine = joule_excess(own);

	if (!own->own.group || MPCC_PARAM(conn, JOULE_GROUP) == JOULE_GROUP_EACH)
		return 0;
	mpcc_for_each (conn, k) {
		const struct mpcc_subflow *sub = &conn->sub[k];
		u32 its = joule_excess(sub), more = its > mine || (its && its == mine && k < slot);

		if (k != slot && sub->own.group == own->own.group && (!one || more))
			way = 1;
	}
	return way;
}

/* ---- trust ----------------------------------------------------------------------------------- */

/* Time with the RTT near the base earns trust, a queue costs trust. Returns q, us. */
MPCC_INLINE u32 joule_weigh(struct joule *j, u32 mean, u32 now_us, u32 now_ms, u32 history_us,
                            u32 precise, u32 gives_way)
{
	u32 base = joule_base(j), h = joule_tolerance(j), q;
	u64 time = mpcc_min(now_us - j->began_us, MPCC_RTT_MAX_US * 4);

	/* an old base is kept until something drains the queue */
	if (!j->base_us[0] ||
	    now_ms - j->base_ms > (j->drained ? JOULE_BUCKET_MS : 8U * JOULE_BUCKET_MS)) {
		j->drained = 0;
		j->base_us[1] = j->base_us[0];
		j->base_us[0] = mean;
		j->base_ms = now_ms;
	}
	if (j->base_us[1] && mean + h < base)
		j->trust = 0;
	/* the first base comes from one round: with spread RTTs, the first precise mean replaces it */
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
	j->trust = mpcc_min(j->trust, gives_way || ((s32)(j->blocked_ms - now_ms) > 0 && j->blocks)
	                                      ? JOULE_TRUSTED - 1
	                                      : 2 * JOULE_TRUSTED);
	return q;
}

/*
 * floor=detect: an untrusted window drains for four epochs at intervals. If the RTT falls to the base, the
 * queue was our own. Four epochs of a queue while trusted mean that others keep one, until 20 epochs without.
 */
MPCC_INLINE void joule_detect(struct joule *j, u32 w, u32 mean, u32 q, u32 now_ms)
{
	u32 base = joule_base(j), queue = q > joule_target(j);

	j->full = queue ? mpcc_min(j->full + 1U, 4) & 7 : 0;
	j->calm = queue ? 0 : mpcc_min(j->calm + 1U, 20) & 31;
	if (j->full >= 4 && j->trust >= JOULE_TRUSTED)
		j->others = 1;
	if (j->calm >= 20)
		j->others = 0;
	if (j->drain) {
		j->drain--;
		if (q <= joule_tolerance(j)) {
			j->trust = 2 * JOULE_TRUSTED;
			j->low = w << JOULE_Q;
			j->others = 0, j->drain = j->waits = 0;
		} else if (!j->drain) {
			j->waits = mpcc_min(j->waits + 1U, 4) & 7;
		}
	} else if (j->trust < JOULE_TRUSTED && (s32)(now_ms - j->drain_ms) >= 0) {
		j->drain_ms = now_ms + ((u32)JOULE_DRAIN_MS << mpcc_min(j->waits, 4));
		if (mean > base + base / 8)
			j->drain = 4;
	}
}

#endif
