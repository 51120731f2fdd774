/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * controller.bpf.c - one controller of cc/ as the kernel's tcp_congestion_ops. Compiled once per controller:
 * JP_NAME is its name, JP_HEADER its header. Those that own their window have owner.bpf.c.
 *
 * Slow start, loss recovery and RTO stay the kernel's. What is done here:
 *   gather    the connection from the sockets of its subflows into this socket's scratch
 *   arithmetic in global functions, which the verifier takes one by one
 *   write     the own window back, and now and then the own 104 bytes for the siblings
 *
 * On a plain TCP socket a controller that couples is NewReno.
 */
#include "socket.h"

/* ---- arithmetic -------------------------------------------------------------------------------------- */

/* Among the flags of an ACK: the last step may not serve again. */
#define JP_ANEW (1U << 31)

/*
 * Books for `acked` packets, and growth for `grow`. A step is as good as new until the siblings are read
 * again, or the own window has changed; one that depends on the own window alone stays good.
 */
__noinline int jp_ack(struct jp_scratch *s, u32 acked, u32 rtt_us, u32 flags, u32 grow)
{
	struct mpcc_event event = { .acked = acked, .rtt_us = rtt_us, .flags = flags & ~JP_ANEW };
	struct mpcc_subflow *sub;

	if (!s)
		return 0;
	mpcc_observe(&JP_OPS, &s->conn, JP_SELF(s), &event);
	if (!grow)
		return 0;
	sub = jp_own_subflow(s);
	if ((JP_OPS.cache_acks != ~0U && flags & JP_ANEW) || sub->own.cached_cwnd != sub->cwnd) {
		sub->own.cached_step = JP_OPS.increase(&s->conn, JP_SELF(s));
		sub->own.cached_cwnd = sub->cwnd;
	}
	mpcc_add(&JP_OPS, sub, sub->own.cached_step, mpcc_min(grow, MPCC_CWND_MAX));
	return 0;
}

__noinline u32 jp_loss(struct jp_scratch *s, u32 kind)
{
	if (!s)
		return MPCC_SSTHRESH_MIN;
	return mpcc_loss(&JP_OPS, &s->conn, JP_SELF(s), kind);
}

__noinline int jp_restart(struct jp_scratch *s)
{
	if (!s)
		return 0;
	mpcc_restart(&JP_OPS, &s->conn, JP_SELF(s));
	return 0;
}

/* ---- tcp_congestion_ops ------------------------------------------------------------------------------ */

SEC("struct_ops")
void BPF_PROG(jp_op_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct jp_scratch *s = jp_take_socket(sk, tp);

	if (s)
		jp_publish(tp, s);
}

SEC("struct_ops")
void BPF_PROG(jp_op_release, struct sock *sk)
{
	jp_leave_socket(sk, (struct tcp_sock *)sk);
}

/*
 * Mends a window that no program of ours has returned. A kernel may be patched not to run programs in some
 * contexts (one seen here skips them on interrupts that come while process 1 runs). The trampoline then
 * returns what was on its stack, and the kernel takes that for the threshold.
 */
MPCC_INLINE void jp_mend(struct tcp_sock *tp)
{
	u32 half;

	if (tp->snd_cwnd <= MPCC_CWND_MAX &&
	    (tp->snd_ssthresh <= MPCC_CWND_MAX || tp->snd_ssthresh == TCP_INFINITE_SSTHRESH))
		return;
	half = mpcc_clamp(tp->prior_cwnd >> 1, MPCC_SSTHRESH_MIN, MPCC_CWND_MAX);
	if (tp->snd_ssthresh > MPCC_CWND_MAX && tp->snd_ssthresh != TCP_INFINITE_SSTHRESH) {
		tp->snd_ssthresh = half;
		tp->snd_cwnd = mpcc_min(tp->snd_cwnd, half);
	}
	if (tp->snd_cwnd > MPCC_CWND_MAX)
		tp->snd_cwnd = half;
}

/* tcp_is_cwnd_limited(): in slow start the window may grow to twice what was in flight. */
MPCC_INLINE bool jp_cwnd_limited(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

SEC("struct_ops")
void BPF_PROG(jp_op_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct jp_scratch *s = jp_scratch_of(sk, 0);
	u32 limited, grow, flags = 0;
	u32 delivered, marked;
	struct mpcc_subflow *sub;
	bool looks, round_ends;

	if (!s)
		return;
	jp_mend(tp);
	limited = jp_cwnd_limited(tp);
	grow = limited ? acked : 0;
	if (grow && tp->snd_cwnd < tp->snd_ssthresh)
		grow = tcp_slow_start(tp, grow);
	round_ends = jp_round_ends(s, tp);
	looks = jp_look(s, sk, tp, round_ends);
	if (round_ends)
		flags |= MPCC_ROUND_END;
	if (looks)
		flags |= JP_ANEW;
	if (limited)
		flags |= MPCC_CWND_LIMITED;
	delivered = tp->delivered - s->delivered;
	marked = mpcc_min(tp->delivered_ce - s->delivered_ce, delivered);
	s->delivered = tp->delivered;
	s->delivered_ce = tp->delivered_ce;
	if (marked)
		jp_ack(s, marked, 0, (flags & MPCC_CWND_LIMITED) | MPCC_ECE, 0);
	jp_ack(s, delivered - marked, tp->rack.rtt_us, flags, grow);
	sub = jp_own_subflow(s);
	tp->snd_cwnd = mpcc_min(sub->cwnd, tp->snd_cwnd_clamp);
	tp->snd_ssthresh = sub->ssthresh;
	if (looks)
		jp_publish(tp, s);
}

/*
 * The kernel asks once per loss episode, before it changes window and state. A timeout is known by its timer,
 * which is no longer pending while it is handled; a mark by the count of marked packets.
 */
SEC("struct_ops")
u32 BPF_PROG(jp_op_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct jp_scratch *s = jp_scratch_of(sk, 0);
	u32 kind = MPCC_FAST_RETRANSMIT, ssthresh;

	if (!s)
		return mpcc_max(tp->snd_cwnd >> 1, MPCC_SSTHRESH_MIN);
	if (!tp->inet_conn.icsk_pending)
		kind = MPCC_TIMEOUT;
	else if (tp->delivered_ce != s->delivered_ce)
		kind = MPCC_ECN;
	s->delivered_ce = tp->delivered_ce;
	s->losses++;
	s->look_us = 0;
	jp_gather(s, sk, tp);
	ssthresh = jp_loss(s, kind);
	jp_publish(tp, s);
	return ssthresh;
}

SEC("struct_ops")
void BPF_PROG(jp_op_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct jp_scratch *s;

	if (event != CA_EVENT_CWND_RESTART && event != CA_EVENT_ECN_NO_CE &&
	    event != CA_EVENT_ECN_IS_CE)
		return;
	s = jp_scratch_of(sk, 0);
	if (!s)
		return;
	if (event != CA_EVENT_CWND_RESTART) {
		jp_receive_mark(s, tp, event == CA_EVENT_ECN_IS_CE);
		return;
	}
	jp_gather(s, sk, tp);
	jp_restart(s);
	jp_publish(tp, s);
}

SEC("struct_ops")
u32 BPF_PROG(jp_op_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

/* The loader writes the name: jp_NAME when it stays, another while it serves one lab. */
SEC(".struct_ops.link")
struct tcp_congestion_ops jp_ops = {
	.init = (void *)jp_op_init,
	.release = (void *)jp_op_release,
	.cong_avoid = (void *)jp_op_cong_avoid,
	.ssthresh = (void *)jp_op_ssthresh,
	.cwnd_event = (void *)jp_op_cwnd_event,
	.undo_cwnd = (void *)jp_op_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED | (JP_HAS(MPCC_READS_MARKS) ? TCP_CONG_NEEDS_ECN : 0),
	.name = "jp_" JP_QUOTE(JP_NAME),
};
