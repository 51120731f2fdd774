/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * controller.bpf.c - a controller of cc/ as the kernel's tcp_congestion_ops. It is compiled once
 * per controller: JP_NAME is the controller's name, JP_HEADER its header. Controllers with
 * MPCC_OWNS_WINDOW use owner.bpf.c.
 *
 * The kernel keeps loss recovery and RTO. An ACK takes three steps here:
 *   gather    reads the sockets of the connection's subflows into this socket's scratch
 *   compute   in global functions, which the verifier checks one by one
 *   write     sets this socket's window, and publishes 104 bytes for the siblings
 * While the last step is valid, most ACKs skip all three, see jp_short_ack(). Controllers without
 * siblings work on the stack, see jp_ack_alone().
 *
 * On a plain TCP socket a coupled controller behaves like NewReno.
 */
#include "socket.h"

/* True if a step is 1/w, which a short ACK can compute. */
#define JP_STEP_IS_RENO (JP_OPS.increase == mpcc_reno)
/* True if a step stays valid until this subflow's window changes. */
#define JP_STEP_BY_WINDOW (JP_OPS.cache_acks == MPCC_CACHE_BY_WINDOW)

/* ---- arithmetic -------------------------------------------------------------------------------------- */

/* Flag of an ACK: do not reuse the last step. */
#define JP_ANEW (1U << 31)

/* Computes the step for the current window. */
MPCC_INLINE void jp_renew(struct mpcc_conn *conn, u32 self)
{
	struct mpcc_subflow *sub = &conn->sub[self];

	if (sub->own.cached_cwnd == sub->cwnd)
		return;
	sub->own.cached_step = JP_OPS.increase(conn, self);
	sub->own.cached_cwnd = sub->cwnd;
}

/* Updates the books for the packets of an ACK. */
MPCC_INLINE void jp_note(struct mpcc_conn *conn, u32 self, u32 acked, u32 rtt_us, u32 flags)
{
	struct mpcc_event event = { .acked = acked, .rtt_us = rtt_us, .flags = flags & ~JP_ANEW };

	mpcc_observe(&JP_OPS, conn, self, &event);
	if (!JP_STEP_BY_WINDOW && flags & JP_ANEW)
		conn->sub[self].own.cached_cwnd = 0;
}

__noinline int jp_renew_in(struct jp_scratch *s)
{
	if (!s)
		return 0;
	jp_renew(&s->conn, JP_SELF(s));
	return 0;
}

/*
 * Updates the books for `acked` packets, then grows the window for `grow` packets, in the scratch:
 * in between the controller may end slow start. A step is valid until the siblings are read again
 * or this subflow's window changes. A step that depends only on the window stays valid when the
 * siblings are read.
 */
__noinline int jp_ack(struct jp_scratch *s, u32 acked, u32 rtt_us, u32 flags, u32 grow)
{
	struct mpcc_subflow *sub;

	if (!s)
		return 0;
	jp_note(&s->conn, JP_SELF(s), acked, rtt_us, flags);
	sub = jp_own_subflow(s);
	grow = mpcc_slow_start(sub, grow);
	if (!grow)
		return 0;
	jp_renew_in(s);
	mpcc_add(&JP_OPS, sub, sub->own.cached_step, mpcc_counted(&JP_OPS, s->conn.param, grow));
	/* Computes the step here, so that the next ACK can be a short one. */
	jp_renew_in(s);
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

/* Moves rare code away from the code that most ACKs run. */
#define jp_unlikely(condition) __builtin_expect(condition, 0)

/* ---- short ACKs -------------------------------------------------------------------------------------- */

/* As tcp_is_cwnd_limited(): in slow start the window may grow to twice the packets in flight. */
MPCC_INLINE bool jp_cwnd_limited(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* True if `ssthresh` is a valid threshold, see jp_mend(). */
MPCC_INLINE bool jp_is_ssthresh(u32 ssthresh)
{
	return ssthresh <= MPCC_CWND_MAX || ssthresh == TCP_INFINITE_SSTHRESH;
}

/*
 * Slow start that continues after this ACK. Returns false and changes nothing if slow start ends,
 * if the controller needs every ACK, or if the threshold is invalid, see jp_mend().
 */
MPCC_INLINE bool jp_short_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = tp->snd_cwnd + acked, ssthresh = tp->snd_ssthresh;

	if (JP_OPS.ack || !jp_is_ssthresh(ssthresh))
		return 0;
	if (cwnd > mpcc_min(mpcc_min(ssthresh, tp->snd_cwnd_clamp), MPCC_CWND_MAX))
		return 0;
	if (jp_cwnd_limited(tp))
		tp->snd_cwnd = cwnd;
	return 1;
}

/* Which function handles an ACK. */
enum jp_way {
	JP_DONE,  /* handled as a short ACK */
	JP_NEAR,  /* needs jp_ack_alone() */
	JP_AMONG, /* needs jp_ack_among(), which reads the connection */
};

/* Result of a short ACK in congestion avoidance that needs a decision. */
#define JP_TO_DECIDE (JP_ALONE ? JP_NEAR : JP_AMONG)

/*
 * Congestion avoidance with the cached step: if the window is the limit, adds `acked` steps to the
 * accumulator in icsk_ca_priv. If the window changes, only a step of 1/w can be computed here.
 * `decides`: the ACK needs a decision anyway. Changes nothing unless it returns JP_DONE.
 */
MPCC_INLINE enum jp_way jp_short_avoid(struct tcp_sock *tp, struct mpcc_own *own, u32 acked,
                                       bool decides)
{
	s64 acc = mpcc_grown(own, own->cached_step,
	                     mpcc_counted(&JP_OPS, (const s32 *)jp_params, acked));
	u32 cwnd = tp->snd_cwnd;

	if (own->cached_cwnd != cwnd)
		return JP_AMONG;
	if (!BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return JP_OPS.ack || decides ? JP_AMONG : JP_DONE;
	if (decides || acc <= -MPCC_PACKET)
		return JP_TO_DECIDE;
	if (acc >= MPCC_PACKET) {
		if (!JP_STEP_IS_RENO || acc >= 2 * MPCC_PACKET || cwnd >= tp->snd_cwnd_clamp ||
		    cwnd >= MPCC_CWND_MAX)
			return JP_TO_DECIDE;
		acc -= MPCC_PACKET;
		tp->snd_cwnd = ++cwnd;
		own->cached_cwnd = cwnd;
		own->cached_step = mpcc_reciprocal(cwnd);
	}
	own->acc = acc;
	return JP_DONE;
}

/*
 * True if an exchange with user space is due. The clock has 32 bits here: a time further ahead
 * than we ever set lies in the past.
 */
MPCC_INLINE bool jp_is_time_to_hear(const struct mpcc_own *own, struct tcp_sock *tp)
{
	return own->books.hear_at_us - (u32)tp->tcp_mstamp - 1 >= HEARD_QUIET_EVERY_US;
}

/*
 * Handles an ACK that needs no decision: the cached step is valid, no round ends that the
 * controller wants to know of, and no exchange with user space is due. It changes only
 * icsk_ca_priv, which is in the cache since the kernel has just used this socket. The scratch is
 * behind three pointers and takes four or more further cache lines. The controller's `ack` gets
 * these packets later, summed up, see jp_tell_short_acks(). Returns JP_DONE, or how to handle the
 * ACK instead.
 */
MPCC_INLINE enum jp_way jp_short_ack(struct tcp_sock *tp, u32 acked)
{
	struct mpcc_own *own = (struct mpcc_own *)tp->inet_conn.icsk_ca_priv;
	u32 rtt_us = mpcc_min(tp->rack.rtt_us, MPCC_RTT_MAX_US);
	bool round_ends = (JP_KEEPS_RTTS || JP_OPS.round) && jp_round_is_over(own, tp);
	bool decides = own->cache_left < acked || (JP_OPS.round && round_ends);
	enum jp_way way;

	if (!JP_SHORT_ACKS || (decides && !JP_ALONE) || jp_ca_state(tp) >= TCP_CA_CWR)
		return JP_AMONG;
	if (JP_BOOKS_NEAR && jp_is_time_to_hear(own, tp))
		return JP_AMONG;
	if (jp_unlikely(tp->snd_cwnd < tp->snd_ssthresh))
		way = !decides && jp_short_slow_start(tp, acked) ? JP_DONE : JP_AMONG;
	else
		way = jp_short_avoid(tp, own, acked, decides);
	if (way != JP_DONE)
		return way;
	own->cache_left -= acked;
	if (rtt_us)
		mpcc_sample_rtt(own, rtt_us, JP_KEEPS_RTTS);
	if (rtt_us && JP_OPS.sample) {
		own->last_rtt_us = rtt_us;
		JP_OPS.sample(own, rtt_us);
	}
	if (JP_KEEPS_RTTS && round_ends) {
		jp_begin_round(own, tp);
		mpcc_forget_round(&JP_OPS, own);
	}
	return JP_DONE;
}

/*
 * Reads of the siblings per window of ACKs. Apart from a loss, no window changes much in between.
 * RFC 6356, section 4.1 leaves the interval open for LIA; Linux' former out-of-tree module
 * computed a step when the window grew.
 */
#define LOOKS_PER_WINDOW 4

/*
 * Least time between two steps for the same window, for a controller without siblings whose step
 * depends on time. The same as in Linux' CUBIC, HZ / 32.
 */
#define STEP_EVERY_US 31250

/* Number of packets for which a step may be used. */
MPCC_INLINE u32 jp_grant(struct tcp_sock *tp)
{
	u32 cwnd = mpcc_min(tp->snd_cwnd, MPCC_CWND_MAX);
	u32 srtt_us = mpcc_max(tp->srtt_us >> SRTT_BITS, 1);
	u32 every_us = JP_HAS(MPCC_UNCOUPLED) ? STEP_EVERY_US : LOOK_EVERY_US;
	u64 packets = (u64)cwnd * every_us / srtt_us;

	/*
	 * No limit until the next exchange with user space: when the window changes,
	 * jp_short_avoid() makes a new step.
	 */
	if (JP_STEP_BY_WINDOW && JP_BOOKS_NEAR)
		return MPCC_CWND_MAX;
	if (srtt_us >= LOOKS_PER_WINDOW * every_us)
		return cwnd / LOOKS_PER_WINDOW;
	return packets < MPCC_CWND_MAX ? packets : MPCC_CWND_MAX;
}

/* True if the step is used up or an exchange with user space is due. */
MPCC_INLINE bool jp_short_acks_end(struct jp_scratch *s, struct tcp_sock *tp, u32 acked)
{
	return jp_own_subflow(s)->own.cache_left < acked ||
	       (JP_BOOKS_NEAR && tp->tcp_mstamp >= s->hear_us);
}

/*
 * Passes the packets of the short ACKs so far to the controller. To be called before any other
 * event. If the controller has `ack`, all these packets were limited by the window.
 */
MPCC_INLINE void jp_tell_short_acks(struct jp_scratch *s)
{
	struct mpcc_books *books = jp_books(s);
	u32 untold = books->granted - jp_own_subflow(s)->own.cache_left;

	if (!JP_SHORT_ACKS || !untold)
		return;
	jp_ack(s, untold, 0, MPCC_CWND_LIMITED, 0);
	books->delivered += untold;
	books->granted -= untold;
}

/* Before a loss or a restart: passes on pending short ACKs and reads the connection. */
MPCC_INLINE void jp_before_event(struct jp_scratch *s, struct sock *sk, struct tcp_sock *tp)
{
	jp_load(s, tp);
	jp_tell_short_acks(s);
	jp_gather(s, sk, tp);
}

/* After a loss or a restart: invalidates the step. */
MPCC_INLINE void jp_after_event(struct jp_scratch *s, struct tcp_sock *tp)
{
	jp_books(s)->granted = 0;
	jp_publish(tp, s);
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
 * Repairs an invalid window or threshold. Some patched kernels do not run eBPF programs in some
 * contexts, for example in interrupts while process 1 runs. The trampoline then returns what is on
 * its stack, and the kernel takes that for the threshold.
 */
MPCC_INLINE void jp_mend(struct tcp_sock *tp)
{
	u32 half;

	if (tp->snd_cwnd <= MPCC_CWND_MAX && jp_is_ssthresh(tp->snd_ssthresh))
		return;
	half = mpcc_clamp(tp->prior_cwnd >> 1, MPCC_SSTHRESH_MIN, MPCC_CWND_MAX);
	if (!jp_is_ssthresh(tp->snd_ssthresh)) {
		tp->snd_ssthresh = half;
		tp->snd_cwnd = mpcc_min(tp->snd_cwnd, half);
	}
	if (tp->snd_cwnd > MPCC_CWND_MAX)
		tp->snd_cwnd = half;
}

/* Records for how many packets the step may be used after an ACK. */
MPCC_INLINE void jp_note_grant(struct mpcc_books *books, struct mpcc_own *own, struct tcp_sock *tp,
                               u32 acked, bool looks)
{
	own->cache_left = looks ? jp_grant(tp) : own->cache_left - mpcc_min(own->cache_left, acked);
	books->granted = own->cache_left;
}

/*
 * Long ACKs are separate functions, so that the code for most ACKs is in one piece and needs no
 * stack.
 */

/*
 * Handles an ACK of a controller that sees no siblings, in congestion avoidance that the window
 * limits. The connection is built on the stack, and most of it stays in registers: the scratch and
 * code that copies it are not in the cache.
 */
static __noinline void jp_ack_alone(struct tcp_sock *tp, u32 acked)
{
	struct mpcc_own *kept = (struct mpcc_own *)tp->inet_conn.icsk_ca_priv;
	struct mpcc_conn *conn = __builtin_alloca(JP_ALONE_BYTES);
	struct mpcc_subflow *sub = &conn->sub[0];
	struct mpcc_own *own = &sub->own;
	const s32 *params = (const s32 *)jp_params;
	u32 flags = MPCC_CWND_LIMITED, delivered;
	bool step_ends;

	/* Hides the values from clang, which would take them for zeros. */
	__asm__("" : "+r"(params));
	__builtin_memcpy(conn->param, params, sizeof(conn->param));
	conn->n = 1;
	conn->now_us = tp->tcp_mstamp;
	jp_read_window(sub, tp);
	/* The caller has excluded recovery and timeouts. */
	sub->flags = MPCC_ESTABLISHED;
	*own = *kept;
	if (JP_OPS.round && jp_round_ends(own, tp))
		flags |= MPCC_ROUND_END;
	step_ends = own->cache_left < acked;
	if (step_ends)
		flags |= JP_ANEW;
	delivered = tp->delivered - own->books.delivered;
	own->books.delivered = tp->delivered;
	jp_note(conn, 0, delivered, tp->rack.rtt_us, flags);
	mpcc_add(&JP_OPS, sub, own->cached_step, mpcc_counted(&JP_OPS, conn->param, acked));
	sub->cwnd = mpcc_min(sub->cwnd, tp->snd_cwnd_clamp);
	jp_renew(conn, 0);
	jp_note_grant(&own->books, own, tp, acked, step_ends);
	*kept = *own;
	tp->snd_cwnd = sub->cwnd;
}

/* Handles an ACK with the connection in the scratch. */
static __noinline void jp_ack_among(struct sock *sk, struct tcp_sock *tp, u32 acked)
{
	struct jp_scratch *s = jp_scratch_of(sk, 0);
	u32 limited, grow, flags = 0, delivered, marked;
	struct mpcc_books *books;
	struct mpcc_subflow *sub;
	bool looks, round_ends, due;

	if (!s)
		return;
	jp_mend(tp);
	jp_load(s, tp);
	limited = jp_cwnd_limited(tp);
	grow = limited ? acked : 0;
	round_ends = jp_round_ends(&jp_own_subflow(s)->own, tp);
	due = JP_SHORT_ACKS ? jp_short_acks_end(s, tp, acked) : tp->tcp_mstamp >= s->look_us;
	if (JP_OPS.ack && !limited)
		jp_tell_short_acks(s);
	looks = jp_look(s, sk, tp, round_ends, due);
	if (round_ends)
		flags |= MPCC_ROUND_END;
	if (looks)
		flags |= JP_ANEW;
	if (limited)
		flags |= MPCC_CWND_LIMITED;
	if (tp->inet_conn.icsk_inet.sk.sk_pacing_status != SK_PACING_NONE)
		flags |= MPCC_PACED;
	books = jp_books(s);
	delivered = tp->delivered - books->delivered;
	marked = mpcc_min(tp->delivered_ce - books->marked, delivered);
	books->delivered = tp->delivered;
	books->marked = tp->delivered_ce;
	if (marked)
		jp_ack(s, marked, 0, (flags & MPCC_CWND_LIMITED) | MPCC_ECE, 0);
	jp_ack(s, delivered - marked, tp->rack.rtt_us, flags, grow);
	sub = jp_own_subflow(s);
	tp->snd_cwnd = mpcc_min(sub->cwnd, tp->snd_cwnd_clamp);
	tp->snd_ssthresh = sub->ssthresh;
	if (JP_SHORT_ACKS)
		jp_note_grant(jp_books(s), &sub->own, tp, acked, looks);
	if (looks || JP_SHORT_ACKS)
		jp_publish(tp, s);
}

SEC("struct_ops")
void BPF_PROG(jp_op_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct mpcc_own *own = (struct mpcc_own *)tp->inet_conn.icsk_ca_priv;
	enum jp_way way = jp_short_ack(tp, acked);

	/* jp_ack_among() reports marked packets separately. */
	if (way == JP_NEAR && tp->delivered_ce == own->books.marked)
		jp_ack_alone(tp, acked);
	else if (way != JP_DONE)
		jp_ack_among(sk, tp, acked);
}

/*
 * The kernel calls this once per loss episode, before it changes window and state. In a timeout
 * the timer is not pending, and a packet is lost: without it, the host's own queue has dropped the
 * first packet after a pause, or a loss probe. A mark shows in the count of marked packets.
 */
SEC("struct_ops")
u32 BPF_PROG(jp_op_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct jp_scratch *s = jp_scratch_of(sk, 0);
	u32 kind = MPCC_FAST_RETRANSMIT, ssthresh;

	if (!s)
		return mpcc_max(tp->snd_cwnd >> 1, MPCC_SSTHRESH_MIN);
	s->losses++;
	jp_before_event(s, sk, tp);
	if (!tp->inet_conn.icsk_pending && tp->lost_out)
		kind = MPCC_TIMEOUT;
	else if (tp->delivered_ce != jp_books(s)->marked)
		kind = MPCC_ECN;
	jp_books(s)->marked = tp->delivered_ce;
	ssthresh = jp_loss(s, kind);
	jp_after_event(s, tp);
	return ssthresh;
}

SEC("struct_ops")
void BPF_PROG(jp_op_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	bool marks = event == CA_EVENT_ECN_NO_CE || event == CA_EVENT_ECN_IS_CE;
	u32 marked = event == CA_EVENT_ECN_IS_CE;
	struct jp_scratch *s;

	if (marks && JP_MARKS_NEAR) {
		struct mpcc_own *own = (struct mpcc_own *)tp->inet_conn.icsk_ca_priv;

		jp_receive_mark(&own->ce_state, &own->prior_rcv_nxt, tp, marked);
		return;
	}
	if (!marks && event != CA_EVENT_CWND_RESTART)
		return;
	s = jp_scratch_of(sk, 0);
	if (!s)
		return;
	if (marks) {
		jp_receive_mark(&s->ce_state, &s->prior_rcv_nxt, tp, marked);
		return;
	}
	jp_before_event(s, sk, tp);
	jp_restart(s);
	jp_after_event(s, tp);
}

SEC("struct_ops")
u32 BPF_PROG(jp_op_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

/* The loader replaces the name if the controller serves only one lab. */
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
