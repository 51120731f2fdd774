/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * emReno (recon.): Pham, Vo and Le, SigTelCom 2017.
 *
 *             e_min     w_r / tau_r^2
 *   delta =  ------- * ---------------          loss: w_r <- max(w_r / 2, 2)
 *              e_r          X^2
 *
 * Reconstruction: the increase is known to be inversely proportional to the path's energy cost and to build
 * on "mReno". OLIA's first term stands for mReno's. e_r: energy per delivered bit, from the control plane.
 *
 * Deviations
 *   - an unknown cost (0) leaves the increase unchanged.
 */
#ifndef MPCC_EMRENO_H
#define MPCC_EMRENO_H

#include "olia.h"

#define EMRENO_PARAMS(X)

MPCC_INLINE s64 emreno_increase(const struct mpcc_conn *conn, u32 self)
{
	u32 cost = conn->sub[self].own.energy_cost;

	if (mpcc_alone(conn, self))
		return mpcc_reno(conn, self);
	if (!cost)
		return olia_rate_term(conn, self);
	return mpcc_scale(olia_rate_term(conn, self), mpcc_cheapest(conn), cost);
}

MPCC_CAPABILITIES(emreno, MPCC_READS_ENERGY_COST);

static const struct mpcc_ops mpcc_ops_emreno = {
	.name = "emreno",
	.title = "emReno",
	.paper = "Pham, Vo and Le, SigTelCom 2017",
	.summary = "increase inversely proportional to the path's energy cost",
	.confidence = "R",
	.capabilities = mpcc_capabilities_emreno,
	.min_cwnd = 1,
	.increase = emreno_increase,
};

#endif
