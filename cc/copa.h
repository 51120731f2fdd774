/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Copa: Arun and Balakrishnan, NSDI 2018.
 *
 *   d = standing RTT - min RTT            standing: min RTT of the last srtt / 2; min: of the last 10 s
 *
 *                        1                                              v
 *   target rate =  -----------,    rate = w / standing RTT,    w +-  -----------  per ACK
 *                   delta * d                                         delta * w
 *
 *   + while the rate is below its target, - above it       pacing: 2 w / standing RTT
 *   velocity v: 1; doubles each round from the third in one direction on; 1 after a turn
 *   slow start: w + 1 per ACK until the rate is above its target
 *   competitive: d has not been below (max RTT of 4 srtt - min RTT) / 10 for 10 srtt. Then 1/delta grows by 1
 *   per round, and a round with losses halves it; otherwise delta is its default
 *
 * Deviations
 *   - the queue has 10 RTTs to become short, not 5. Copa's own oscillation takes 5, so two Copas out of step
 *     would each take the other for a competing flow.
 *   - a loss ends slow start; a timeout restarts it at two packets. The paper specifies neither.
 *   - v stays if a round would change the window by more than its size.
 *   - the window grows only if it is the limit.
 */
#ifndef MPCC_COPA_H
#define MPCC_COPA_H

#include "mpcc_model.h"

#define COPA_PARAMS(X)                                                                         \
	X(COPA_DELTA, "delta", 500, 10, 1000, COPA_SCALE, "", "target queue: 1/delta packets") \
	X(COPA_COMPETE, "competitive", 1, 0, 1, 1, "off=0 on=1",                               \
	  "use a smaller delta against flows that fill the queue")
#define COPA_SCALE 1000
enum { COPA_PARAMS(MPCC_PARAM_ID) COPA_PARAM_COUNT };
enum { COPA_PARAMS(MPCC_PARAM_DEFAULT) };

#define COPA_MIN_CWND    2U         /* packets */
#define COPA_INVERSE_MAX (1U << 18) /* Q8: 1/delta = 1024 */
#define COPA_MIN_RTT_US  10000000U  /* us: validity of the min RTT */
#define COPA_PACING_GAIN 512U       /* Q8: 2 */
#define COPA_CALM_RTTS   10U        /* RTTs without a short queue: others fill it */
#define COPA_MAX_RTTS    4U         /* RTTs over which the max RTT is taken */
#define COPA_SAME_ROUNDS 3U         /* rounds in one direction before v doubles */
#define COPA_WINDOW_BITS 16         /* Q16 packets */

enum copa_direction { COPA_NEITHER, COPA_UP, COPA_DOWN };

struct copa {
	struct mpcc_extreme standing, least, most; /* us: RTTs */
	u64 window;                                /* Q16 packets */
	u32 inverse;                               /* Q8: 1/delta */
	u32 velocity;                              /* v */
	u32 direction, same;                       /* enum copa_direction; rounds in it */
	u32 round_until;                           /* packets delivered */
	u32 round_cwnd;                            /* packets: window when the round began */
	u32 calm_at;                               /* us: time of the last short queue */
	u32 slow_start, lossy, competes;           /* 0 or 1; lossy: a loss in this round */
};
MPCC_AREA(copa);

MPCC_INLINE u32 copa_default(const struct mpcc_conn *conn)
{
	return (COPA_SCALE << MPCC_GAIN_BITS) / (u32)MPCC_PARAM(conn, COPA_DELTA);
}

/* w / standing <= 1 / (delta d), without a division. */
MPCC_INLINE u32 copa_below_target(const struct copa *c, u32 cwnd, u32 standing, u32 queueing)
{
	return ((u64)cwnd * queueing << MPCC_GAIN_BITS) <= (u64)standing * c->inverse;
}

/* Once per round: updates velocity and delta. */
MPCC_INLINE void copa_round(const struct mpcc_conn *conn, struct copa *c, u32 cwnd)
{
	u32 direction = cwnd > c->round_cwnd   ? COPA_UP
	                : cwnd < c->round_cwnd ? COPA_DOWN
	                                       : COPA_NEITHER;
	u32 most = mpcc_max((cwnd << MPCC_GAIN_BITS) / mpcc_max(c->inverse, 1), 1); /* delta w */

	if (direction == COPA_NEITHER || direction != c->direction) {
		c->velocity = 1;
		c->same = 0;
	} else if (++c->same >= COPA_SAME_ROUNDS) {
		c->velocity *= 2;
	}
	c->velocity = mpcc_min(c->velocity, most);
	c->direction = direction;
	c->round_cwnd = cwnd;

	if (!c->competes)
		c->inverse = copa_default(conn);
	else if (c->lossy)
		c->inverse = mpcc_max(c->inverse / 2, copa_default(conn));
	else
		c->inverse = mpcc_min(c->inverse + MPCC_GAIN_ONE, COPA_INVERSE_MAX);
	c->lossy = 0;
}

/* Updates the RTTs and detects competing flows that fill the queue. */
MPCC_INLINE void copa_observe(const struct mpcc_conn *conn, u32 self, struct copa *c, u32 rtt)
{
	u32 now = (u32)conn->now_us, srtt = mpcc_rtt(&conn->sub[self]), least, queueing;

	mpcc_keep_min(&c->least, COPA_MIN_RTT_US, now, rtt);
	mpcc_keep_min(&c->standing, srtt / 2, now, rtt);
	mpcc_keep_max(&c->most, COPA_MAX_RTTS * srtt, now, rtt);
	least = mpcc_least(&c->least);
	queueing = mpcc_least(&c->standing) - least;
	if ((u64)queueing * 10 <= c->most.value[0] - least)
		c->calm_at = now;
	c->competes = MPCC_PARAM(conn, COPA_COMPETE) && now - c->calm_at > COPA_CALM_RTTS * srtt;
}

MPCC_INLINE void copa_ack(struct mpcc_conn *conn, u32 self, struct copa *c,
                          const struct mpcc_event *event)
{
	u32 acked = mpcc_min(event->acked, MPCC_CWND_MAX),
	    cwnd = (u32)(c->window >> COPA_WINDOW_BITS);
	u32 rtt = mpcc_min(event->rtt_us, MPCC_RTT_MAX_US), standing, below;
	u64 step, all = (u64)acked << COPA_WINDOW_BITS;

	if (rtt)
		copa_observe(conn, self, c, rtt);
	if (event->lost || (event->flags & MPCC_EPISODE)) {
		c->lossy = 1;
		c->slow_start = 0;
	}
	if (mpcc_round_by_delivery(&c->round_until, event))
		copa_round(conn, c, cwnd);
	standing = mpcc_least(&c->standing);
	if (!acked || standing > MPCC_RTT_MAX_US)
		return; /* nothing acknowledged, or no RTT yet */
	below = copa_below_target(c, cwnd, standing, standing - mpcc_least(&c->least));
	if (c->slow_start && below) {
		step = all;
	} else {
		c->slow_start = 0;
		/*   acked * v / (delta * w)   */
		step = ((u64)acked * c->velocity * c->inverse
		        << (COPA_WINDOW_BITS - MPCC_GAIN_BITS)) /
		       mpcc_max(cwnd, 1);
		step = step < all ? step : all;
	}
	if (!below)
		c->window -= step < c->window ? step : c->window;
	else if (event->flags & MPCC_CWND_LIMITED)
		c->window += step;
}

MPCC_INLINE void copa_control(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event,
                              struct mpcc_area *area)
{
	enum { LEAST = COPA_MIN_CWND << COPA_WINDOW_BITS };
	struct copa *c = copa_area(area);
	struct mpcc_subflow *sub = &conn->sub[self];
	u64 most = (u64)MPCC_CWND_MAX << COPA_WINDOW_BITS;
	u32 standing;

	if (event->flags & (MPCC_STARTS | MPCC_TIMED_OUT)) {
		c->window = event->flags & MPCC_STARTS ? (u64)sub->cwnd << COPA_WINDOW_BITS : LEAST;
		c->inverse = copa_default(conn);
		c->velocity = 1;
		c->slow_start = 1;
		c->direction = COPA_NEITHER;
		c->calm_at = (u32)conn->now_us;
	} else if (event->flags & MPCC_RESTARTS) {
		c->velocity = 1;
		c->same = 0;
		c->calm_at = (u32)conn->now_us;
	} else {
		copa_ack(conn, self, c, event);
	}
	c->window = c->window < LEAST ? LEAST : c->window > most ? most : c->window;
	sub->cwnd = (u32)(c->window >> COPA_WINDOW_BITS);
	sub->ssthresh = sub->cwnd;
	standing = mpcc_least(&c->standing);
	if (standing > MPCC_RTT_MAX_US)
		standing = sub->srtt_us;
	if (standing)
		mpcc_pace(sub, (u32)mpcc_rate(sub->cwnd, mpcc_max(standing, 256)), COPA_PACING_GAIN,
		          0, event->mss);
}

MPCC_CAPABILITIES(copa, MPCC_UNCOUPLED | MPCC_READS_DELAY | MPCC_OWNS_WINDOW);

static const struct mpcc_ops mpcc_ops_copa = {
	.name = "copa",
	.title = "Copa",
	.paper = "Arun and Balakrishnan, NSDI 2018",
	.summary = "delay-based: steers to the rate 1/(delta * queueing delay), uncoupled",
	.confidence = "L",
	.capabilities = mpcc_capabilities_copa,
	.min_cwnd = COPA_MIN_CWND,
	.control = copa_control,
};

#endif
