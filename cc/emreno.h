/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * emReno (recon.): Pham, Vo and Le, SigTelCom 2017.
 *
 *             e_min     w_r / tau_r^2
 *   delta =  ------- * ---------------          loss: w_r <- max(w_r / 2, 2)
 *              e_r          X^2
 *
 * Reconstruction: known is that the increase is inversely proportional to the path's energy cost and built on
 * "mReno"; OLIA's first term is taken for that. e_r: energy per delivered bit, told by the control plane.
 *
 * Deviations
 *   - unknown costs (0) leave the increase as it is.
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
