/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * mpcc_hystart.h - HyStart: an end of slow start before the queue overflows. Ha and Rhee, Taming the
 * elephants: New TCP slow start, Computer Networks 55 (9), 2011, with the constants of Linux (tcp_cubic.c).
 *
 * From a window of 16 packets on, an ACK of slow start ends it if, in the present round,
 *
 *   train   each ACK arrived at most 2 ms after the one before, and t - t_round > (tau_min + a) / 2
 *   delay   there are more than 8 RTT samples, and
 *           tau_round > tau_min + min(max(tau_min / 8, 4 ms), 16 ms)
 *
 *   tau_round   least RTT of the round
 *   a           time to send four TSO packets of 64 KiB at twice the window per RTT, at most 1 ms
 *
 * If the sender paces, a round's packets are spread over half of an RTT: the train's limit is tau_min + a.
 */
#ifndef MPCC_HYSTART_H
#define MPCC_HYSTART_H

#include "mpcc_run.h"

#define HYSTART_LOW_WINDOW 16U    /* packets */
#define HYSTART_SAMPLES    8U     /* RTT samples of a round */
#define HYSTART_ACK_GAP_US 2000U  /* us: longest pause within a train */
#define HYSTART_DELAY_MIN  4000U  /* us: limits of the tolerated delay */
#define HYSTART_DELAY_MAX  16000U /* us */
#define HYSTART_BURST      90U /* packets: four TSO packets of 64 KiB at an MSS of 1448 bytes, over 2 */
#define HYSTART_BURST_MAX  1000U     /* us */
#define HYSTART_RTT_MASK   0xffffffU /* above MPCC_RTT_MAX_US */

/* The present round. Instants have the clock's low 32 bits. */
struct mpcc_hystart {
	u32 began_us;
	u32 train_us;    /* last ACK of the train */
	u32 rtt_us : 24; /* least RTT */
	u32 samples : 8; /* RTT samples, up to HYSTART_SAMPLES */
} __attribute__((may_alias));

MPCC_INLINE void mpcc_hystart_begin(struct mpcc_hystart *round, u32 now_us)
{
	*round = (struct mpcc_hystart){
		.began_us = now_us,
		.train_us = now_us,
		.rtt_us = MPCC_RTT_MAX_US,
	};
}

/* Longest train of a sender that does not fill the path, us. */
MPCC_INLINE u32 mpcc_hystart_train(const struct mpcc_subflow *sub, u32 flags)
{
	u32 burst = HYSTART_BURST * mpcc_rtt(sub) / mpcc_clamp(sub->cwnd, 1, MPCC_CWND_MAX);
	u32 most = sub->own.base_rtt_us + mpcc_min(burst, HYSTART_BURST_MAX);

	return flags & MPCC_PACED ? most : most / 2;
}

/*
 * Takes an ACK of slow start with an RTT sample, after the RTT bookkeeping. True if slow start ends. `round`
 * may lie in sub->own.
 */
MPCC_FUNC u32 mpcc_hystart(struct mpcc_hystart *round, const struct mpcc_subflow *sub, u32 now_us,
                           u32 rtt_us, u32 flags)
{
	MPCC_REQUIRE(round);
	MPCC_REQUIRE(sub);
	u32 base = sub->own.base_rtt_us;

	if (flags & MPCC_ROUND_END)
		mpcc_hystart_begin(round, now_us);
	if (!rtt_us || sub->cwnd < HYSTART_LOW_WINDOW)
		return 0;
	if (now_us - round->train_us <= HYSTART_ACK_GAP_US) {
		round->train_us = now_us;
		if (now_us - round->began_us > mpcc_hystart_train(sub, flags))
			return 1;
	}
	round->rtt_us = mpcc_min(round->rtt_us, rtt_us) & HYSTART_RTT_MASK;
	if (round->samples < HYSTART_SAMPLES) {
		round->samples++;
		return 0;
	}
	return round->rtt_us > base + mpcc_clamp(base / 8, HYSTART_DELAY_MIN, HYSTART_DELAY_MAX);
}

#endif
