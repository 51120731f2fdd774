/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * bbr3_losses.h - what BBRv3 does on losses: the long-term window, and the return to the state before a
 * spurious loss episode. Equations, source and deviations are in bbr3.h.
 */
#ifndef MPCC_BBR3_LOSSES_H
#define MPCC_BBR3_LOSSES_H

#include "bbr3_model.h"

/* Packets in flight at the departure of the packet that this event covers, and those lost since then. */
MPCC_INLINE u32 bbr3_flight(const struct bbr3 *b, const struct mpcc_event *event)
{
	return mpcc_add_saturating(event->delivered, b->lost);
}

MPCC_INLINE u32 bbr3_loses_much(const struct mpcc_conn *conn, const struct bbr3 *b,
                                const struct mpcc_event *event)
{
	return b->lost > bbr3_part(bbr3_flight(b, event), MPCC_PARAM(conn, BBR3_LOSS));
}

/* Counts new losses. Too many of them in a probe reduce the long-term window and end the probe. */
MPCC_FUNC u32 bbr3_losses(const struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                          const struct mpcc_event *event, u32 when)
{
	MPCC_REQUIRE(conn);
	MPCC_REQUIRE(b);
	MPCC_REQUIRE(event);
	if (!b->lossy) {
		b->loss_until = event->total_delivered;
		b->lost = b->loss_events = 0;
	}
	if (!b->lossy || event->flags & (MPCC_EPISODE | MPCC_TIMED_OUT)) {
		b->undo = BBR3_NEVER;
		b->undo_rate = b->short_rate;
		b->undo_short = b->short_cwnd;
		b->undo_long = b->long_cwnd;
	}
	b->lossy = 1;
	b->lost = mpcc_add_saturating(b->lost, event->lost);
	b->loss_events = (unsigned char)mpcc_min(b->loss_events + 1U, BBR3_FULL_LOSSES);
	if (!b->samples || !bbr3_loses_much(conn, b, event))
		return 0;
	b->samples = 0;
	b->too_high = 1;
	if (!(when & BBR3_LIMITED))
		b->long_cwnd = mpcc_max(bbr3_flight(b, event),
		                        bbr3_part(bbr3_target(b), MPCC_PARAM(conn, BBR3_BETA)));
	if (b->state == BBR3_UP) {
		b->undo = BBR3_UP;
		bbr3_down(conn, self, b, event);
	}
	return 0;
}

/* The latest loss episode was spurious: its bounds and its change of state are taken back. */
MPCC_INLINE void bbr3_take_back(struct bbr3 *b, const struct mpcc_event *event)
{
	u32 undo = b->undo;

	b->lossy = 0;
	bbr3_seek_full(b, 0);
	b->short_rate = mpcc_max(b->short_rate, b->undo_rate);
	b->short_cwnd = mpcc_max(b->short_cwnd, b->undo_short);
	b->long_cwnd = mpcc_max(b->long_cwnd, b->undo_long);
	b->undo = BBR3_NEVER;
	if (undo == BBR3_STARTUP && b->state != BBR3_STARTUP) {
		b->filled = 0;
		if (b->state != BBR3_PROBE_RTT)
			b->state = BBR3_STARTUP;
	} else if (undo == BBR3_UP && b->state != BBR3_UP && b->state != BBR3_PROBE_RTT) {
		bbr3_refill(b, event);
	}
}

/* Advances the phases of a probe and raises the long-term window. True if it has started another probe. */
MPCC_FUNC u32 bbr3_bound(const struct mpcc_conn *conn, struct bbr3 *b,
                         const struct mpcc_event *event, u32 when)
{
	MPCC_REQUIRE(conn);
	MPCC_REQUIRE(b);
	MPCC_REQUIRE(event);
	u32 begins = when & BBR3_BEGINS;

	if (begins && b->acks == BBR3_ACKS_STARTING) {
		b->acks = BBR3_ACKS_FEEDBACK;
	} else if (begins && b->acks == BBR3_ACKS_STOPPING) {
		b->samples = 0;
		b->acks = BBR3_ACKS_NONE;
		if (b->state != BBR3_PROBE_RTT && !(when & BBR3_LIMITED)) {
			b->rate[1] = b->rate[0];
			b->rate[0] = 0;
			b->advanced = 1;
		}
		if (b->state != BBR3_PROBE_RTT && b->early && !b->too_high) {
			bbr3_refill(b, event);
			return 1;
		}
	}
	if (b->long_cwnd == BBR3_NONE || bbr3_loses_much(conn, b, event))
		return 0;
	b->long_cwnd = mpcc_max(b->long_cwnd, bbr3_flight(b, event));
	if (b->state != BBR3_UP || !(event->flags & MPCC_CWND_LIMITED) || b->cwnd < b->long_cwnd)
		return 0;
	b->up_every = mpcc_max(b->up_every, 1);
	b->up_acks += event->acked;
	if (b->up_acks >= b->up_every) {
		b->long_cwnd = mpcc_min(b->long_cwnd + b->up_acks / b->up_every, MPCC_CWND_MAX);
		b->up_acks %= b->up_every;
	}
	if (begins)
		bbr3_steeper(b);
	return 0;
}

#endif
