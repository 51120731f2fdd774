/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * DTS, delay-based traffic shifting: Zhao, Liu and Wang, ICDCS 2017, eq. (3) and (5), Algorithm 1.
 *
 *                        w_r / tau_r^2                              2                           base RTT
 *   delta = c * eps_r * ---------------          eps_r  =  --------------------,         u  =  ----------
 *                             X^2                           1 + e^(-10 (u - 1/2))                  RTT
 *
 *   loss: w_r <- max(w_r / 2, 2)
 *
 * Deviations
 *   - eps comes from a table of 33 points of the exact sigmoid, interpolated: error below 0.0024. The paper's
 *     integer polynomial misplaces a bracket: shape `literal` is the printed form, shape `intended` the
 *     corrected one.
 *   - base RTT starts at the first sample. Printed is a start at 0, with which u would stay 0.
 *   - 1/tau_r^2 and u use the latest RTT as Algorithm 1 does, X uses the smoothed RTTs; `rtt = smoothed` uses
 *     smoothed RTTs everywhere. The latest RTT counts as at least an eighth of the smoothed one.
 *   - an ACK changes the window by at most one packet; the polynomials' eps is clamped to -4 .. 4 (they have
 *     poles).
 */
#ifndef MPCC_DTS_H
#define MPCC_DTS_H

#include "mpcc_run.h"

#define DTS_PARAMS(X)                                                             \
	X(DTS_C, "c", 1000, 1, 4000, DTS_C_SCALE, "",                             \
	  "gain: 1 as published, 0.5 never exceeds one TCP")                      \
	X(DTS_RTT, "rtt", DTS_LATEST, 1, 0, 1, "latest=0 smoothed=1",             \
	  "RTT of the path in u and in 1/RTT^2")                                  \
	X(DTS_SHAPE, "shape", DTS_TABLE, 1, 0, 1, "table=0 intended=1 literal=2", \
	  "eps(u): the exact sigmoid, the cubic that was meant, or the polynomial as printed")
#define DTS_C_SCALE 1000
enum dts_rtt { DTS_LATEST, DTS_SMOOTHED };
enum dts_shape { DTS_TABLE, DTS_INTENDED, DTS_LITERAL };
enum { DTS_PARAMS(MPCC_PARAM_ID) DTS_PARAM_COUNT };
enum { DTS_PARAMS(MPCC_PARAM_DEFAULT) };

#define DTS_Q           16 /* Q16: u, eps */
#define DTS_ONE         (1U << DTS_Q)
#define DTS_TABLE_BITS  5 /* 32 intervals */
#define DTS_STEP_BITS   (DTS_Q - DTS_TABLE_BITS)
#define DTS_Z_BITS      10             /* Q10: z = 10 u - 5, within -5 .. 5 */
#define DTS_EPSILON_MAX (4LL << DTS_Q) /* bound of the polynomials */
#define DTS_RTT_RATIO   8U             /* latest RTT >= smoothed / 8 */

/* eps(i / 32) in Q16, i = 0 .. 32 */
static const u32 dts_sigmoid[(1 << DTS_TABLE_BITS) + 1] = {
	877,    1196,   1629,   2217,   3012,   4082,   5517,   7426,   9943,   13222,  17428,
	22713,  29190,  36884,  45698,  55379,  65536,  75693,  85374,  94188,  101882, 108359,
	113644, 117850, 121129, 123646, 125555, 126990, 128060, 128855, 129443, 129876, 130195,
};

MPCC_FUNC s64 dts_epsilon_table(u32 u)
{
	u32 last = (1U << DTS_TABLE_BITS) - 1, index = mpcc_min(u >> DTS_STEP_BITS, last) & last;
	u32 left = dts_sigmoid[index], right = dts_sigmoid[index + 1];

	return left + (s64)((u64)(right - left) * (u - (index << DTS_STEP_BITS)) >> DTS_STEP_BITS);
}

/* 2 N / (100 + N) in Q16, N in Q10, clamped to -4 .. 4. */
MPCC_INLINE s64 dts_fraction(s64 n)
{
	s64 den = n + (100LL << DTS_Z_BITS);
	u64 n_size = (u64)(n < 0 ? -n : n), den_size = (u64)(den < 0 ? -den : den);
	s64 size = den_size ? (s64)((2 * n_size << DTS_Q) / den_size) : DTS_EPSILON_MAX;

	size = mpcc_min_s64(size, DTS_EPSILON_MAX);
	return (n < 0) != (den < 0) ? -size : size;
}

/* z^2 in Q20 and |z|^3 in Q30 back to Q10. */
MPCC_INLINE s64 dts_square(s64 z)
{
	return z * z >> DTS_Z_BITS;
}

MPCC_INLINE s64 dts_cube(s64 z)
{
	s64 size = z < 0 ? -z : z, cube = size * size * size >> (2 * DTS_Z_BITS);

	return z < 0 ? -cube : cube;
}

/* N = 100 (1 + z) + 50 z^2 + 17 z^3 for z >= 0; eps(-z) = 2 - eps(z). */
MPCC_FUNC s64 dts_epsilon_intended(s64 z)
{
	s64 size = z < 0 ? -z : z;
	s64 n = 100 * ((1LL << DTS_Z_BITS) + size) + 50 * dts_square(size) + 17 * dts_cube(size);

	return z < 0 ? 2LL * DTS_ONE - dts_fraction(n) : dts_fraction(n);
}

/* N = 100 (1 + z + 50 z^2 + 17 z^3), as printed. */
MPCC_FUNC s64 dts_epsilon_literal(s64 z)
{
	return dts_fraction(100 *
	                    ((1LL << DTS_Z_BITS) + z + 50 * dts_square(z) + 17 * dts_cube(z)));
}

/* The path's RTT for u and 1/tau_r^2, us. */
MPCC_INLINE u32 dts_path_rtt(const struct mpcc_conn *conn, u32 self)
{
	const struct mpcc_subflow *sub = &conn->sub[self];
	u32 smoothed = mpcc_rtt(sub), latest = sub->own.last_rtt_us;

	if (MPCC_PARAM(conn, DTS_RTT) == DTS_SMOOTHED || !latest)
		return smoothed;
	return mpcc_clamp(latest, (smoothed + DTS_RTT_RATIO - 1) / DTS_RTT_RATIO, MPCC_RTT_MAX_US);
}

/* eps_r in Q16. */
MPCC_INLINE s64 dts_epsilon(const struct mpcc_conn *conn, u32 self)
{
	u32 rtt = dts_path_rtt(conn, self), base = conn->sub[self].own.base_rtt_us, u;
	s64 z;

	base = base ? mpcc_min(base, rtt) : rtt;
	u = (u32)(((u64)base << DTS_Q) / rtt);
	z = (s64)(10ULL * u >> (DTS_Q - DTS_Z_BITS)) - (5LL << DTS_Z_BITS);
	switch (MPCC_PARAM(conn, DTS_SHAPE)) {
	case DTS_INTENDED:
		return dts_epsilon_intended(z);
	case DTS_LITERAL:
		return dts_epsilon_literal(z);
	default:
		return dts_epsilon_table(u);
	}
}

MPCC_INLINE s64 dts_increase(const struct mpcc_conn *conn, u32 self)
{
	u64 gain = (u64)MPCC_PARAM(conn, DTS_C), size;
	s64 epsilon;

	if (mpcc_alone(conn, self))
		return mpcc_reno(conn, self);
	epsilon = dts_epsilon(conn, self);
	size = (u64)mpcc_rate_share(mpcc_window(&conn->sub[self]),
	                            mpcc_aggregate(conn, dts_path_rtt(conn, self)));
	/*   c eps (w / tau^2) / X^2   */
	size = size * (u64)(epsilon < 0 ? -epsilon : epsilon) >> DTS_Q;
	size = size * gain / DTS_C_SCALE;
	size = size < (u64)MPCC_PACKET ? size : (u64)MPCC_PACKET;
	return epsilon < 0 ? -(s64)size : (s64)size;
}

MPCC_CAPABILITIES(dts, MPCC_READS_DELAY);

static const struct mpcc_ops mpcc_ops_dts = {
	.name = "dts",
	.title = "DTS",
	.paper = "Zhao, Liu and Wang, ICDCS 2017",
	.summary = "OLIA's balance weighted by the emptiness of the path's queue",
	.confidence = "V",
	.capabilities = mpcc_capabilities_dts,
	.min_cwnd = 1,
	.increase = dts_increase,
};

#endif
