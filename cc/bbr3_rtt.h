/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * bbr3_rtt.h - BBRv3's min RTT and the state PROBE_RTT, which measures it. Source and deviations are in
 * bbr3.h.
 */
#ifndef MPCC_BBR3_RTT_H
#define MPCC_BBR3_RTT_H

#include "bbr3_model.h"

MPCC_INLINE void bbr3_save_cwnd(struct bbr3 *b)
{
	u32 reduced = b->repairs || b->state == BBR3_PROBE_RTT;

	b->saved_cwnd = reduced ? mpcc_max(b->saved_cwnd, b->cwnd) : b->cwnd;
}

/* Minimum window of PROBE_RTT: half of the BDP, at least 4 packets. */
MPCC_INLINE u32 bbr3_probe_cwnd(const struct bbr3 *b)
{
	return mpcc_max(bbr3_inflight(b, bbr3_rate(b), bbr3_window_gain(BBR3_PROBE_RTT)),
	                BBR3_MIN_CWND);
}

MPCC_INLINE void bbr3_end_probe_rtt(struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                                    const struct mpcc_event *event)
{
	struct mpcc_subflow *sub = &conn->sub[MPCC_SLOT(self)];
	u32 now = (u32)conn->now_us;

	if (!b->timed || !mpcc_after(now, b->probe_end))
		return;
	b->recent_at = now;
	b->limited = 1;
	b->limited_until = event->total_delivered + event->in_flight;
	sub->cwnd = mpcc_max(sub->cwnd, b->saved_cwnd);
	bbr3_no_short_term(b);
	b->state = BBR3_STARTUP;
	if (b->filled) {
		bbr3_down(conn, self, b, event);
		b->state = BBR3_CRUISE;
	}
}

MPCC_INLINE void bbr3_probe_rtt(struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                                const struct mpcc_event *event, u32 begins)
{
	if (!b->timed && event->in_flight <= bbr3_probe_cwnd(b)) {
		b->timed = 1;
		b->probe_end = (u32)conn->now_us + BBR3_PROBE_RTT_US;
		b->round_until = event->total_delivered;
	} else if (b->timed && begins) {
		b->timed = 2;
	}
	if (b->timed == 2)
		bbr3_end_probe_rtt(conn, self, b, event);
}

/*
 * Takes the latest rate if no cycle of the max rate has ended since the last PROBE_RTT. If the queue was
 * longer than a BDP all the time, the path was full and delivered at its capacity: its rate has fallen.
 */
MPCC_INLINE void bbr3_believe_queue(struct bbr3 *b, u32 rtt)
{
	if (rtt / 2 <= b->rtt_us || !b->latest_rate)
		return;
	b->rate[0] = b->rate[1] = b->latest_rate;
	b->filled = 1;
}

/* Updates the min RTT and starts PROBE_RTT when due. The old min RTT holds until PROBE_RTT has measured a new
 * one. */
MPCC_FUNC u32 bbr3_watch_rtt(struct mpcc_conn *conn, u32 self, struct bbr3 *b,
                             const struct mpcc_event *event, u32 when)
{
	MPCC_REQUIRE(conn);
	MPCC_REQUIRE(b);
	MPCC_REQUIRE(event);
	u32 now = (u32)conn->now_us, rtt = mpcc_min(event->rtt_us, MPCC_RTT_MAX_US);
	u32 look = b->recent_rtt_us && now - b->recent_at > BBR3_PROBE_US;

	if (rtt && (!b->recent_rtt_us || rtt < b->recent_rtt_us || look)) {
		b->recent_rtt_us = rtt;
		b->recent_at = now;
	}
	if (look && b->state != BBR3_PROBE_RTT && !b->idle) {
		bbr3_save_cwnd(b);
		if (!b->advanced && !(event->flags & MPCC_APP_LIMITED))
			bbr3_believe_queue(b, rtt);
		b->advanced = 0;
		b->state = BBR3_PROBE_RTT;
		b->timed = 0;
		b->acks = BBR3_ACKS_STOPPING;
		b->round_until = event->total_delivered;
	}
	if (b->state == BBR3_PROBE_RTT)
		bbr3_probe_rtt(conn, self, b, event, when & BBR3_BEGINS);
	if (b->recent_rtt_us && (!b->rtt_us || b->recent_rtt_us < b->rtt_us ||
	                         (b->state != BBR3_PROBE_RTT && now - b->rtt_at > BBR3_RTT_US))) {
		b->rtt_us = b->recent_rtt_us;
		b->rtt_at = b->recent_at;
	}
	if (event->delivered)
		b->idle = 0;
	return 0;
}

#endif
