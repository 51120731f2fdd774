/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * maps.h - the maps that a controller shares with user space. control.rs and subflow.rs in
 * crates/kernel/src/cc define the same structures.
 */
#ifndef JP_MAPS_H
#define JP_MAPS_H

#include "kernel.h"

#define JP_MAX_CONTROLS 16384 /* entries: one value each */
#define JP_MAX_SUBFLOWS 65536 /* entries: further subflows run unlisted */

/*
 * Each entry holds one control value. If several kinds apply to a subflow, the first kind wins,
 * field by field.
 */
enum jp_control_kind { JP_BY_CONNECTION = 1, JP_BY_ADDRESS, JP_BY_INTERFACE };

/* The fields, in the fixed point of struct mpcc_own. */
enum jp_control_field {
	JP_ENERGY_COST,  /* Q16 */
	JP_TARGET_SHARE, /* Q20 */
	JP_PATH_PRICE,   /* Q16 */
	JP_LOSS,         /* Q30 */
	JP_PACING,       /* bytes/s; 0: no limit */
	JP_GROUP,        /* number of a shared bottleneck, 0: none known */
	JP_HISTORY_RTT,  /* us: lowest RTT known of the path, 0: unknown */
	JP_FIELDS
};

struct jp_control_key {
	u64 netns;      /* cookie of the network namespace */
	u32 kind;       /* enum jp_control_kind */
	u32 field;      /* enum jp_control_field */
	u32 id;         /* JP_BY_CONNECTION: token; JP_BY_INTERFACE: index; else 0 */
	u32 local_id;   /* JP_BY_CONNECTION: the subflow's address id; else 0 */
	u32 address[4]; /* JP_BY_ADDRESS: in network order, IPv4 as ::ffff:a.b.c.d; else 0 */
};
_Static_assert(sizeof(struct jp_control_key) == 40, "as in control.rs");

/*
 * A value is valid until its lease ends, since its writer may have died. The entry with an
 * all-zero key is no value: its until_ns is the time of the last change, so that a subflow reads
 * values only after a change.
 */
struct jp_control {
	u64 until_ns; /* boot clock */
	u32 value;
	u32 reserved;
};
_Static_assert(sizeof(struct jp_control) == 16, "as in control.rs");

/*
 * A subflow's state, written at most once per 10 ms, and once per 100 ms while user space is
 * quiet.
 */
struct jp_subflow {
	u64 netns;      /* cookie of the network namespace */
	u64 loaded_ns;  /* jp_loaded_ns of the load that serves it */
	u64 updated_us; /* us: monotonic clock */
	u32 token;      /* of the MPTCP connection, 0: plain TCP */
	u32 local_id;   /* MPTCP address id */
	u32 ifindex;
	u32 local[4]; /* as in struct jp_control_key */
	u32 remote[4];
	u16 local_port, remote_port;  /* host order */
	u32 siblings;                 /* coupled subflows, including this one */
	u32 cwnd, ssthresh;           /* packets */
	u32 srtt_us, base_rtt_us;     /* us */
	u32 mss;                      /* bytes */
	u32 delivered, retransmitted; /* packets, wrap */
	u32 losses;                   /* loss episodes */
	u32 heard[JP_FIELDS];         /* control values in use, see enum jp_control_field */
	u64 own_limit;                /* bytes/s: the application's own limit while paced, else 0 */
};
_Static_assert(sizeof(struct jp_subflow) == 144, "as in subflow.rs");

/* The key is the socket's address, which is unique among live sockets. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JP_MAX_SUBFLOWS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct jp_subflow);
} jp_subflows SEC(".maps");

#endif
