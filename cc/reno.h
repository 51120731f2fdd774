/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * NewReno on every subflow ("uncoupled"): RFC 5681, RFC 6582.
 *
 *             1
 *   delta =  ---                    loss: w_r <- max(w_r / 2, 2)
 *            w_r
 *
 * Deviations: none. At a shared bottleneck n subflows take the share of n TCPs.
 */
#ifndef MPCC_RENO_H
#define MPCC_RENO_H

#include "mpcc_run.h"

#define RENO_PARAMS(X) MPCC_GROWTH(X, RENO_GROWTH)
enum { RENO_PARAMS(MPCC_PARAM_ID) RENO_PARAM_COUNT };
enum { RENO_PARAMS(MPCC_PARAM_DEFAULT) };

MPCC_CAPABILITIES(reno, MPCC_UNCOUPLED);

static const struct mpcc_ops mpcc_ops_reno = {
	.name = "reno",
	.title = "Reno",
	.paper = "RFC 5681, RFC 6582",
	.summary = "NewReno on every subflow, uncoupled",
	.confidence = "V",
	.capabilities = mpcc_capabilities_reno,
	.growth = RENO_GROWTH + 1,
	.min_cwnd = 1,
	.cache_acks = MPCC_CACHE_BY_WINDOW,
	.increase = mpcc_reno,
};

#endif
