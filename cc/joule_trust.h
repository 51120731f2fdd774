/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * joule_trust.h - joule.h's evidence of an empty queue: the mean RTT.
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

/* ---- trust ----------------------------------------------------------------------------------- */

/* Time with the RTT near the base earns trust, a queue costs trust. Returns q, us. */
MPCC_INLINE u32 joule_weigh(struct joule *j, u32 mean, u32 now_us, u32 now_ms, u32 history_us,
                            u32 precise)
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
	if (precise && q <= h &&
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
