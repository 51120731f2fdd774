/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * controller.bpf.c - one controller of cc/ as the kernel's tcp_congestion_ops. Compiled once per controller:
 * JP_NAME is its name, JP_HEADER its header. Those that own their window have owner.bpf.c.
 *
 * Slow start, loss recovery and RTO stay the kernel's. What is done here:
 *   gather    the connection from the sockets of its subflows into this socket's scratch
 *   arithmetic in global functions, which the verifier takes one by one
 *   write     the own window back, and the own 104 bytes for the siblings
 * Most ACKs need none of it while the last step holds, see jp_short_ack(), and those of a controller without
 * siblings do it on the stack, see jp_ack_alone().
 *
 * On a plain TCP socket a controller that couples is NewReno.
 */
#include "socket.h"

/* Whether a step is 1/w, so that a short ACK may compute it. */
#define JP_STEP_IS_RENO (JP_OPS.increase == mpcc_reno)
/* Whether a step is good as long as the own window does not change. */
#define JP_STEP_BY_WINDOW (JP_OPS.cache_acks == MPCC_CACHE_BY_WINDOW)

/* ---- arithmetic -------------------------------------------------------------------------------------- */

/* Among the flags of an ACK: the last step may not serve again. */
#define JP_ANEW (1U << 31)

/* A step for the window as it is. */
MPCC_INLINE void jp_renew(struct mpcc_conn *conn, u32 self)
{
	struct mpcc_subflow *sub = &conn->sub[self];

	if (sub->own.cached_cwnd == sub->cwnd)
		return;
	sub->own.cached_step = JP_OPS.increase(conn, self);
	sub->own.cached_cwnd = sub->cwnd;
}

/* Books for the packets of an ACK. */
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
 * Books for `acked` packets, and growth for `grow`, in the scratch. A step is as good as new until the
 * siblings are read again, or the own window has changed; one that depends on the own window alone stays
 * good.
 */
__noinline int jp_ack(struct jp_scratch *s, u32 acked, u32 rtt_us, u32 flags, u32 grow)
{
	struct mpcc_subflow *sub;

	if (!s)
		return 0;
	jp_note(&s->conn, JP_SELF(s), acked, rtt_us, flags);
	if (!grow)
		return 0;
	jp_renew_in(s);
	sub = jp_own_subflow(s);
	mpcc_add(&JP_OPS, sub, sub->own.cached_step, mpcc_min(grow, MPCC_CWND_MAX));
	/* Otherwise the next ACK would have to. */
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

/* Code that is rarely run lies elsewhere: what most ACKs need is not in the nearest caches. */
#define jp_unlikely(condition) __builtin_expect(condition, 0)

/* ---- short ACKs -------------------------------------------------------------------------------------- */

/* tcp_is_cwnd_limited(): in slow start the window may grow to twice what was in flight. */
MPCC_INLINE bool jp_cwnd_limited(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Whether this is a threshold, see jp_mend(). */
MPCC_INLINE bool jp_is_ssthresh(u32 ssthresh)
{
	return ssthresh <= MPCC_CWND_MAX || ssthresh == TCP_INFINITE_SSTHRESH;
}

/*
 * Slow start that goes on after this ACK. Returns false, with nothing done, if it ends, if the controller has
 * to hear of each ACK, or if the threshold is none, see jp_mend().
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

/* How an ACK is dealt with. */
enum jp_way {
	JP_DONE,  /* it was a short one */
	JP_NEAR,  /* by jp_ack_alone(): all that it needs is near */
	JP_AMONG, /* by jp_ack_among(): the connection has to be read */
};

/* Where there is something to decide in congestion avoidance, on the way of a short ACK. */
#define JP_TO_DECIDE (JP_ALONE ? JP_NEAR : JP_AMONG)

/*
 * Congestion avoidance that needs no new step: grows by `acked` steps in icsk_ca_priv, if the window is the
 * limit, and is what the next step is for: where a step is not 1/w, another one is wanted. `decides`: there
 * is something to decide anyway. Only with JP_DONE anything is done.
 */
MPCC_INLINE enum jp_way jp_short_avoid(struct tcp_sock *tp, struct mpcc_own *own, u32 acked,
                                       bool decides)
{
	s64 acc = mpcc_grown(own, own->cached_step, acked);
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
 * Whether to hear user space. An instant that is further ahead than any that is set is one of long ago: it
 * has half of the clock's bits.
 */
MPCC_INLINE bool jp_is_time_to_hear(const struct mpcc_own *own, struct tcp_sock *tp)
{
	return own->books.hear_at_us - (u32)tp->tcp_mstamp - 1 >= HEARD_QUIET_EVERY_US;
}

/*
 * An ACK at which nothing is to be decided: the last step serves once more, no round ends of which the
 * controller wants to hear, and it is not time to hear user space. All that changes lies in icsk_ca_priv,
 * near what the kernel has just used of this socket; the scratch is four lines of cache or more elsewhere,
 * behind three pointers. The controller's `ack` is told of its packets later, with those of others, see
 * jp_tell_short_acks(). Returns JP_DONE, or what is to be done instead.
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
 * How often the siblings are read while a window is acknowledged. But for a loss no window changes much in
 * between. RFC 6356 leaves it open for LIA (section 4.1); Linux' old module waited for the window to grow.
 */
#define LOOKS_PER_WINDOW 4

/*
 * Least time between two steps for one window where nobody is to be looked at and the time alone makes them
 * differ: that of Linux' CUBIC, HZ / 32.
 */
#define STEP_EVERY_US 31250

/* How many packets a step may serve. */
MPCC_INLINE u32 jp_grant(struct tcp_sock *tp)
{
	u32 cwnd = mpcc_min(tp->snd_cwnd, MPCC_CWND_MAX);
	u32 srtt_us = mpcc_max(tp->srtt_us >> SRTT_BITS, 1);
	u32 every_us = JP_HAS(MPCC_UNCOUPLED) ? STEP_EVERY_US : LOOK_EVERY_US;
	u64 packets = (u64)cwnd * every_us / srtt_us;

	/* Until user space is heard: when the window changes, jp_short_avoid() makes a new step. */
	if (JP_STEP_BY_WINDOW && JP_BOOKS_NEAR)
		return MPCC_CWND_MAX;
	if (srtt_us >= LOOKS_PER_WINDOW * every_us)
		return cwnd / LOOKS_PER_WINDOW;
	return packets < MPCC_CWND_MAX ? packets : MPCC_CWND_MAX;
}

/* Whether the step has served long enough, or it is time to hear user space. */
MPCC_INLINE bool jp_short_acks_end(struct jp_scratch *s, struct tcp_sock *tp, u32 acked)
{
	return jp_own_subflow(s)->own.cache_left < acked ||
	       (JP_BOOKS_NEAR && tp->tcp_mstamp >= s->hear_us);
}

/*
 * Tells the controller of the packets of short ACKs since the scratch was last used, before it is told of
 * something else. With `ack` all of them were limited by the window.
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

/* What a loss and a restart begin with: the connection as it is now, and nothing left untold. */
MPCC_INLINE void jp_before_event(struct jp_scratch *s, struct sock *sk, struct tcp_sock *tp)
{
	jp_load(s, tp);
	jp_tell_short_acks(s);
	jp_gather(s, sk, tp);
}

/* And what they end with: the step serves no more. */
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
 * Mends a window that no program of ours has returned. A kernel may be patched not to run programs in some
 * contexts (one seen here skips them on interrupts that come while process 1 runs). The trampoline then
 * returns what was on its stack, and the kernel takes that for the threshold.
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

/* For how many packets the step serves that an ACK has left. */
MPCC_INLINE void jp_note_grant(struct mpcc_books *books, struct mpcc_own *own, struct tcp_sock *tp,
                               u32 acked, bool looks)
{
	own->cache_left = looks ? jp_grant(tp) : own->cache_left - mpcc_min(own->cache_left, acked);
	books->granted = own->cache_left;
}

/* Long ACKs are functions of their own: what most ACKs run is one piece of code then, without a stack. */

/*
 * An ACK of a controller that sees no siblings: congestion avoidance that is limited by the window, with a
 * step for it. The connection is made up on the stack, and most of it stays in registers: the scratch lies in
 * lines of cache that nothing has used of late, and so does code that copies.
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

	/* What clang knows of them are zeros. */
	__asm__("" : "+r"(params));
	__builtin_memcpy(conn->param, params, sizeof(conn->param));
	conn->n = 1;
	conn->now_us = tp->tcp_mstamp;
	jp_read_window(sub, tp);
	/* Known here: neither recovery nor a timeout. */
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
	mpcc_add(&JP_OPS, sub, own->cached_step, mpcc_min(acked, MPCC_CWND_MAX));
	sub->cwnd = mpcc_min(sub->cwnd, tp->snd_cwnd_clamp);
	jp_renew(conn, 0);
	jp_note_grant(&own->books, own, tp, acked, step_ends);
	*kept = *own;
	tp->snd_cwnd = sub->cwnd;
}

/* An ACK for which the connection is in the scratch. */
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
	if (grow && tp->snd_cwnd < tp->snd_ssthresh)
		grow = tcp_slow_start(tp, grow);
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

	/* Of marked packets the controller is told apart. */
	if (way == JP_NEAR && tp->delivered_ce == own->books.marked)
		jp_ack_alone(tp, acked);
	else if (way != JP_DONE)
		jp_ack_among(sk, tp, acked);
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
	s->losses++;
	jp_before_event(s, sk, tp);
	if (!tp->inet_conn.icsk_pending)
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
