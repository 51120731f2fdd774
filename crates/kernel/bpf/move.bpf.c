/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * move.bpf.c - moves the sockets of one network namespace from an older load of a controller to
 * the newest load with the same name.
 *
 * A socket keeps its controller when another one takes over the name, and the kernel has no
 * command to change that. A BPF iterator over TCP sockets may set socket options: TCP_CONGESTION
 * by name selects the newest load. The window and the threshold stay, the controller's own state
 * is reset.
 */
#include "maps.h"

#define AF_INET6       10
#define SOL_TCP        6
#define TCP_CONGESTION 13
#define TCP_LISTEN     10

char _license[] SEC("license") = "Dual MIT/GPL";

struct seq_file;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

#pragma clang attribute pop

/* The loader writes these before the kernel verifies the program. */
const volatile char jp_name[TCP_CA_NAME_BYTES] SEC(".rodata.name");
const volatile u64 jp_current_ns SEC(".rodata.current");

/* Result for one socket. */
enum jp_move { JP_MOVED = 1, JP_REFUSED = 2 };

MPCC_INLINE bool jp_has_name(const struct tcp_congestion_ops *ops)
{
	char name[TCP_CA_NAME_BYTES] = {};

	if (bpf_probe_read_kernel(name, sizeof(name), ops->name))
		return 0;
#pragma unroll
	for (u32 i = 0; i < TCP_CA_NAME_BYTES; i++) {
		if (name[i] != jp_name[i])
			return 0;
		if (!name[i])
			break;
	}
	return 1;
}

/*
 * Restores the application's pacing limit, which the new load cannot know. If the current limit is
 * not ours, it is the application's and stays.
 */
MPCC_INLINE void jp_end_pacing(struct tcp_sock *tp, const struct jp_subflow *shown)
{
	u32 limit = shown->own_limit < ~0U ? (u32)shown->own_limit : ~0U;

	if (shown->own_limit &&
	    tp->inet_conn.icsk_inet.sk.sk_max_pacing_rate == shown->heard[JP_PACING])
		bpf_setsockopt(tp, SOL_SOCKET, SO_MAX_PACING_RATE, &limit, sizeof(limit));
}

SEC("iter/tcp")
int jp_move(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct jp_subflow *shown;
	struct tcp_sock *tp;
	bool listens;
	u8 said = JP_MOVED;
	char name[TCP_CA_NAME_BYTES];
	u64 key;

	if (!common)
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	if (!tp || !jp_has_name(tp->inet_conn.icsk_ca_ops))
		return 0;
	/*
	 * A listening socket with the default controller passes the current default to its
	 * children; its own controller does not matter.
	 */
	listens = common->skc_state == TCP_LISTEN;
	if (listens && !BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_setsockopt))
		return 0;
	key = (u64)tp;
	shown = bpf_map_lookup_elem(&jp_subflows, &key);
	if (shown && shown->loaded_ns == jp_current_ns)
		return 0;
#pragma unroll
	for (u32 i = 0; i < TCP_CA_NAME_BYTES; i++)
		name[i] = jp_name[i];
	if (shown)
		jp_end_pacing(tp, shown);
	if (bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))
		said = JP_REFUSED;
	/* A listening socket has nothing in flight and publishes no state, so it is not counted. */
	if (listens)
		return 0;
	bpf_seq_write(ctx->meta->seq, &said, sizeof(said));
	return 0;
}
