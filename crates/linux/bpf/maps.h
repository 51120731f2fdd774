/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * maps.h - what a controller shares with user space. crates/linux/src/cc/maps.rs has the same structures.
 */
#ifndef JP_MAPS_H
#define JP_MAPS_H

#include "kernel.h"

#define JP_MAX_CONTROLS 4096  /* entries: rules of the control plane */
#define JP_MAX_SUBFLOWS 65536 /* entries: further subflows run as well, unlisted */

/* The control plane's word on a subflow, found by the first key that is there: connection, local address, interface. */
enum jp_control_kind { JP_BY_CONNECTION = 1, JP_BY_ADDRESS, JP_BY_INTERFACE };

struct jp_control_key {
	u32 kind;       /* enum jp_control_kind */
	u32 netns;      /* inode number of the network namespace */
	u32 id;         /* JP_BY_CONNECTION: token; JP_BY_INTERFACE: index; else 0 */
	u32 local_id;   /* JP_BY_CONNECTION: the subflow's local address id; else 0 */
	u32 address[4]; /* JP_BY_ADDRESS: in network order, IPv4 as ::ffff:a.b.c.d; else 0 */
};

/* As in struct mpcc_own. */
struct jp_control {
	u32 energy_cost;  /* Q16 */
	u32 target_share; /* Q20 */
	u32 path_price;   /* Q16 */
	u32 loss;         /* Q30 */
	u32 pacing;       /* bytes/s; 0: as fast as the window lets it */
};

/* What a subflow shows, written once per round trip. */
struct jp_subflow {
	u32 netns;
	u32 token;    /* of the MPTCP connection, 0: plain TCP */
	u32 local_id; /* MPTCP address id */
	u32 ifindex;
	u32 local[4]; /* as in struct jp_control_key */
	u32 remote[4];
	u16 local_port, remote_port;  /* host order */
	u32 siblings;                 /* subflows coupled with, itself included */
	u32 cwnd, ssthresh;           /* packets */
	u32 srtt_us, base_rtt_us;     /* us */
	u32 mss;                      /* bytes */
	u32 delivered, retransmitted; /* packets, wrap */
	u32 losses;                   /* loss episodes */
	struct jp_control control;
	u32 reserved;
	u64 updated_us; /* us: monotonic clock */
};
_Static_assert(sizeof(struct jp_subflow) == 120, "as in maps.rs");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JP_MAX_CONTROLS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct jp_control_key);
	__type(value, struct jp_control);
} jp_controls SEC(".maps");

/* By the address of the socket: no two that live have the same. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JP_MAX_SUBFLOWS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct jp_subflow);
} jp_subflows SEC(".maps");

/*
 * A socket's own copy of its connection. In the socket's storage, because it exceeds the stack and because a map by CPU
 * would be torn: an ACK handled in process context can be interrupted by one of another socket.
 */
struct jp_scratch {
	struct mpcc_conn conn;
	u64 look_us;      /* us: when the siblings are read again */
	u32 self;         /* slot of this socket in conn.sub[] */
	u32 delivered;    /* tcp_sock.delivered at the last ACK seen */
	u32 delivered_ce; /* the same of marks, at the last ACK or loss */
	u32 losses;
	u32 prior_rcv_nxt; /* DCTCP: receiver's state */
	u32 ce_state;
	u32 pacing; /* bytes/s: the limit in force, 0: none */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct jp_scratch);
} jp_scratches SEC(".maps");

/* Parameters as distances from their defaults; the loader writes them before the program is verified. */
const volatile s32 jp_params[MPCC_MAX_PARAMS] SEC(".rodata.params");

#endif
