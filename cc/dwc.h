/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * DWC, dynamic window coupling (recon.): Hassayoun, Iyengar and Ros, ICNP 2011.
 *
 *                  tau_r                1
 *   delta =  ----------------- * -------------            loss: w_r <- max(w_r / 2, 2)
 *             min_{k in g} tau_k    n_g * W_g
 *
 * g: the subflows that share a bottleneck with r; n_g: their number; W_g: the sum of their windows. A subflow
 * alone in its group behaves as NewReno.
 *
 * Reconstruction: only the increase is published (in fluid form). Detection: at a loss on i, subflow j joins
 * if j also lost within max(tau_i, tau_j) before it, or if j's latest RTT exceeds tau0_j + (taumax_j -
 * tau0_j) / 2; j leaves after 3 consecutive losses of i without either sign.
 *
 * Deviations
 *   - pull-only: each subflow keeps its own verdicts on its siblings. For a pair, the verdict of the subflow
 *     with the later loss counts (both if the times are equal). So the relation is symmetric although no
 *     subflow writes to a sibling.
 *   - if j loses shortly after i, j's own verdict covers it.
 *   - a group is a subflow and its direct companions, without the companions of those.
 *   - joining a group scales no window: W_g is the plain sum.
 *   - at most 1 packet per ACK, for RTT ratios above n_g W_g.
 */
#ifndef MPCC_DWC_H
#define MPCC_DWC_H

#include "mpcc_run.h"

#define DWC_PARAMS(X)                                                  \
	X(DWC_GROUPS, "groups", DWC_DETECT, 1, 0, 1, "detect=0 all=1", \
	  "which subflows are coupled: the ones that seem to share a bottleneck, or all")
enum dwc_groups { DWC_DETECT, DWC_ALL };
enum { DWC_PARAMS(MPCC_PARAM_ID) DWC_PARAM_COUNT };
enum { DWC_PARAMS(MPCC_PARAM_DEFAULT) };

enum dwc_wide { DWC_VERDICT /* us + 1: time of the verdicts (last loss, or start), 0 = none */ };
enum dwc_word {
	DWC_MEMBERS, /* bit k: k shares the bottleneck; DWC_HAS_LOST */
	DWC_MISSES,  /* DWC_MISS_BITS per sibling: consecutive losses without a sign of it */
	DWC_RTT_MAX, /* us */
};

#define DWC_HAS_LOST   (1U << 31) /* the verdict's time is a loss, not the subflow's start */
#define DWC_MISS_BITS  2U
#define DWC_MISS_MASK  3U
#define DWC_MISS_LIMIT 3U /* losses without a sign until the sibling leaves the group */

MPCC_FUNC u32 dwc_grouped(const struct mpcc_conn *conn, u32 i, u32 j)
{
	MPCC_REQUIRE(conn);
	const struct mpcc_own *a = &conn->sub[MPCC_SLOT(i)].own, *b = &conn->sub[MPCC_SLOT(j)].own;
	u32 a_says = a->word[DWC_MEMBERS] >> j & 1, b_says = b->word[DWC_MEMBERS] >> i & 1;

	if (a->wide[DWC_VERDICT] != b->wide[DWC_VERDICT])
		return a->wide[DWC_VERDICT] > b->wide[DWC_VERDICT] ? a_says : b_says;
	return a_says | b_says;
}

/* Consecutive losses of the pair without a common sign, by the later verdict. */
MPCC_FUNC u32 dwc_misses(const struct mpcc_conn *conn, u32 i, u32 j)
{
	MPCC_REQUIRE(conn);
	const struct mpcc_own *a = &conn->sub[MPCC_SLOT(i)].own, *b = &conn->sub[MPCC_SLOT(j)].own;

	if (a->wide[DWC_VERDICT] >= b->wide[DWC_VERDICT])
		return a->word[DWC_MISSES] >> (DWC_MISS_BITS * j) & DWC_MISS_MASK;
	return b->word[DWC_MISSES] >> (DWC_MISS_BITS * i) & DWC_MISS_MASK;
}

/* True if j shows congestion at a loss of i at this moment. */
MPCC_FUNC u32 dwc_sign(const struct mpcc_conn *conn, u32 i, u32 j)
{
	MPCC_REQUIRE(conn);
	const struct mpcc_subflow *sub = &conn->sub[MPCC_SLOT(j)];
	const struct mpcc_own *own = &sub->own;
	u32 window_us = mpcc_max(mpcc_rtt(&conn->sub[MPCC_SLOT(i)]), mpcc_rtt(sub));
	u32 rtt_max = own->word[DWC_RTT_MAX], base = own->base_rtt_us;

	if ((own->word[DWC_MEMBERS] & DWC_HAS_LOST) &&
	    conn->now_us + 1 - own->wide[DWC_VERDICT] <= window_us)
		return 1;
	return rtt_max > base && own->last_rtt_us > base + (rtt_max - base) / 2;
}

/* True if the sibling k is in self's group. */
MPCC_FUNC u32 dwc_coupled(const struct mpcc_conn *conn, u32 self, u32 k)
{
	MPCC_REQUIRE(conn);
	if (k == self || !mpcc_counts(&conn->sub[MPCC_SLOT(k)]))
		return 0;
	return MPCC_PARAM(conn, DWC_GROUPS) == DWC_ALL || dwc_grouped(conn, self, k);
}

MPCC_INLINE s64 dwc_increase(const struct mpcc_conn *conn, u32 self)
{
	u32 members = 1, total = mpcc_window(&conn->sub[self]);
	u32 tau = mpcc_rtt(&conn->sub[self]), tau_min = tau;

	if (mpcc_alone(conn, self))
		return mpcc_reno(conn, self);
	for (u32 k = 0; k < MPCC_MAX_SUBFLOWS && k < conn->n; k++) {
		u32 coupled = dwc_coupled(conn, self, k);
		const struct mpcc_subflow *sub = &conn->sub[coupled ? k : self];

		members += coupled;
		total += coupled * mpcc_window(sub);
		tau_min = mpcc_min(tau_min, mpcc_rtt(sub));
	}
	if (members == 1)
		return mpcc_reno(conn, self);
	/*   tau_r / (min tau * n_g * W_g)   */
	return mpcc_min_s64(
		(s64)(((u64)tau << MPCC_PACKET_BITS) / ((u64)tau_min * members * total)),
		MPCC_PACKET);
}

/* A new subflow shares no bottleneck, whatever its siblings concluded about the slot's previous subflow. */
MPCC_INLINE void dwc_init(struct mpcc_conn *conn, u32 self)
{
	conn->sub[self].own.wide[DWC_VERDICT] = conn->now_us + 1;
}

MPCC_INLINE void dwc_sample(struct mpcc_own *own, u32 rtt_us)
{
	own->word[DWC_RTT_MAX] = mpcc_max(own->word[DWC_RTT_MAX], rtt_us);
}

MPCC_INLINE void dwc_loss(struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind)
{
	struct mpcc_own *own = &conn->sub[self].own;
	u32 members = DWC_HAS_LOST, all_misses = 0;

	(void)kind;
	mpcc_for_each (conn, k) {
		u32 sign = dwc_sign(conn, self, k), misses;

		if (k == self)
			continue;
		misses = sign ? 0 : mpcc_min(dwc_misses(conn, self, k) + 1, DWC_MISS_LIMIT);
		if (sign || (dwc_grouped(conn, self, k) && misses < DWC_MISS_LIMIT))
			members |= 1U << k;
		all_misses |= misses << (DWC_MISS_BITS * k);
	}
	own->word[DWC_MEMBERS] = members;
	own->word[DWC_MISSES] = all_misses;
	own->wide[DWC_VERDICT] = conn->now_us + 1;
}

MPCC_CAPABILITIES(dwc, MPCC_READS_DELAY);

static const struct mpcc_ops mpcc_ops_dwc = {
	.name = "dwc",
	.title = "DWC",
	.paper = "Hassayoun, Iyengar and Ros, ICNP 2011",
	.summary = "couples only the subflows that seem to share a bottleneck",
	.confidence = "R",
	.capabilities = mpcc_capabilities_dwc,
	.min_cwnd = 1,
	.increase = dwc_increase,
	.init = dwc_init,
	.sample = dwc_sample,
	.loss = dwc_loss,
};

#endif
