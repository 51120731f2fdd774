/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * EEMPTCP, energy-efficient MPTCP: Wang, Wang and Wang, IEEE Access 2018, section IV.C, eq. (8).
 *
 *                     1       beta_r                    omega_r       w_r
 *   delta = min( A , --- ) + --------      beta_r  =  ----------- -  -----      loss: w_r <- max(w_r / 2, 2)
 *                    w_r       w_r                     sum omega       W
 *
 *   omega_r = tau_r * alpha_r * g(p_r):  the window that would carry the target share alpha_r (target_share)
 *   g = inv_p (literal):  1 / p_r = l_r, packets between losses        g = inv_delivery:  1 / (1 - p_r)
 *
 * Deviations
 *   - the paper does not define p_r: it is 1 / l_r, or the control plane's value; 1e-5 <= p_r <= 0.5.
 *   - while no target share is known (all 0) it equals LIA.
 *   - recomputed as rarely as LIA, see lia.h.
 *   - `cap_total` also bounds the sum by 1/w_r, as goal 2 of RFC 6356 asks; as printed only LIA's part is
 *     bounded.
 */
#ifndef MPCC_EEMPTCP_H
#define MPCC_EEMPTCP_H

#include "lia.h"

#define EEMPTCP_PARAMS(X)                                                                 \
	X(EEMPTCP_G, "g", EEMPTCP_INV_P, 1, 0, 1, "inv_p=0 inv_delivery=1",               \
	  "window wanted for a rate: rate * RTT / p as printed, or rate * RTT / (1 - p)") \
	X(EEMPTCP_CAP_TOTAL, "cap_total", 0, 1, 0, 1, "off=0 on=1",                       \
	  "never grow faster than one TCP on the path")
enum eemptcp_g { EEMPTCP_INV_P, EEMPTCP_INV_DELIVERY };
enum { EEMPTCP_PARAMS(MPCC_PARAM_ID) EEMPTCP_PARAM_COUNT };
enum { EEMPTCP_PARAMS(MPCC_PARAM_DEFAULT) };

#define EEMPTCP_G_SHIFT    20 /* bits of headroom above tau * alpha (44 bits) */
#define EEMPTCP_P_TO_SHIFT (MPCC_LOSS_BITS - EEMPTCP_G_SHIFT)

/* volume / p, p in Q30, volume below 2^44. Keeps all bits if they fit. */
MPCC_INLINE u64 eemptcp_over_loss(u64 volume, u32 p)
{
	if (volume >> (64 - MPCC_LOSS_BITS))
		return (volume << EEMPTCP_G_SHIFT) / p << EEMPTCP_P_TO_SHIFT;
	return (volume << MPCC_LOSS_BITS) / p;
}

/* omega_r in us * Q20 packets, at most 2^60. */
MPCC_FUNC u64 eemptcp_target(const struct mpcc_conn *conn, u32 k)
{
	MPCC_REQUIRE(conn);
	const struct mpcc_subflow *sub = &conn->sub[MPCC_SLOT(k)];
	u64 share = mpcc_min(sub->own.target_share, 1U << MPCC_SHARE_BITS);
	u64 volume = mpcc_rtt(sub) * share;
	u32 p = mpcc_loss_probability(&sub->own);

	if (MPCC_PARAM(conn, EEMPTCP_G) == EEMPTCP_INV_DELIVERY)
		return (volume << EEMPTCP_G_SHIFT) / ((MPCC_LOSS_ONE - p) >> EEMPTCP_P_TO_SHIFT);
	if (sub->own.loss)
		return eemptcp_over_loss(volume, p);
	return volume * mpcc_clamp(mpcc_loss_interval(&sub->own), MPCC_LOSS_INTERVAL_MIN,
	                           MPCC_LOSS_INTERVAL_MAX);
}

/* beta_r / w_r in Q32 packets. */
MPCC_INLINE s64 eemptcp_shift_term(const struct mpcc_conn *conn, u32 self)
{
	u32 w = mpcc_window(&conn->sub[self]), wanted, had;
	u64 targets = 0;

	mpcc_for_each (conn, k)
		targets += eemptcp_target(conn, k);
	if (!targets)
		return 0;
	wanted = mpcc_ratio(eemptcp_target(conn, self), targets);
	had = mpcc_ratio(w, mpcc_total_window(conn));
	/*
	 *     wanted - had
	 *    --------------
	 *          w
	 */
	if (wanted >= had)
		return (s64)(((u64)(wanted - had) << (MPCC_PACKET_BITS - MPCC_RATIO_BITS)) / w);
	return -(s64)(((u64)(had - wanted) << (MPCC_PACKET_BITS - MPCC_RATIO_BITS)) / w);
}

MPCC_INLINE s64 eemptcp_increase(const struct mpcc_conn *conn, u32 self)
{
	s64 cap = mpcc_reno(conn, self), total;

	if (mpcc_alone(conn, self))
		return cap;
	total = mpcc_min_s64(lia_coupled_increase(conn, self), cap) +
	        eemptcp_shift_term(conn, self);
	return MPCC_PARAM(conn, EEMPTCP_CAP_TOTAL) ? mpcc_min_s64(total, cap) : total;
}

MPCC_CAPABILITIES(eemptcp, MPCC_READS_TARGET_SHARE);

static const struct mpcc_ops mpcc_ops_eemptcp = {
	.name = "eemptcp",
	.title = "EEMPTCP",
	.paper = "Wang, Wang and Wang, IEEE Access 2018",
	.summary = "LIA plus a shift of window towards the energy-optimal split",
	.confidence = "V",
	.capabilities = mpcc_capabilities_eemptcp,
	.min_cwnd = 1,
	.cache_acks = LIA_CACHE_ACKS,
	.increase = eemptcp_increase,
};

#endif
