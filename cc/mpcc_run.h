/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * mpcc_run.h - the bookkeeping around a controller: one source for the simulator's glue and the eBPF wrappers
 *
 *   ACK  -> mpcc_observe()    RTT, rounds, packets since the last loss; hooks ack and round
 *        -> mpcc_slow_start() while cwnd < ssthresh, +1 per packet
 *        -> mpcc_avoid()      congestion avoidance for the remaining packets
 *   loss -> mpcc_loss()       the new ssthresh; the caller sets cwnd
 *
 * A controller that owns its window needs only mpcc_init() and one function for all events:
 *   mpcc_control()            RTT, packets since the last loss; hook control
 *
 * The engine or the kernel's wrapper writes srtt_us, now_us and flags before the call.
 */
#ifndef MPCC_RUN_H
#define MPCC_RUN_H

#include "mpcc.h"

/* A subflow starts in slot `self`. The slot's control-plane values stay. */
MPCC_INLINE void mpcc_init(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self)
{
	struct mpcc_own *own = &conn->sub[self].own;
	const struct mpcc_own told = *own;

	*own = (struct mpcc_own){
		.energy_cost = told.energy_cost,
		.target_share = told.target_share,
		.path_price = told.path_price,
		.loss = told.loss,
	};
	if (ops->control) {
		own->group = told.group;
		own->history_rtt_us = told.history_rtt_us;
	}
	if (ops->init)
		ops->init(conn, self);
}

/* Adds an RTT sample to the minimum and to the round's statistics. */
MPCC_INLINE void mpcc_sample_rtt(struct mpcc_own *own, u32 rtt_us, u32 in_round)
{
	if (!own->base_rtt_us || rtt_us < own->base_rtt_us)
		own->base_rtt_us = rtt_us;
	if (!in_round)
		return;
	if (!own->rtt_min_us || rtt_us < own->rtt_min_us)
		own->rtt_min_us = rtt_us;
	own->rtt_sum_us += rtt_us;
	own->rtt_count++;
}

/*
 * Keeps the round's statistics for controllers that read them. RTT samples during loss recovery may belong to
 * retransmissions: they are left out, unless the controller acts in every state.
 */
MPCC_INLINE void mpcc_observe_rtt(const struct mpcc_ops *ops, struct mpcc_subflow *sub, u32 rtt_us)
{
	u32 in_round = (ops->capabilities & MPCC_READS_DELAY) &&
	               (ops->control || !(sub->flags & (MPCC_RECOVERY | MPCC_LOSS)));

	sub->own.last_rtt_us = rtt_us;
	mpcc_sample_rtt(&sub->own, rtt_us, in_round);
}

/* Restarts the round's statistics, if the controller reads them. */
MPCC_INLINE void mpcc_forget_round(const struct mpcc_ops *ops, struct mpcc_own *own)
{
	if (!(ops->capabilities & MPCC_READS_DELAY))
		return;
	own->rtt_sum_us = 0;
	own->rtt_count = 0;
	own->rtt_min_us = 0;
}

MPCC_INLINE void mpcc_observe(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self,
                              const struct mpcc_event *event)
{
	struct mpcc_own *own = &conn->sub[self].own;

	own->acked_since_loss = mpcc_add_saturating(own->acked_since_loss, event->acked);
	if (event->rtt_us) {
		mpcc_observe_rtt(ops, &conn->sub[self], mpcc_min(event->rtt_us, MPCC_RTT_MAX_US));
		if (ops->sample)
			ops->sample(own, event->rtt_us);
	}
	if (ops->ack)
		ops->ack(conn, self, event);
	if (event->flags & MPCC_ROUND_END && !ops->control) {
		if (ops->round)
			ops->round(conn, self, event);
		mpcc_forget_round(ops, own);
	}
}

/* Grows cwnd by one per acked packet up to ssthresh; returns the packets left for congestion avoidance. */
MPCC_INLINE u32 mpcc_slow_start(struct mpcc_subflow *sub, u32 acked)
{
	u32 limit = mpcc_min(sub->ssthresh, MPCC_CWND_MAX);
	u32 room = sub->cwnd < limit ? limit - sub->cwnd : 0;
	u32 used = mpcc_min(room, acked);

	sub->cwnd += used;
	return acked - used;
}

/* The increase for one packet, reused if the controller permits it. */
MPCC_INLINE s64 mpcc_step(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self, u32 acked)
{
	struct mpcc_subflow *sub = &conn->sub[self];
	struct mpcc_own *own = &sub->own;

	if (!ops->cache_acks)
		return ops->increase(conn, self);
	if (own->cache_left >= acked && own->cached_cwnd == sub->cwnd) {
		own->cache_left -= acked;
		return own->cached_step;
	}
	own->cached_step = ops->increase(conn, self);
	own->cached_cwnd = sub->cwnd;
	own->cache_left = ops->cache_acks - mpcc_min(ops->cache_acks, acked);
	return own->cached_step;
}

/* Q32 packets: the fraction of a packet after `packets` increases by `step`, whole packets included. */
MPCC_INLINE s64 mpcc_grown(const struct mpcc_own *own, s64 step, u32 packets)
{
	return own->acc + step * (s64)packets;
}

/* Adds `packets` increases to the fraction and moves whole packets into cwnd. */
MPCC_INLINE void mpcc_add(const struct mpcc_ops *ops, struct mpcc_subflow *sub, s64 step,
                          u32 packets)
{
	struct mpcc_own *own = &sub->own;

	own->acc = mpcc_grown(own, step, packets);
	if (own->acc >= MPCC_PACKET) {
		u64 whole = (u64)own->acc >> MPCC_PACKET_BITS;

		own->acc &= MPCC_PACKET - 1;
		sub->cwnd = (u32)(sub->cwnd + whole < MPCC_CWND_MAX ? sub->cwnd + whole
		                                                    : MPCC_CWND_MAX);
	} else if (own->acc <= -MPCC_PACKET) {
		u64 whole = (u64)-own->acc >> MPCC_PACKET_BITS;

		own->acc += (s64)(whole << MPCC_PACKET_BITS);
		sub->cwnd = sub->cwnd > whole + ops->min_cwnd ? (u32)(sub->cwnd - whole)
		                                              : mpcc_min(sub->cwnd, ops->min_cwnd);
		/* Below ssthresh, slow start would undo the decrease. */
		sub->ssthresh = mpcc_min(sub->ssthresh, sub->cwnd);
	}
}

/*
 * Number of increases for one ACK of `acked` packets. A delayed ACK of two packets counts once with
 * growth=acks. `params`: those of the connection.
 */
MPCC_INLINE u32 mpcc_counted(const struct mpcc_ops *ops, const s32 *params, u32 acked)
{
	u32 most = ops->growth && params[ops->growth - 1] ? 1 : MPCC_CWND_MAX;

	return mpcc_min(acked, most);
}

/* Congestion avoidance for an ACK of `acked` packets. */
MPCC_INLINE void mpcc_avoid(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self, u32 acked)
{
	u32 packets = mpcc_counted(ops, conn->param, acked);

	if (packets)
		mpcc_add(ops, &conn->sub[self], mpcc_step(ops, conn, self, packets), packets);
}

/*
 * One ACK, slow start included. No window grows in fast recovery, or unless cwnd is the limit.
 */
MPCC_INLINE void mpcc_ack(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self,
                          const struct mpcc_event *event)
{
	struct mpcc_subflow *sub = &conn->sub[self];

	mpcc_observe(ops, conn, self, event);
	if (ops->control)
		return;
	if ((sub->flags & MPCC_RECOVERY) || !(event->flags & MPCC_CWND_LIMITED))
		return;
	mpcc_avoid(ops, conn, self, mpcc_slow_start(sub, event->acked));
}

/*
 * The window after a loss, packets. Changes nothing. A controller that owns its window decides in `control`:
 * for it this returns the present window.
 */
MPCC_INLINE u32 mpcc_ssthresh(const struct mpcc_ops *ops, const struct mpcc_conn *conn, u32 self,
                              enum mpcc_loss_kind kind)
{
	if (ops->control)
		return mpcc_clamp(conn->sub[self].cwnd, 1, MPCC_CWND_MAX);
	return ops->ssthresh ? ops->ssthresh(conn, self, kind) : mpcc_half(conn, self);
}

/*
 * A loss episode starts. Call it once per window of data, before cwnd and flags change. Returns the new
 * ssthresh. The acked counts shift unless nothing was acked since the last loss, or a timeout follows a
 * timeout.
 */
MPCC_INLINE u32 mpcc_loss(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self,
                          enum mpcc_loss_kind kind)
{
	struct mpcc_subflow *sub = &conn->sub[self];
	struct mpcc_own *own = &sub->own;
	u32 ssthresh = mpcc_ssthresh(ops, conn, self, kind);

	if (ops->loss)
		ops->loss(conn, self, kind);
	if (own->acked_since_loss && !(kind == MPCC_TIMEOUT && (sub->flags & MPCC_LOSS))) {
		own->acked_between_losses = own->acked_since_loss;
		own->acked_since_loss = 0;
	}
	own->acc = 0;
	if (!ops->control)
		own->cache_left = 0;
	return ssthresh;
}

/* Sending restarts after idle: the round's statistics are stale. */
MPCC_INLINE void mpcc_restart(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self)
{
	struct mpcc_own *own = &conn->sub[self].own;

	mpcc_forget_round(ops, own);
	if (!ops->control)
		own->cache_left = 0;
	if (ops->restart)
		ops->restart(conn, self);
}

/*
 * An event of a subflow whose controller owns the window: an ACK in any state, a timeout, a start, a restart
 * (enum mpcc_event_flags). The runner updates now_us, srtt_us and flags, calls this once per event, then
 * sends as cwnd and own.pacing_rate permit. The area is all zero at MPCC_STARTS.
 */
MPCC_INLINE void mpcc_control(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self,
                              const struct mpcc_event *event, struct mpcc_area *area)
{
	struct mpcc_subflow *sub = &conn->sub[self];

	if (!ops->control)
		return;
	if (event->flags & MPCC_RESTARTS)
		mpcc_restart(ops, conn, self);
	if (event->flags & (MPCC_EPISODE | MPCC_TIMED_OUT))
		mpcc_loss(ops, conn, self,
		          event->flags & MPCC_TIMED_OUT ? MPCC_TIMEOUT : MPCC_FAST_RETRANSMIT);
	mpcc_observe(ops, conn, self, event);
	ops->control(conn, self, event, area);
	if (event->flags & MPCC_ROUND_END)
		mpcc_forget_round(ops, &sub->own);
	sub->cwnd = mpcc_clamp(sub->cwnd, 1, MPCC_CWND_MAX);
	sub->ssthresh = mpcc_max(sub->ssthresh, 1);
}

#endif
