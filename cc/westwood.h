/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * TCP Westwood+: Grieco and Mascolo, ACM CCR 34(2), 2004; Mascolo et al., MobiCom 2001.
 *
 *   each RTT round:  b = packets delivered / duration of the round
 *                    B <- alpha B + (1 - alpha) b            (B <- b for the first)
 *
 *   delta = 1/w                                              as NewReno
 *   fast retransmit, mark:  w <- max(B * base RTT, 2), but never raises it
 *   timeout:         ssthresh <- max(B * base RTT, 2)
 *
 * A loss removes the queue, not half of the window: without a queue, as with random losses, B * base RTT is
 * all the data in flight.
 *
 * Deviations
 *   - a fast retransmit or a mark never raises the window, as in the paper of 2001; the paper of 2004 leaves
 *     it open.
 *   - before the first sample B = w / smoothed RTT.
 *   - a round in which sending restarted after idle gives no sample.
 */
#ifndef MPCC_WESTWOOD_H
#define MPCC_WESTWOOD_H

#include "mpcc_run.h"

#define WESTWOOD_PARAMS(X)                                          \
	X(WESTWOOD_ALPHA, "alpha", 900, 0, 999, WESTWOOD_SCALE, "", \
	  "weight of the former estimate of bandwidth in a new one")
#define WESTWOOD_SCALE 1000
enum { WESTWOOD_PARAMS(MPCC_PARAM_ID) WESTWOOD_PARAM_COUNT };
enum { WESTWOOD_PARAMS(MPCC_PARAM_DEFAULT) };

enum westwood_wide { WESTWOOD_RATE /* Q24 packets/us: B, 0 = no sample yet */ };
enum westwood_word {
	WESTWOOD_BEGIN_US, /* us, lower half of the clock: when the round began */
	WESTWOOD_ACKED,    /* packets delivered since then */
	WESTWOOD_BEGUN,    /* 1 = the two words above are valid */
};

#define WESTWOOD_RATE_BITS 24
#define WESTWOOD_RATE_MAX  (1ULL << 38) /* Q24 packets/us: times 10 s it stays below 2^62 */

/* B * base RTT, packets. */
MPCC_INLINE u32 westwood_pipe(const struct mpcc_subflow *sub)
{
	u64 rate = sub->own.wide[WESTWOOD_RATE], packets;
	u32 base = mpcc_clamp(sub->own.base_rtt_us ? sub->own.base_rtt_us : mpcc_rtt(sub), 1,
	                      MPCC_RTT_MAX_US);

	if (rate)
		packets = (rate < WESTWOOD_RATE_MAX ? rate : WESTWOOD_RATE_MAX) * base >>
		          WESTWOOD_RATE_BITS;
	else
		packets = (u64)mpcc_window(sub) * base / mpcc_rtt(sub);
	return mpcc_max(packets < MPCC_CWND_MAX ? (u32)packets : MPCC_CWND_MAX, MPCC_SSTHRESH_MIN);
}

MPCC_INLINE u32 westwood_ssthresh(const struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind)
{
	const struct mpcc_subflow *sub = &conn->sub[self];
	u32 most = kind == MPCC_TIMEOUT ? MPCC_CWND_MAX
	                                : mpcc_max(mpcc_window(sub), MPCC_SSTHRESH_MIN);

	return mpcc_min(westwood_pipe(sub), most);
}

MPCC_INLINE void westwood_ack(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event)
{
	u32 *word = conn->sub[self].own.word;

	word[WESTWOOD_ACKED] = mpcc_add_saturating(word[WESTWOOD_ACKED], event->acked);
}

MPCC_INLINE void westwood_begin(struct mpcc_own *own, u32 now_us)
{
	own->word[WESTWOOD_BEGIN_US] = now_us;
	own->word[WESTWOOD_ACKED] = 0;
	own->word[WESTWOOD_BEGUN] = 1;
}

MPCC_INLINE void westwood_round(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event)
{
	struct mpcc_own *own = &conn->sub[self].own;
	u64 alpha = (u64)MPCC_PARAM(conn, WESTWOOD_ALPHA), sample,
	    former = own->wide[WESTWOOD_RATE];
	u32 now_us = (u32)conn->now_us, took = now_us - own->word[WESTWOOD_BEGIN_US];

	(void)event;
	if (!own->word[WESTWOOD_BEGUN]) {
		westwood_begin(own, now_us);
		return;
	}
	if (!took)
		return;
	sample = ((u64)mpcc_min(own->word[WESTWOOD_ACKED], MPCC_CWND_MAX) << WESTWOOD_RATE_BITS) /
	         took;
	former = former < WESTWOOD_RATE_MAX ? former : WESTWOOD_RATE_MAX;
	sample = sample < WESTWOOD_RATE_MAX ? sample : WESTWOOD_RATE_MAX;
	if (former) /*   alpha B + (1 - alpha) b   */
		sample = (alpha * former + (WESTWOOD_SCALE - alpha) * sample) / WESTWOOD_SCALE;
	own->wide[WESTWOOD_RATE] = sample;
	westwood_begin(own, now_us);
}

/* A round with idle time gives no bandwidth sample. */
MPCC_INLINE void westwood_restart(struct mpcc_conn *conn, u32 self)
{
	conn->sub[self].own.word[WESTWOOD_BEGUN] = 0;
}

MPCC_CAPABILITIES(westwood, MPCC_UNCOUPLED | MPCC_ACKS_IN_SUM);

static const struct mpcc_ops mpcc_ops_westwood = {
	.name = "westwood",
	.title = "Westwood+",
	.paper = "Grieco and Mascolo, ACM CCR 34(2), 2004",
	.summary =
		"NewReno that keeps the delivered rate times the base RTT after a loss, uncoupled",
	.confidence = "L",
	.capabilities = mpcc_capabilities_westwood,
	.min_cwnd = 1,
	.cache_acks = MPCC_CACHE_BY_WINDOW,
	.increase = mpcc_reno,
	.ssthresh = westwood_ssthresh,
	.ack = westwood_ack,
	.round = westwood_round,
	.restart = westwood_restart,
};

#endif
