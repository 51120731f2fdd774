/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * owner.bpf.c - a controller of cc/ that owns its window (MPCC_OWNS_WINDOW), as the kernel's
 * tcp_congestion_ops. It is compiled once per controller: JP_NAME is the controller's name,
 * JP_HEADER its header.
 *
 * `cong_control` replaces cong_avoid and the rate reduction (PRR): the kernel calls it for every
 * ACK in every state, and it sets cwnd, ssthresh and the pacing rate. The kernel still decides
 * what is lost and what to retransmit.
 *
 * cong_control has this signature since Linux 6.10. Older kernels pass the sample as the second
 * argument and refuse the program.
 */
#define JP_OWNER_STATE                                                          \
	struct mpcc_area area;   /* memory of the controller */                 \
	struct mpcc_event event; /* what is told now */                         \
	u32 lost;                /* tcp_sock.lost at the last call */           \
	u32 ca_state;            /* icsk_ca_state at the last ACK */            \
	u32 cwnd;                /* packets: what the controller wanted last */ \
	u32 in_vain;             /* a reduction was undone since */             \
	u32 acked_once;          /* an ACK was seen */                          \
	u32 timed                /* we started the pacing timer */

#include "socket.h"

/* As tcp_packets_in_flight(). */
MPCC_INLINE u32 jp_in_flight(struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* ---- arithmetic -------------------------------------------------------------------------------------- */

/* Passes s->event to the controller. */
__noinline int jp_control(struct jp_scratch *s)
{
	if (!s)
		return 0;
	mpcc_control(&JP_OPS, &s->conn, JP_SELF(s), &s->event, &s->area);
	return 0;
}

/* ---- the socket -------------------------------------------------------------------------------------- */

/* Fills in what every event has: what was lost, marked and delivered since the last event. */
MPCC_INLINE void jp_begin(struct jp_scratch *s, struct tcp_sock *tp, u32 flags)
{
	struct mpcc_books *books = jp_books(s);
	u32 delivered = tp->delivered - books->delivered;

	s->event = (struct mpcc_event){
		.flags = flags,
		.lost = tp->lost - s->lost,
		.marked = mpcc_min(tp->delivered_ce - books->marked, delivered),
		.prior_in_flight = jp_in_flight(tp),
		.in_flight = jp_in_flight(tp),
		.mss = tp->mss_cache,
		.total_delivered = tp->delivered,
	};
	if (s->event.marked)
		s->event.flags |= MPCC_ECE;
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		s->event.flags |= MPCC_CWND_LIMITED;
	books->delivered = tp->delivered;
	books->marked = tp->delivered_ce;
	s->lost = tp->lost;
}

/*
 * Adds the rate sample of an ACK. The kernel marks an unreliable sample by a negative count or
 * interval.
 */
MPCC_INLINE void jp_sample(struct mpcc_event *event, const struct rate_sample *rs)
{
	s64 rtt_us = rs->rtt_us, interval_us = rs->interval_us;
	s32 delivered = rs->delivered;

	event->acked = rs->acked_sacked;
	event->prior_in_flight = rs->prior_in_flight;
	event->prior_delivered = rs->prior_delivered;
	if (rtt_us > 0)
		event->rtt_us = (u32)mpcc_min_s64(rtt_us, MPCC_RTT_MAX_US);
	if (delivered > 0 && interval_us > 0) {
		event->delivered = (u32)delivered;
		event->interval_us = (u32)mpcc_min_s64(interval_us, ~0U);
	}
	if (rs->is_app_limited)
		event->flags |= MPCC_APP_LIMITED;
}

/*
 * Repairs an invalid window. Some patched kernels do not run eBPF programs in some contexts, and
 * take what is on the stack for the result of undo_cwnd.
 */
MPCC_INLINE void jp_mend(struct jp_scratch *s, struct tcp_sock *tp)
{
	if (tp->snd_cwnd > MPCC_CWND_MAX)
		tp->snd_cwnd = mpcc_clamp(s->cwnd, 1, MPCC_CWND_MAX);
}

/*
 * Pacing rate of an unpaced window, bytes/s: what tcp_update_pacing_rate() sets after slow start.
 * MPTCP's scheduler needs a finite rate: it divides queued bytes by the mean rate, and with ~0 the
 * product of rate and burst overflows 64 bits. Under fq, which paces by this rate, it is
 * multiplied so that it delays nothing.
 */
MPCC_INLINE u64 jp_unpaced_rate(struct tcp_sock *tp, bool has_fq)
{
	enum { GAIN = (120 << MPCC_GAIN_BITS) / 100, FAR_ABOVE = 64 };
	u32 window = mpcc_max(tp->snd_cwnd, tp->packets_out);
	u32 srtt_us = mpcc_max(tp->srtt_us >> SRTT_BITS, 1);
	u64 most = 1ULL << 40,
	    rate = mpcc_bytes_per_s(mpcc_rate(window, srtt_us), GAIN, tp->mss_cache);

	if (has_fq)
		rate *= FAR_ABOVE;
	return rate < most ? rate : most;
}

/* Calls the controller and applies its decision. */
MPCC_INLINE void jp_obey_controller(struct jp_scratch *s, struct tcp_sock *tp)
{
	struct sock *sk = &tp->inet_conn.icsk_inet.sk;
	struct mpcc_subflow *sub;
	u64 rate, most = sk->sk_max_pacing_rate;
	bool is_paced;

	jp_control(s);
	sub = jp_own_subflow(s);
	rate = sub->own.pacing_rate;
	is_paced = rate != 0;
	s->cwnd = sub->cwnd;
	tp->snd_cwnd = mpcc_min(sub->cwnd, tp->snd_cwnd_clamp);
	tp->snd_ssthresh = sub->ssthresh;
	if (!is_paced)
		rate = jp_unpaced_rate(tp, sk->sk_pacing_status == SK_PACING_FQ);
	sk->sk_pacing_rate = rate < most ? rate : most;
	/* Without the fq qdisc, TCP paces by its own timer. An unpaced window must not use it. */
	if (is_paced && sk->sk_pacing_status == SK_PACING_NONE) {
		sk->sk_pacing_status = SK_PACING_NEEDED;
		s->timed = 1;
	} else if (!is_paced && s->timed) {
		sk->sk_pacing_status = SK_PACING_NONE;
		s->timed = 0;
	}
}

/* Passes an event that is no ACK to the controller. */
MPCC_INLINE void jp_tell(struct jp_scratch *s, struct sock *sk, struct tcp_sock *tp, u32 flags)
{
	jp_gather(s, sk, tp);
	jp_begin(s, tp, flags);
	jp_obey_controller(s, tp);
	jp_publish(tp, s);
}

/* ---- tcp_congestion_ops ------------------------------------------------------------------------------ */

SEC("struct_ops")
void BPF_PROG(jp_op_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct jp_scratch *s = jp_take_socket(sk, tp);

	if (!s)
		return;
	s->lost = tp->lost;
	jp_begin(s, tp, MPCC_STARTS);
	jp_obey_controller(s, tp);
	jp_publish(tp, s);
}

SEC("struct_ops")
void BPF_PROG(jp_op_release, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct jp_scratch *s = jp_scratch_of(sk, 0);

	if (s && s->timed)
		tp->inet_conn.icsk_inet.sk.sk_pacing_status = SK_PACING_NONE;
	jp_leave_socket(sk, tp);
}

SEC("struct_ops")
void BPF_PROG(jp_op_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct jp_scratch *s = jp_scratch_of(sk, 0);
	u32 flags = 0, state;
	bool looks, round_ends;

	if (!s)
		return;
	jp_mend(s, tp);
	state = jp_ca_state(tp);
	round_ends = jp_round_ends(&jp_own_subflow(s)->own, tp);
	looks = jp_look(s, sk, tp, round_ends, tp->tcp_mstamp >= s->look_us);
	if (round_ends)
		flags |= MPCC_ROUND_END;
	if (state == TCP_CA_RECOVERY && s->ca_state < TCP_CA_RECOVERY)
		flags |= MPCC_EPISODE;
	if (s->in_vain)
		flags |= MPCC_IN_VAIN;
	s->ca_state = state;
	s->in_vain = 0;
	s->acked_once = 1;
	jp_begin(s, tp, flags);
	jp_sample(&s->event, rs);
	jp_obey_controller(s, tp);
	if (looks)
		jp_publish(tp, s);
}

/*
 * A timeout: the kernel has set cwnd to the packets in flight plus one. While the timer is pending,
 * the kernel only resends what the path's MTU has become too small for, and keeps the window.
 */
SEC("struct_ops")
void BPF_PROG(jp_op_set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct jp_scratch *s;

	if (new_state != TCP_CA_LOSS || tp->inet_conn.icsk_pending)
		return;
	s = jp_scratch_of(sk, 0);
	if (!s)
		return;
	s->ca_state = TCP_CA_LOSS;
	jp_tell(s, sk, tp, MPCC_TIMED_OUT);
}

/* The kernel calls this once per loss episode; cong_control decides how to react. */
SEC("struct_ops")
u32 BPF_PROG(jp_op_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct jp_scratch *s = jp_scratch_of(sk, 0);

	if (s)
		s->losses++;
	return tp->snd_ssthresh;
}

/*
 * Sending restarts: a packet leaves while none is in flight. The packet engine sends the same
 * event.
 */
SEC("struct_ops")
void BPF_PROG(jp_op_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct jp_scratch *s;

	if (event != CA_EVENT_TX_START && event != CA_EVENT_ECN_NO_CE &&
	    event != CA_EVENT_ECN_IS_CE)
		return;
	s = jp_scratch_of(sk, 0);
	if (!s)
		return;
	if (event != CA_EVENT_TX_START) {
		jp_receive_mark(&s->ce_state, &s->prior_rcv_nxt, tp, event == CA_EVENT_ECN_IS_CE);
		return;
	}
	if (!s->acked_once)
		return;
	jp_tell(s, sk, tp, MPCC_RESTARTS);
}

/* A loss was spurious: the packets were only late. The controller gets this with the next ACK. */
SEC("struct_ops")
u32 BPF_PROG(jp_op_undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct jp_scratch *s = jp_scratch_of(sk, 0);

	if (s)
		s->in_vain = 1;
	return tp->snd_cwnd;
}

/* The loader replaces the name if the controller serves only one lab. */
SEC(".struct_ops.link")
struct tcp_congestion_ops jp_ops = {
	.init = (void *)jp_op_init,
	.release = (void *)jp_op_release,
	.cong_control = (void *)jp_op_cong_control,
	.set_state = (void *)jp_op_set_state,
	.ssthresh = (void *)jp_op_ssthresh,
	.cwnd_event = (void *)jp_op_cwnd_event,
	.undo_cwnd = (void *)jp_op_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED | (JP_HAS(MPCC_READS_MARKS) ? TCP_CONG_NEEDS_ECN : 0),
	.name = "jp_" JP_QUOTE(JP_NAME),
};
