/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Coupled and its family: Kelly and Voice 2005; Han et al. 2006; Wischik et al., NSDI 2011, section 2.
 *
 *   classic (default):   delta = 1 / W            loss: w_r <- max(w_r - W / 2, 1)
 *
 *                                 w_r^(1 - eps)
 *   epsilon = 0 .. 2:    delta = ---------------  loss: w_r <- max(w_r / 2, 2)
 *                                  W^(2 - eps)
 *
 *   epsilon 0: w_r / W^2, the form of DTS' fluid model (seed); 1: 1 / W, Semicoupled with a = 1; 2: 1 / w_r,
 *   uncoupled.
 *
 * Deviations
 *   - classic and `seed` have the same fixed points; their dynamics differ by the factor w_r / W.
 *   - powers with a fractional eps use base-2 logarithms in Q16: relative error below 0.0005.
 */
#ifndef MPCC_COUPLED_H
#define MPCC_COUPLED_H

#include "mpcc_run.h"

#define COUPLED_PARAMS(X)                                                                         \
	X(COUPLED_EPSILON, "epsilon", COUPLED_CLASSIC, 0, COUPLED_UNCOUPLED, 1000,                \
	  "classic=-1 seed=0 semicoupled=1000 uncoupled=2000",                                    \
	  "member of the family: 0 fully coupled, 1 Semicoupled, 2 uncoupled; classic takes W/2 " \
	  "off at a loss")
/* epsilon in thousandths */
enum coupled_form {
	COUPLED_CLASSIC = -1,
	COUPLED_SEED = 0,
	COUPLED_SEMICOUPLED = 1000,
	COUPLED_UNCOUPLED = 2000,
};
enum { COUPLED_PARAMS(MPCC_PARAM_ID) COUPLED_PARAM_COUNT };
enum { COUPLED_PARAMS(MPCC_PARAM_DEFAULT) };

#define COUPLED_LOG_BITS 16 /* Q16 logarithms */
#define COUPLED_ONE_BITS 31 /* Q31 mantissas */
#define COUPLED_ONE      (1ULL << COUPLED_ONE_BITS)

/* 2^(2^-k) in Q31, k = 1 .. 16 */
static const u32 coupled_roots_of_two[COUPLED_LOG_BITS] = {
	3037000500U, 2553802834U, 2341847524U, 2242560872U, 2194507417U, 2170868212U,
	2159144272U, 2153306067U, 2150392887U, 2148937775U, 2148210589U, 2147847087U,
	2147665360U, 2147574502U, 2147529075U, 2147506361U,
};

/* log2(x) in Q16, x >= 1: one bit per squaring. */
MPCC_FUNC u64 coupled_log2(u32 x)
{
	u64 mantissa = x, log = COUPLED_ONE_BITS;

	for (u32 step = 0; step < COUPLED_ONE_BITS && mantissa < COUPLED_ONE; step++) {
		mantissa *= 2;
		log--;
	}
	for (u32 bit = 0; bit < COUPLED_LOG_BITS; bit++) {
		mantissa = mantissa * mantissa >> COUPLED_ONE_BITS;
		log *= 2;
		if (mantissa >= 2 * COUPLED_ONE) {
			mantissa /= 2;
			log++;
		}
	}
	return log;
}

/* 2^-y in Q32, y in Q16. */
MPCC_FUNC u64 coupled_exp2_negative(u64 y)
{
	u64 up = (y >> COUPLED_LOG_BITS) + 1,
	    fraction = (up << COUPLED_LOG_BITS) - y; /* y = up - fraction */
	u64 mantissa = COUPLED_ONE;

	if (fraction >> COUPLED_LOG_BITS) /* y is an integer */
		return up - 1 < 64 ? (u64)MPCC_PACKET >> (up - 1) : 0;
	for (u32 bit = 0; bit < COUPLED_LOG_BITS; bit++)
		if (fraction >> (COUPLED_LOG_BITS - 1 - bit) & 1)
			mantissa = mantissa * coupled_roots_of_two[bit] >> COUPLED_ONE_BITS;
	mantissa <<= MPCC_PACKET_BITS - COUPLED_ONE_BITS;
	return up < 64 ? mantissa >> up : 0;
}

MPCC_INLINE s64 coupled_increase(const struct mpcc_conn *conn, u32 self)
{
	s32 epsilon = MPCC_PARAM(conn, COUPLED_EPSILON);
	u64 log_w, log_total, y;
	u32 w, total;

	if (!mpcc_counts(&conn->sub[self]) || epsilon == COUPLED_UNCOUPLED)
		return mpcc_reno(conn, self);
	total = mpcc_total_window(conn);
	if (epsilon == COUPLED_CLASSIC || epsilon == COUPLED_SEMICOUPLED)
		return mpcc_reciprocal(total); /* alone: NewReno */
	if (mpcc_alone(conn, self))
		return mpcc_reno(conn, self);
	w = mpcc_window(&conn->sub[self]);
	if (epsilon == COUPLED_SEED)
		return mpcc_rate_share(w, (u64)total << MPCC_AGGREGATE_BITS);
	/*   -log2 delta = (2 - eps) log2 W + (eps - 1) log2 w   */
	log_w = coupled_log2(w);
	log_total = coupled_log2(total);
	y = (u64)(COUPLED_UNCOUPLED - epsilon) * log_total;
	if (epsilon >= COUPLED_SEMICOUPLED)
		y += (u64)(epsilon - COUPLED_SEMICOUPLED) * log_w;
	else
		y -= (u64)(COUPLED_SEMICOUPLED - epsilon) * log_w;
	return (s64)coupled_exp2_negative(y / 1000);
}

MPCC_INLINE u32 coupled_ssthresh(const struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind)
{
	u32 w = mpcc_window(&conn->sub[self]), decrease = (mpcc_total_window(conn) + 1) / 2;

	(void)kind;
	if (mpcc_alone(conn, self) || MPCC_PARAM(conn, COUPLED_EPSILON) != COUPLED_CLASSIC)
		return mpcc_half(conn, self);
	return w > decrease ? w - decrease : 1;
}

MPCC_CAPABILITIES(coupled, 0);

static const struct mpcc_ops mpcc_ops_coupled = {
	.name = "coupled",
	.title = "Coupled",
	.paper = "Kelly and Voice 2005; Han et al. 2006; Wischik et al., NSDI 2011",
	.summary = "all windows act as one: traffic moves to the paths of least loss",
	.confidence = "V",
	.capabilities = mpcc_capabilities_coupled,
	.min_cwnd = 1,
	.increase = coupled_increase,
	.ssthresh = coupled_ssthresh,
};

#endif
