/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * hybrid - CUBIC while one subflow carries data, LIA while several do.
 *
 * A subflow carries data if it is established and has delivered a packet: a backup that was never used does
 * not count, nor does a closed subflow. When a second subflow starts to carry data, both follow LIA from
 * their present windows. When the others close, CUBIC starts from the present window as after a timeout: the
 * capacity is unknown.
 *
 * Deviations
 *   - none from the two that cubic.h and lia.h do not list. CUBIC has its default parameters.
 */
#ifndef MPCC_HYBRID_H
#define MPCC_HYBRID_H

#include "cubic.h"
#include "lia.h"

#define HYBRID_PARAMS(X)

/* True if no other subflow carries data. */
MPCC_FUNC u32 hybrid_alone(const struct mpcc_conn *conn, u32 self)
{
	MPCC_REQUIRE(conn);
	u32 others = 0;

	self = MPCC_SLOT(self);
	mpcc_for_each (conn, k)
		others += k != self && mpcc_loss_interval(&conn->sub[k].own);
	return !others || !mpcc_counts(&conn->sub[self]);
}

MPCC_INLINE s64 hybrid_increase(const struct mpcc_conn *conn, u32 self)
{
	return hybrid_alone(conn, self) ? cubic_increase(conn, self) : lia_increase(conn, self);
}

MPCC_INLINE u32 hybrid_ssthresh(const struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind)
{
	return hybrid_alone(conn, self) ? cubic_ssthresh(conn, self, kind) : mpcc_half(conn, self);
}

MPCC_INLINE void hybrid_loss(struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind)
{
	cubic_loss(conn, self, hybrid_alone(conn, self) ? kind : MPCC_TIMEOUT);
}

MPCC_INLINE void hybrid_ack(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event)
{
	if (hybrid_alone(conn, self))
		cubic_ack(conn, self, event);
	else
		cubic_loss(conn, self, MPCC_TIMEOUT);
}

MPCC_CAPABILITIES(hybrid, MPCC_ACKS_IN_SUM | MPCC_ENDS_SLOW_START);

static const struct mpcc_ops mpcc_ops_hybrid = {
	.name = "hybrid",
	.title = "CUBIC or LIA",
	.paper = "Joulepath; RFC 9438, RFC 6356",
	.summary = "CUBIC while one subflow carries data, LIA while several do",
	.confidence = "N",
	.capabilities = mpcc_capabilities_hybrid,
	.min_cwnd = 1,
	.increase = hybrid_increase,
	.ssthresh = hybrid_ssthresh,
	.ack = hybrid_ack,
	.loss = hybrid_loss,
	.restart = cubic_restart,
};

#endif
