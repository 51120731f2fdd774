/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * kernel.h - the kernel types that a congestion controller uses. libbpf relocates every access by
 * the running kernel's BTF (CO-RE): only names and types matter here, not layout, and unused
 * fields are omitted.
 */
#ifndef JP_KERNEL_H
#define JP_KERNEL_H

#include "mpcc.h" /* u32, u64, s32, s64 */

typedef unsigned char u8;
typedef unsigned short u16;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef signed char __s8;
typedef short __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
typedef _Bool bool;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

#define AF_INET               2
#define TCP_ESTABLISHED       1
#define TCP_CA_CWR            2
#define TCP_CA_RECOVERY       3
#define TCP_CA_LOSS           4
#define TCP_CA_NAME_BYTES     16
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define CA_PRIV_WORDS         13

#define BPF_MAP_TYPE_HASH           1
#define BPF_MAP_TYPE_SK_STORAGE     24
#define BPF_F_NO_PREALLOC           1
#define BPF_ANY                     0
#define BPF_SK_STORAGE_GET_F_CREATE 1
#define SOL_SOCKET                  1
#define SO_MAX_PACING_RATE          47
#define SK_PACING_NONE              0
#define SK_PACING_NEEDED            1
#define SK_PACING_FQ                2
#define TCP_CONG_NON_RESTRICTED     1
#define TCP_CONG_NEEDS_ECN          2
#define TCP_ECN_DEMAND_CWR          4
#define ICSK_ACK_TIMER              2
#define ICSK_ACK_NOW                16

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
};

struct net {
	u64 net_cookie;
	void *gen;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	u16 skc_family;
	volatile u8 skc_state;
	u16 skc_dport;
	u16 skc_num;
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	possible_net_t skc_net;
};

struct net_device {
	u32 ifindex;
};

struct dst_entry {
	struct net_device *dev;
};

struct sock {
	struct sock_common __sk_common;
	struct dst_entry *sk_dst_cache;
	u32 sk_rx_dst_ifindex;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const struct tcp_congestion_ops *icsk_ca_ops;
	void *icsk_ulp_data;
	u8 icsk_ca_state : 5, icsk_ca_setsockopt : 1;
	u8 icsk_retransmits;
	u8 icsk_pending;
	struct {
		u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[CA_PRIV_WORDS];
};

struct tcp_rack {
	u32 rtt_us;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 srtt_us;
	u32 packets_out;
	u32 max_packets_out;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 lost_out;
	u32 sacked_out;
	u32 retrans_out;
	u32 rcv_nxt;
	u32 total_retrans;
	u64 tcp_mstamp;
	u8 ecn_flags;
	u8 is_cwnd_limited : 1;
	bool is_mptcp;
	struct tcp_rack rack;
};

struct rate_sample {
	u32 prior_delivered;
	s32 delivered;
	long interval_us;
	long rtt_us;
	u32 acked_sacked;
	u32 prior_in_flight;
	bool is_app_limited;
};

struct ack_sample;

struct mptcp_sock {
	struct list_head conn_list;
};

struct mptcp_subflow_context {
	struct list_head node;
	u32 token;
	u32 request_bkup : 1, backup : 1, closing : 1, stale : 1;
	u8 local_id;
	struct sock *tcp_sock;
	struct sock *conn;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[TCP_CA_NAME_BYTES];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
};

#pragma clang attribute pop

/* kfuncs */
extern void *bpf_rdonly_cast(const void *object, u32 btf_id) __ksym __weak;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

#endif
