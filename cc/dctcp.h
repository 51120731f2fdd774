/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * DCTCP on every subflow: RFC 8257.
 *
 *                                                             packets marked in the window
 *   alpha <- (1 - g) alpha + g F, once per window,      F  =  ----------------------------
 *                                                              packets acked in the window
 *   mark: w <- max( w (1 - alpha / 2), 2 )      loss, timeout: w <- max(w / 2, 2)      delta = 1 / w
 *
 * Without marks it equals NewReno.
 *
 * Deviations
 *   - alpha is in Q20. In Linux' Q10, (alpha >> 4) stops the decay below 16/1024.
 *   - an ACK that echoes a mark counts all its packets as marked.
 */
#ifndef MPCC_DCTCP_H
#define MPCC_DCTCP_H

#include "mpcc_run.h"

#define DCTCP_PARAMS(X)                           \
	X(DCTCP_G, "g", 625, 1, 10000, 10000, "", \
	  "weight of a new window in alpha, 1/16 by default")
enum { DCTCP_PARAMS(MPCC_PARAM_ID) DCTCP_PARAM_COUNT };
enum { DCTCP_PARAMS(MPCC_PARAM_DEFAULT) DCTCP_G_SCALE = 10000 };

enum dctcp_word {
	DCTCP_ALPHA,  /* Q20 */
	DCTCP_ACKED,  /* packets in this window */
	DCTCP_MARKED, /* packets in this window that were marked */
};

#define DCTCP_ALPHA_BITS 20
#define DCTCP_ALPHA_ONE  (1U << DCTCP_ALPHA_BITS)

MPCC_INLINE void dctcp_init(struct mpcc_conn *conn, u32 self)
{
	conn->sub[self].own.word[DCTCP_ALPHA] = DCTCP_ALPHA_ONE;
}

MPCC_INLINE void dctcp_ack(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event)
{
	u32 *word = conn->sub[self].own.word;

	word[DCTCP_ACKED] = mpcc_add_saturating(word[DCTCP_ACKED], event->acked);
	if (event->flags & MPCC_ECE)
		word[DCTCP_MARKED] = mpcc_add_saturating(word[DCTCP_MARKED], event->acked);
}

MPCC_INLINE void dctcp_round(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event)
{
	u32 *word = conn->sub[self].own.word;
	u64 g = (u64)MPCC_PARAM(conn, DCTCP_G), fraction;

	(void)event;
	if (word[DCTCP_ACKED]) {
		fraction = ((u64)word[DCTCP_MARKED] << DCTCP_ALPHA_BITS) / word[DCTCP_ACKED];
		/*   (1 - g) alpha + g F   */
		word[DCTCP_ALPHA] = (u32)(((DCTCP_G_SCALE - g) * word[DCTCP_ALPHA] + g * fraction) /
		                          DCTCP_G_SCALE);
	}
	word[DCTCP_ACKED] = 0;
	word[DCTCP_MARKED] = 0;
}

MPCC_INLINE u32 dctcp_ssthresh(const struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind)
{
	const struct mpcc_subflow *sub = &conn->sub[self];
	u64 w = mpcc_window(sub);
	u32 alpha = mpcc_min(sub->own.word[DCTCP_ALPHA], DCTCP_ALPHA_ONE);

	if (kind != MPCC_ECN)
		return mpcc_half(conn, self);
	/*   w (1 - alpha / 2)   */
	return mpcc_max((u32)(w * (2 * DCTCP_ALPHA_ONE - alpha) / (2 * DCTCP_ALPHA_ONE)),
	                MPCC_SSTHRESH_MIN);
}

MPCC_CAPABILITIES(dctcp, MPCC_UNCOUPLED | MPCC_READS_MARKS | MPCC_ACKS_IN_SUM);

static const struct mpcc_ops mpcc_ops_dctcp = {
	.name = "dctcp",
	.title = "DCTCP",
	.paper = "RFC 8257",
	.summary = "NewReno that answers the fraction of marked packets, uncoupled",
	.confidence = "L",
	.capabilities = mpcc_capabilities_dctcp,
	.min_cwnd = 1,
	.cache_acks = MPCC_CACHE_BY_WINDOW,
	.increase = mpcc_reno,
	.ssthresh = dctcp_ssthresh,
	.init = dctcp_init,
	.ack = dctcp_ack,
	.round = dctcp_round,
};

#endif
