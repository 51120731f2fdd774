/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * mVeno (recon.): Dong et al., IEEE Trans. Commun. 2016; Veno after Fu and Liew, JSAC 2003.
 *
 *              rtt - base RTT
 *   N = w_r * ----------------,     delta = min(A, 1/w_r)  (LIA),  half of it where N >= beta
 *                   rtt
 *
 *   fast retransmit: w_r <- random_keep * w_r  if N < beta (a random loss),  else w_r / 2;  at least 2
 *   mark, timeout:   w_r <- max(w_r / 2, 2)
 *
 * Reconstruction: Veno's increase is known to be coupled, and random losses to weigh less. A is LIA's,
 * because it stays friendly for any decrease factor that the single path also uses.
 *
 * Deviations
 *   - rtt is the minimum of the last round (Linux tcp_veno), the smoothed RTT before the first round.
 *   - recomputed as rarely as LIA, see lia.h.
 *   - "every second ACK" is half an increase on each ACK.
 *   - 0.8 w is rounded down to whole packets. A single subflow runs NewReno, not Veno.
 */
#ifndef MPCC_MVENO_H
#define MPCC_MVENO_H

#include "lia.h"

#define MVENO_PARAMS(X)                                                      \
	X(MVENO_BETA, "beta", 3000, 0, 1000000, MVENO_SCALE, "",             \
	  "packets queued that mean congestion")                             \
	X(MVENO_RANDOM_KEEP, "random_keep", 800, 500, 1000, MVENO_SCALE, "", \
	  "part of the window kept after a random loss")
#define MVENO_SCALE 1000
enum { MVENO_PARAMS(MPCC_PARAM_ID) MVENO_PARAM_COUNT };
enum { MVENO_PARAMS(MPCC_PARAM_DEFAULT) };

enum mveno_word { MVENO_ROUND_RTT /* us: least RTT of the last round, 0 = none yet */ };

/* N >= beta */
MPCC_FUNC u32 mveno_congested(const struct mpcc_conn *conn, u32 self)
{
	MPCC_REQUIRE(conn);
	const struct mpcc_subflow *sub = &conn->sub[MPCC_SLOT(self)];
	u64 rtt = sub->own.word[MVENO_ROUND_RTT] ? sub->own.word[MVENO_ROUND_RTT] : mpcc_rtt(sub);
	u64 base = sub->own.base_rtt_us && sub->own.base_rtt_us < rtt ? sub->own.base_rtt_us : rtt;

	return mpcc_window(sub) * (rtt - base) * MVENO_SCALE >=
	       (u64)MPCC_PARAM(conn, MVENO_BETA) * rtt;
}

MPCC_INLINE s64 mveno_increase(const struct mpcc_conn *conn, u32 self)
{
	s64 linked = lia_increase(conn, self);

	if (mpcc_alone(conn, self))
		return linked;
	return mveno_congested(conn, self) ? (s64)((u64)linked / 2) : linked;
}

MPCC_INLINE u32 mveno_ssthresh(const struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind)
{
	u64 keep = (u64)MPCC_PARAM(conn, MVENO_RANDOM_KEEP);

	if (mpcc_alone(conn, self) || kind != MPCC_FAST_RETRANSMIT || mveno_congested(conn, self))
		return mpcc_half(conn, self);
	return mpcc_max((u32)(mpcc_window(&conn->sub[self]) * keep / MVENO_SCALE),
	                MPCC_SSTHRESH_MIN);
}

MPCC_INLINE void mveno_round(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event)
{
	struct mpcc_own *own = &conn->sub[self].own;

	(void)event;
	if (own->rtt_min_us)
		own->word[MVENO_ROUND_RTT] = own->rtt_min_us;
}

MPCC_CAPABILITIES(mveno, MPCC_READS_DELAY);

static const struct mpcc_ops mpcc_ops_mveno = {
	.name = "mveno",
	.title = "mVeno",
	.paper = "Dong et al., IEEE Trans. Commun. 2016",
	.summary = "LIA that tells random from congestive losses by the backlog",
	.confidence = "R",
	.capabilities = mpcc_capabilities_mveno,
	.min_cwnd = 1,
	.cache_acks = LIA_CACHE_ACKS,
	.increase = mveno_increase,
	.ssthresh = mveno_ssthresh,
	.round = mveno_round,
};

#endif
