/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * maps.h - what a controller shares with user space. control.rs and subflow.rs in crates/kernel/src/cc have
 * the same structures.
 */
#ifndef JP_MAPS_H
#define JP_MAPS_H

#include "kernel.h"

#define JP_MAX_CONTROLS 16384 /* entries: one number each */
#define JP_MAX_SUBFLOWS 65536 /* entries: further subflows run as well, unlisted */

/*
 * The control plane says one number by entry. Of several that are about a subflow the first kind counts,
 * number by number.
 */
enum jp_control_kind { JP_BY_CONNECTION = 1, JP_BY_ADDRESS, JP_BY_INTERFACE };

/* The numbers, in the fixed point of struct mpcc_own. */
enum jp_control_field {
	JP_ENERGY_COST,  /* Q16 */
	JP_TARGET_SHARE, /* Q20 */
	JP_PATH_PRICE,   /* Q16 */
	JP_LOSS,         /* Q30 */
	JP_PACING,       /* bytes/s; 0: as fast as the window lets it */
	JP_GROUP,        /* number of a shared bottleneck, 0: none known */
	JP_HISTORY_RTT,  /* us: least RTT known of the path, 0: unknown */
	JP_FIELDS
};

struct jp_control_key {
	u64 netns;      /* cookie of the network namespace */
	u32 kind;       /* enum jp_control_kind */
	u32 field;      /* enum jp_control_field */
	u32 id;         /* JP_BY_CONNECTION: token; JP_BY_INTERFACE: index; else 0 */
	u32 local_id;   /* JP_BY_CONNECTION: the subflow's local address id; else 0 */
	u32 address[4]; /* JP_BY_ADDRESS: in network order, IPv4 as ::ffff:a.b.c.d; else 0 */
};
_Static_assert(sizeof(struct jp_control_key) == 40, "as in control.rs");

/*
 * A number holds until its lease ends: whoever wrote it may have died. The entry whose key is all zero is no
 * number. Its until_ns is when something was said or taken back last, so that a subflow looks for numbers
 * only if there may be others.
 */
struct jp_control {
	u64 until_ns; /* boot clock */
	u32 value;
	u32 reserved;
};
_Static_assert(sizeof(struct jp_control) == 16, "as in control.rs");

/*
 * What a subflow shows, written within a window's ACKs: once in 10 ms at most, and in 100 ms while nobody
 * says anything.
 */
struct jp_subflow {
	u64 netns;      /* cookie of the network namespace */
	u64 loaded_ns;  /* which load of the controller serves it, see jp_loaded_ns */
	u64 updated_us; /* us: monotonic clock */
	u32 token;      /* of the MPTCP connection, 0: plain TCP */
	u32 local_id;   /* MPTCP address id */
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
	u32 heard[JP_FIELDS];         /* what the control plane said, see enum jp_control_field */
	u64 own_limit;                /* bytes/s: the application's own limit while paced, else 0 */
};
_Static_assert(sizeof(struct jp_subflow) == 144, "as in subflow.rs");

/* By the address of the socket: no two that live have the same. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JP_MAX_SUBFLOWS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct jp_subflow);
} jp_subflows SEC(".maps");

#endif
