/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* cubic_curve.h - W_cubic(t) and its cube root in fixed point, part of cubic.h. */
#ifndef MPCC_CUBIC_CURVE_H
#define MPCC_CUBIC_CURVE_H

#include "mpcc.h"

#define CUBIC_TIME_BITS 14                 /* times in 2^-14 s = 61 us */
#define CUBIC_TIME_MAX  ((1ULL << 22) - 1) /* 2^-14 s: 256 s, cubes fit in 64 bits */
#define CUBIC_EPOCH_MAX 256000000ULL       /* us: the same */
#define CUBIC_CUBE_DROP 12                 /* bits dropped between square and cube */
#define CUBIC_Q         24                 /* Q24 packets */
#define CUBIC_US_PER_S  1000000U
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

#endif
