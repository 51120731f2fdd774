/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * ecMTCP (recon.): Le et al., IEEE Communications Letters 2012.
 *
 *                     e_min     1
 *   delta = min( A * ------- , --- )       A: LIA's       loss: w_r <- max(w_r / 2, 2)
 *                      e_r     w_r
 *
 *   ratio = default:   e_r = energy per delivered bit, from the control plane (energy_cost)
 *   ratio = delivery:  e_r = 1 / (1 - p_r)
 *   ratio = seed002:   factor p_r / p_h instead of e_min / e_r, h = arg max x_k; may exceed 1
 *
 * Reconstruction: the primary text was not available. Known: an energy-dependent bound joins LIA's, the lower
 * one applies, and DTS' authors model it by p_r / p_h. That last form favours lossy paths.
 *
 * Deviations
 *   - recomputed as rarely as LIA, see lia.h.
 *   - an unknown cost (0) leaves LIA's increase unchanged.
 *   - without an estimate from the control plane p = 1 / (packets between losses), within 1e-5 .. 0.5.
 */
#ifndef MPCC_ECMTCP_H
#define MPCC_ECMTCP_H

#include "lia.h"

#define ECMTCP_PARAMS(X)                                                                         \
	X(ECMTCP_RATIO, "ratio", ECMTCP_COST, 1, 0, 1, "default=0 delivery=1 seed002=2",         \
	  "what weighs LIA's increase: energy cost, delivery rate, or loss against the fastest " \
	  "path's")
enum ecmtcp_ratio { ECMTCP_COST, ECMTCP_DELIVERY, ECMTCP_SEED002 };
enum { ECMTCP_PARAMS(MPCC_PARAM_ID) ECMTCP_PARAM_COUNT };
enum { ECMTCP_PARAMS(MPCC_PARAM_DEFAULT) };

/* max_k (1 - p_k) in Q30. */
MPCC_FUNC u32 ecmtcp_best_delivery(const struct mpcc_conn *conn)
{
	MPCC_REQUIRE(conn);
	u32 best = 0;

	mpcc_for_each (conn, k)
		best = mpcc_max(best, MPCC_LOSS_ONE - mpcc_loss_probability(&conn->sub[k].own));
	return best;
}

MPCC_INLINE s64 ecmtcp_increase(const struct mpcc_conn *conn, u32 self)
{
	const struct mpcc_own *own = &conn->sub[self].own;
	s64 weighted;

	if (mpcc_alone(conn, self))
		return mpcc_reno(conn, self);
	weighted = lia_coupled_increase(conn, self);
	switch (MPCC_PARAM(conn, ECMTCP_RATIO)) {
	case ECMTCP_DELIVERY: /*  (1 - p_r) / max (1 - p)  */
		weighted = mpcc_scale(weighted, MPCC_LOSS_ONE - mpcc_loss_probability(own),
		                      ecmtcp_best_delivery(conn));
		break;
	case ECMTCP_SEED002: /*  p_r / p_h  */
		weighted =
			mpcc_scale(weighted, mpcc_loss_probability(own),
		                   mpcc_loss_probability(&conn->sub[mpcc_fastest(conn, self)].own));
		break;
	default: /*  e_min / e_r  */
		if (own->energy_cost)
			weighted = mpcc_scale(weighted, mpcc_cheapest(conn), own->energy_cost);
	}
	return mpcc_min_s64(weighted, mpcc_reno(conn, self));
}

MPCC_CAPABILITIES(ecmtcp, MPCC_READS_ENERGY_COST);

static const struct mpcc_ops mpcc_ops_ecmtcp = {
	.name = "ecmtcp",
	.title = "ecMTCP",
	.paper = "Le et al., IEEE Communications Letters 2012",
	.summary = "LIA weighed down on paths that cost more energy per bit",
	.confidence = "R",
	.capabilities = mpcc_capabilities_ecmtcp,
	.min_cwnd = 1,
	.cache_acks = LIA_CACHE_ACKS,
	.increase = ecmtcp_increase,
};

#endif
