/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * yardstick.bpf.c - the kernel's own Reno, called from eBPF programs that do nothing else: the
 * lowest possible cost of a controller in eBPF. The controller benchmark compares ours with it.
 *
 * pkts_acked runs for the same ACKs and does nothing. It measures what the kernel's statistics add
 * to each program.
 */
#include "kernel.h"

char _license[] SEC("license") = "Dual MIT/GPL";

extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;

SEC("struct_ops")
void BPF_PROG(jp_op_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
void BPF_PROG(jp_op_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
}

SEC("struct_ops")
u32 BPF_PROG(jp_op_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
u32 BPF_PROG(jp_op_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

/* The loader writes the name. */
SEC(".struct_ops.link")
struct tcp_congestion_ops jp_ops = {
	.cong_avoid = (void *)jp_op_cong_avoid,
	.pkts_acked = (void *)jp_op_pkts_acked,
	.ssthresh = (void *)jp_op_ssthresh,
	.undo_cwnd = (void *)jp_op_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "jp_yardstick",
};
