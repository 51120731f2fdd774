/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * TCP Prague on every subflow: draft-briscoe-iccrg-prague-congestion-control, for L4S (RFC 9330 to 9332).
 *
 *                                                              packets marked
 *   alpha <- alpha + (F - alpha) / 16, once per V,        F  =  --------------,      V = max(R, 25 ms)
 *                                                              packets acked
 *   mark: w <- max( w (1 - alpha / 2), 2 ), once per R
 *   loss: w <- max(w / 2, 2), once per R        timeout: w <- 1, slow start up to half of w
 *   each packet without a mark: w + (R / V)^2 / w, also while a reduction lasts, so flows of any R below
 *   25 ms get the same rate; in slow start w + 1
 *   pacing: w / R, in slow start 2 w / R
 *
 * It sends ECT(1), so an L4S queue takes it for L4S. As with Accurate ECN (RFC 9768) each mark counts.
 *
 * Deviations
 *   - it does not look for queues that mark L4S packets as rarely as others (RFC 3168), where it gets more
 *     than its share.
 */
#ifndef MPCC_PRAGUE_H
#define MPCC_PRAGUE_H

#include "mpcc_model.h"
#include "mpcc_run.h"

#define PRAGUE_PARAMS(X)                               \
	X(PRAGUE_RTT, "rtt", 25000, 1, 1000000, 1, "", \
	  "RTT in microseconds below which a flow grows as if it had this RTT")
enum { PRAGUE_PARAMS(MPCC_PARAM_ID) PRAGUE_PARAM_COUNT };
enum { PRAGUE_PARAMS(MPCC_PARAM_DEFAULT) };

#define PRAGUE_MIN_CWND    2U /* packets */
#define PRAGUE_GAIN_SHIFT  4  /* alpha learns 1/16 of a sample */
#define PRAGUE_ALPHA_BITS  20
#define PRAGUE_ALPHA_ONE   (1U << PRAGUE_ALPHA_BITS)
#define PRAGUE_WINDOW_BITS 16 /* Q16 packets */

struct prague {
	u64 window;        /* Q16 packets */
	u32 threshold;     /* packets: slow start ends here */
	u32 alpha;         /* Q20 */
	u32 acked, marked; /* packets since the last update of alpha */
	u32 updated_us;    /* the last update of alpha, low bits */
	u32 round_until; /* packets delivered: the last reduction lasts until the ACK of a later one */
	u32 reduces;     /* 0 or 1: it lasts */
};
MPCC_AREA(prague);

/* V, us. */
MPCC_INLINE u32 prague_virtual_rtt(const struct mpcc_conn *conn, u32 self)
{
	return mpcc_max(mpcc_rtt(&conn->sub[self]), (u32)MPCC_PARAM(conn, PRAGUE_RTT));
}

MPCC_INLINE void prague_learn(const struct mpcc_conn *conn, u32 self, struct prague *p)
{
	u32 fraction;

	if (!p->acked || (u32)conn->now_us - p->updated_us < prague_virtual_rtt(conn, self))
		return;
	fraction = (u32)(((u64)mpcc_min(p->marked, p->acked) << PRAGUE_ALPHA_BITS) / p->acked);
	p->alpha = mpcc_min(p->alpha, PRAGUE_ALPHA_ONE);
	p->alpha = p->alpha - (p->alpha >> PRAGUE_GAIN_SHIFT) + (fraction >> PRAGUE_GAIN_SHIFT);
	p->acked = 0;
	p->marked = 0;
	p->updated_us = (u32)conn->now_us;
}

/* Takes `part` / 2^21 of the window away, and ends slow start. */
MPCC_INLINE void prague_reduce(struct prague *p, u32 part, const struct mpcc_event *event)
{
	/* 2^36 * 2^20 fits */
	p->window -= p->window * part >> (PRAGUE_ALPHA_BITS + 1);
	if (p->window < PRAGUE_MIN_CWND << PRAGUE_WINDOW_BITS)
		p->window = PRAGUE_MIN_CWND << PRAGUE_WINDOW_BITS;
	p->threshold = (u32)(p->window >> PRAGUE_WINDOW_BITS);
	p->round_until = event->total_delivered;
	p->reduces = 1;
}

MPCC_INLINE void prague_grow(const struct mpcc_conn *conn, u32 self, struct prague *p, u32 acked)
{
	u64 rtt = mpcc_rtt(&conn->sub[self]), longer = prague_virtual_rtt(conn, self), step;
	u32 cwnd = (u32)(p->window >> PRAGUE_WINDOW_BITS);
	u32 room = p->threshold > cwnd ? p->threshold - cwnd : 0, fast = mpcc_min(room, acked);

	p->window += (u64)fast << PRAGUE_WINDOW_BITS;
	/*   (R / V)^2 / w   */
	step = (u64)(acked - fast) << PRAGUE_WINDOW_BITS;
	p->window += step * rtt / longer * rtt / longer / mpcc_max(cwnd, 1);
}

MPCC_INLINE void prague_ack(struct mpcc_conn *conn, u32 self, struct prague *p,
                            const struct mpcc_event *event)
{
	u32 acked = mpcc_min(event->acked, MPCC_CWND_MAX), marked = mpcc_min(event->marked, acked);

	p->acked = mpcc_add_saturating(p->acked, acked);
	p->marked = mpcc_add_saturating(p->marked, marked);
	if (p->reduces && mpcc_round_by_delivery(&p->round_until, event))
		p->reduces = 0;
	if (event->flags & MPCC_EPISODE)
		prague_reduce(p, PRAGUE_ALPHA_ONE, event);
	else if (marked && !p->reduces)
		prague_reduce(p, mpcc_min(p->alpha, PRAGUE_ALPHA_ONE), event);
	else if (event->flags & MPCC_CWND_LIMITED)
		prague_grow(conn, self, p, acked - marked);
	prague_learn(conn, self, p);
}

MPCC_INLINE void prague_control(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event,
                                struct mpcc_area *area)
{
	struct prague *p = prague_area(area);
	struct mpcc_subflow *sub = &conn->sub[self];
	u64 most = (u64)MPCC_CWND_MAX << PRAGUE_WINDOW_BITS;
	u32 starts = event->flags & MPCC_STARTS, cwnd;

	p->window = p->window < most ? p->window : most;
	if (starts) {
		p->window = (u64)sub->cwnd << PRAGUE_WINDOW_BITS;
		p->threshold = MPCC_CWND_MAX;
		p->alpha = PRAGUE_ALPHA_ONE;
		p->updated_us = (u32)conn->now_us;
	} else if (event->flags & MPCC_TIMED_OUT) {
		p->threshold =
			mpcc_max((u32)(p->window >> PRAGUE_WINDOW_BITS) / 2, PRAGUE_MIN_CWND);
		p->window = 1U << PRAGUE_WINDOW_BITS;
		p->reduces = 0;
	} else if (!(event->flags & MPCC_RESTARTS)) {
		prague_ack(conn, self, p, event);
	}
	if (p->window < 1U << PRAGUE_WINDOW_BITS)
		p->window = 1U << PRAGUE_WINDOW_BITS;
	p->window = p->window < most ? p->window : most;
	cwnd = (u32)(p->window >> PRAGUE_WINDOW_BITS);
	sub->cwnd = cwnd;
	sub->ssthresh = cwnd;
	if (sub->srtt_us)
		mpcc_pace(sub, (u32)mpcc_rate(cwnd, mpcc_rtt(sub)),
		          cwnd < p->threshold ? 2 * MPCC_GAIN_ONE : MPCC_GAIN_ONE, 0, event->mss);
}

MPCC_CAPABILITIES(prague, MPCC_UNCOUPLED | MPCC_READS_MARKS | MPCC_OWNS_WINDOW | MPCC_SENDS_ECT1);

static const struct mpcc_ops mpcc_ops_prague = {
	.name = "prague",
	.title = "Prague",
	.paper = "draft-briscoe-iccrg-prague-congestion-control",
	.summary = "answers the fraction of L4S marks; equal rates below 25 ms; paced, uncoupled",
	.confidence = "L",
	.capabilities = mpcc_capabilities_prague,
	.min_cwnd = 1,
	.control = prague_control,
};

#endif
