/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * socket.h - shared by the wrappers controller.bpf.c and owner.bpf.c: how a socket takes and
 * leaves a controller, and what every ACK does first.
 */
#ifndef JP_SOCKET_H
#define JP_SOCKET_H

#include "exchange.h"

MPCC_INLINE struct jp_scratch *jp_scratch_of(struct sock *sk, u64 flags)
{
	return bpf_sk_storage_get(&jp_scratches, sk, 0, flags);
}

/* Initializes a socket that takes the controller. */
MPCC_INLINE struct jp_scratch *jp_take_socket(struct sock *sk, struct tcp_sock *tp)
{
	struct jp_scratch *s = jp_scratch_of(sk, BPF_SK_STORAGE_GET_F_CREATE);
	struct jp_subflow shown = {};
	u64 key = (u64)sk;

	if (!s)
		return s;
#pragma unroll
	for (u32 i = 0; i < MPCC_MAX_PARAMS; i++)
		s->conn.param[i] = jp_params[i];
	jp_gather(s, sk, tp);
	jp_describe(&shown, tp);
	jp_show(&shown, s, tp);
	jp_hear(s, &shown);
	jp_init(s);
	jp_books(s)->delivered = tp->delivered;
	jp_books(s)->marked = tp->delivered_ce;
	s->prior_rcv_nxt = tp->rcv_nxt;
	if (JP_MARKS_NEAR)
		jp_own_subflow(s)->own.prior_rcv_nxt = tp->rcv_nxt;
	bpf_map_update_elem(&jp_subflows, &key, &shown, BPF_ANY);
	return s;
}

/*
 * The kernel allows no setsockopt here. A paced socket that changes to another controller keeps
 * our SO_MAX_PACING_RATE, but loses the pacing timer, unless it had one before.
 */
MPCC_INLINE void jp_leave_socket(struct sock *sk, struct tcp_sock *tp)
{
	struct jp_scratch *s = jp_scratch_of(sk, 0);
	u64 key = (u64)sk;

	if (s && s->paced && s->own_status == SK_PACING_NONE)
		tp->inet_conn.icsk_inet.sk.sk_pacing_status = SK_PACING_NONE;
	bpf_map_delete_elem(&jp_subflows, &key);
	bpf_sk_storage_delete(&jp_scratches, sk);
}

/* A round ends with the first packet delivered that was not in flight at its start. */
MPCC_INLINE bool jp_round_is_over(const struct mpcc_own *own, struct tcp_sock *tp)
{
	return (s32)(tp->delivered - own->round_end) > 0;
}

MPCC_INLINE void jp_begin_round(struct mpcc_own *own, struct tcp_sock *tp)
{
	own->round_end = tp->delivered + tp->packets_out;
}

/* Returns true if a round ends, and begins the next one. */
MPCC_INLINE bool jp_round_ends(struct mpcc_own *own, struct tcp_sock *tp)
{
	if (!jp_round_is_over(own, tp))
		return 0;
	jp_begin_round(own, tp);
	return 1;
}

/*
 * First step of every ACK: reads the siblings if `due`, and exchanges with user space if a round
 * ends or the siblings are read. Returns true if the siblings were read, so that a new step is
 * needed.
 */
MPCC_INLINE bool jp_look(struct jp_scratch *s, struct sock *sk, struct tcp_sock *tp,
                         bool round_ends, bool due)
{
	bool exchanges = (round_ends || due) && tp->tcp_mstamp >= s->hear_us;
	bool looks = exchanges || due;

	if (looks)
		jp_gather(s, sk, tp);
	else
		jp_refresh(s, tp);
	if (exchanges)
		jp_exchange(s, sk, tp);
	return looks;
}

/*
 * DCTCP receiver (RFC 8257, section 3.2): an ACK says whether the packets that it acknowledges
 * were marked, so a delayed ACK is sent before the state changes. This runs for every received
 * packet, so its state should be near fields that the kernel has just used.
 */
MPCC_INLINE void jp_receive_mark(u32 *ce_state, u32 *prior_rcv_nxt, struct tcp_sock *tp, u32 marked)
{
	if (!JP_HAS(MPCC_READS_MARKS))
		return;
	if (*ce_state != marked) {
		if (tp->inet_conn.icsk_ack.pending & ICSK_ACK_TIMER)
			bpf_tcp_send_ack(tp, *prior_rcv_nxt);
		tp->inet_conn.icsk_ack.pending |= ICSK_ACK_NOW;
	}
	*prior_rcv_nxt = tp->rcv_nxt;
	*ce_state = marked;
	if (marked)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

#endif
