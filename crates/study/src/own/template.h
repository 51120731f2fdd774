/*
 * name_.h - one sentence: what the controller does, and why.
 *
 *   delta_r = WEIGHT / w_r        for each acknowledged packet, in packets
 *   loss: w_r <- max(w_r / 2, 2)
 *
 * The contract is cc/mpcc.h: C11 without floating point, without libc and without variables that outlive a
 * call. Every state must give a defined result. A controller may read the whole connection but writes only to
 * conn->sub[self]. The headers in cc/ are examples, and can be included.
 *
 *   joulepath cc check name_.h                  checks the contract and the examples below
 *   joulepath compare FILE --cc name_.h         compares it with the scenario's own policies
 *
 * Increase of each window for one packet, computed by hand: 0.5 / 10 = 0.05 and 0.5 / 20 = 0.025.
 *
 * EXAMPLE 10@50ms 20@80ms -> 0.0500 0.0250
 */
#ifndef MPCC_NAME_H
#define MPCC_NAME_H

#include "mpcc_run.h"

/* Set by `mptcp[cc=name_,weight=0.25]`: id, name, default, minimum, maximum, scale, words, description. */
#define NAME_PARAMS(X)                                   \
	X(NAME_WEIGHT, "weight", 500, 1, 1000, 1000, "", \
	  "increase, as a part of NewReno's, 0.001 to 1")

enum { NAME_PARAMS(MPCC_PARAM_ID) };
enum { NAME_PARAMS(MPCC_PARAM_DEFAULT) };

#define NAME_SCALE 1000 /* of the weight */

/*
 * Window increase for ONE acknowledged packet in congestion avoidance, in packets times 2^32. `self` is the
 * subflow; mpcc_reno() is 1 / w. The function may read all conn->n subflows in conn->sub[]; subflows for
 * which mpcc_counts() is true have a window and an RTT.
 */
MPCC_INLINE s64 name__increase(const struct mpcc_conn *conn, u32 self)
{
	return mpcc_scale(mpcc_reno(conn, self), (u32)MPCC_PARAM(conn, NAME_WEIGHT), NAME_SCALE);
}

/* Data that it reads from siblings; mpcc.h has the flags. This controller reads none. */
MPCC_CAPABILITIES(name_, MPCC_UNCOUPLED);

static const struct mpcc_ops mpcc_ops_name_ = {
	.name = "name_",
	.title = "NAME",
	.paper = "unpublished",
	.summary = "NewReno on every subflow with a part of its increase",
	.confidence = "R", /* V verified, N recomputed, L from the literature, R a reconstruction */
	.capabilities = mpcc_capabilities_name_,
	.min_cwnd = 1,
	.increase = name__increase,
	/* .ssthresh, .init, .ack, .round, .loss, .restart: mpcc.h says when they are called */
};

#endif
