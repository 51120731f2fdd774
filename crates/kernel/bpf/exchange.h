/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* exchange.h - reads user space's control values for a subflow and publishes the subflow's state. */
#ifndef JP_EXCHANGE_H
#define JP_EXCHANGE_H

#include "connection.h"

/* Least time between two exchanges with user space, and the same while user space is quiet. */
#define HEARD_EVERY_US       10000
#define HEARD_QUIET_EVERY_US 100000
/*
 * User space counts as quiet after this time without a change. Programs that steer write more
 * often.
 */
#define QUIET_AFTER_NS 10000000000ULL
#define HEARD_WITHIN_US \
	1000000 /* most time between two lookups: a writer may die before it marks its change */
#define NEVER_NS (~0ULL)

/*
 * When this object was loaded, ns of the boot clock. Distinguishes the sockets of two loads that
 * share maps.
 */
const volatile u64 jp_loaded_ns SEC(".rodata.load");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JP_MAX_CONTROLS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct jp_control_key);
	__type(value, struct jp_control);
} jp_controls SEC(".maps");

MPCC_INLINE void jp_address(u32 to[4], u32 family, u32 v4, const struct in6_addr *v6)
{
	to[0] = to[1] = 0;
	to[2] = bpf_htonl(0xffff);
	to[3] = v4;
	if (family != AF_INET) {
#pragma unroll
		for (u32 i = 0; i < 4; i++)
			to[i] = v6->in6_u.u6_addr32[i];
	}
}

MPCC_INLINE struct mptcp_subflow_context *jp_subflow_of(struct tcp_sock *tp)
{
	return jp_cast(struct mptcp_subflow_context, tp->inet_conn.icsk_ulp_data);
}

MPCC_INLINE u64 jp_netns(struct tcp_sock *tp)
{
	return tp->inet_conn.icsk_inet.sk.__sk_common.skc_net.net->net_cookie;
}

/*
 * Reads the value of one key, unless its lease has ended, and lowers s->ends_ns to the end of the
 * lease. Returns the field as a bit. A __noinline function: otherwise the verifier would follow
 * all combinations of 21 keys.
 */
__noinline u32 jp_take(struct jp_scratch *s, struct jp_subflow *shown, struct jp_control_key *key,
                       u64 now_ns)
{
	struct jp_control *control;
	u32 field;

	if (!s || !shown || !key)
		return 0;
	field = key->field;
	if (field >= JP_FIELDS)
		return 0;
	control = bpf_map_lookup_elem(&jp_controls, key);
	if (!control || control->until_ns <= now_ns)
		return 0;
	shown->heard[field] = control->value;
	if (control->until_ns < s->ends_ns)
		s->ends_ns = control->until_ns;
	return 1U << field;
}

/* Reads the values of one kind of key, except fields in `said`, which a more specific key has set. */
MPCC_INLINE u32 jp_take_all(struct jp_scratch *s, struct jp_subflow *shown,
                            struct jp_control_key *key, u32 said, u64 now_ns)
{
	for (u32 field = 0; field < JP_FIELDS; field++) {
		key->field = field;
		if (!(said & 1U << field))
			said |= jp_take(s, shown, key, now_ns);
	}
	return said;
}

MPCC_INLINE void jp_obey(struct mpcc_own *own, const struct jp_subflow *shown)
{
	if (!JP_MARKS_NEAR) {
		own->energy_cost = shown->heard[JP_ENERGY_COST];
		own->path_price = shown->heard[JP_PATH_PRICE];
	}
	own->target_share = shown->heard[JP_TARGET_SHARE];
	own->loss = shown->heard[JP_LOSS];
	if (JP_HAS(MPCC_OWNS_WINDOW)) {
		own->group = shown->heard[JP_GROUP];
		own->history_rtt_us = shown->heard[JP_HISTORY_RTT];
	}
}

/* Time of the last change of jp_controls: ns of the boot clock, 0: never. */
MPCC_INLINE u64 jp_last_said(void)
{
	struct jp_control_key none = {};
	struct jp_control *last = bpf_map_lookup_elem(&jp_controls, &none);

	return last ? last->until_ns : 0;
}

/*
 * Reads all control values for this subflow, in up to 21 lookups, without those whose lease has
 * ended. It reads the time of the last change first, so that a concurrent change is found at the
 * next exchange.
 */
__noinline int jp_hear(struct jp_scratch *s, struct jp_subflow *shown)
{
	struct jp_control_key key = {};
	u64 now_ns = bpf_ktime_get_boot_ns();
	u32 said = 0;

	if (!s || !shown)
		return 0;
	s->said_ns = jp_last_said();
	s->heard_us = s->conn.now_us;
	s->ends_ns = NEVER_NS;
#pragma unroll
	for (u32 field = 0; field < JP_FIELDS; field++)
		shown->heard[field] = 0;
	key.netns = shown->netns;
	if (shown->token) {
		key.kind = JP_BY_CONNECTION;
		key.id = shown->token;
		key.local_id = shown->local_id;
		said = jp_take_all(s, shown, &key, said, now_ns);
		key.local_id = 0;
	}
	key.kind = JP_BY_ADDRESS;
	key.id = 0;
	__builtin_memcpy(key.address, shown->local, sizeof(key.address));
	said = jp_take_all(s, shown, &key, said, now_ns);
	__builtin_memset(key.address, 0, sizeof(key.address));
	key.kind = JP_BY_INTERFACE;
	key.id = shown->ifindex;
	jp_take_all(s, shown, &key, said, now_ns);
	jp_obey(&jp_own_subflow(s)->own, shown);
	return 0;
}

/* True if control values may have changed since the last lookup. */
__noinline int jp_may_hear_more(struct jp_scratch *s)
{
	if (!s)
		return 0;
	return s->conn.now_us - s->heard_us >= HEARD_WITHIN_US || jp_last_said() != s->said_ns ||
	       (s->ends_ns != NEVER_NS && bpf_ktime_get_boot_ns() >= s->ends_ns);
}

/* True if user space has written nothing for some time, as far as this subflow knows. */
MPCC_INLINE bool jp_is_quiet(const struct jp_scratch *s)
{
	return bpf_ktime_get_boot_ns() - s->said_ns >= QUIET_AFTER_NS;
}

/* Fills in the fields that are constant for the life of a subflow. */
MPCC_INLINE void jp_describe(struct jp_subflow *shown, struct tcp_sock *tp)
{
	struct sock_common *common = &tp->inet_conn.icsk_inet.sk.__sk_common;
	u32 family = common->skc_family;

	shown->netns = jp_netns(tp);
	shown->loaded_ns = jp_loaded_ns;
	shown->local_port = common->skc_num;
	shown->remote_port = bpf_ntohs(common->skc_dport);
	jp_address(shown->local, family, common->skc_rcv_saddr, &common->skc_v6_rcv_saddr);
	jp_address(shown->remote, family, common->skc_daddr, &common->skc_v6_daddr);
}

/*
 * Index of the interface of its route; without a route, that of the last received packet, else the
 * previous one.
 */
MPCC_INLINE u32 jp_ifindex(struct tcp_sock *tp, u32 before)
{
	struct dst_entry *route = tp->inet_conn.icsk_inet.sk.sk_dst_cache;
	u32 received = tp->inet_conn.icsk_inet.sk.sk_rx_dst_ifindex;

	if (route && route->dev)
		return route->dev->ifindex;
	return received ? received : before;
}

/*
 * Fills in the fields that change. The token becomes known only some time after the first subflow,
 * and a route may change. Returns 0 if the same control keys apply as before.
 */
MPCC_INLINE u32 jp_show(struct jp_subflow *shown, struct jp_scratch *s, struct tcp_sock *tp)
{
	struct mpcc_subflow *sub = jp_own_subflow(s);
	u32 ifindex = jp_ifindex(tp, shown->ifindex), token = 0, local_id = shown->local_id;
	u32 other; /* computed without a branch, since the verifier would follow both sides */

	if (tp->is_mptcp) {
		struct mptcp_subflow_context *subflow = jp_subflow_of(tp);

		token = subflow->token;
		local_id = (u8)BPF_CORE_READ_BITFIELD(subflow, local_id);
	}
	other = (ifindex ^ shown->ifindex) | (token ^ shown->token) | (local_id ^ shown->local_id);
	shown->ifindex = ifindex;
	shown->token = token;
	shown->local_id = local_id;
	shown->siblings = mpcc_established(&s->conn);
	shown->cwnd = sub->cwnd;
	shown->ssthresh = sub->ssthresh;
	shown->srtt_us = sub->srtt_us;
	shown->base_rtt_us = sub->own.base_rtt_us;
	shown->mss = tp->mss_cache;
	shown->delivered = tp->delivered;
	shown->retransmitted = tp->total_retrans;
	shown->losses = s->losses;
	shown->updated_us = s->conn.now_us;
	return other;
}

/*
 * Limits the rate at which segments leave, in bytes/s. Setting sk_pacing_rate would not last:
 * after cong_avoid the kernel recomputes it from the window and caps it at SO_MAX_PACING_RATE.
 * Setting SO_MAX_PACING_RATE also starts TCP's own pacing timer, so no qdisc is needed. The
 * application may set the option, too: the lower limit applies, and the application's limit is
 * restored when ours ends. A value that we have not set is the application's latest.
 */
MPCC_INLINE void jp_pace(struct jp_scratch *s, struct sock *sk, u32 pacing)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u64 now = tp->inet_conn.icsk_inet.sk.sk_max_pacing_rate;
	u32 wanted;

	if (!pacing && !s->paced)
		return;
	if (!s->paced) {
		s->own_limit = now;
		s->own_status = tp->inet_conn.icsk_inet.sk.sk_pacing_status;
	} else if (now != s->limit) {
		s->own_limit = now;
	}
	/*
	 * An application's limit above 4 GB/s is restored as "none": the kernel takes 32 bits
	 * here.
	 */
	wanted = s->own_limit < ~0U ? (u32)s->own_limit : ~0U;
	if (pacing && pacing < wanted)
		wanted = pacing;
	if (bpf_setsockopt(sk, SOL_SOCKET, SO_MAX_PACING_RATE, &wanted, sizeof(wanted)))
		return;
	s->limit = tp->inet_conn.icsk_inet.sk.sk_max_pacing_rate;
	s->paced = pacing != 0;
	if (!pacing && s->own_status == SK_PACING_NONE && s->own_limit == ~0UL)
		tp->inet_conn.icsk_inet.sk.sk_pacing_status = SK_PACING_NONE;
}

/*
 * Exchanges control values and state with user space, at most once per 10 ms. An exchange costs as
 * much as 30 ACKs, so it is less frequent while user space is quiet.
 */
MPCC_INLINE void jp_exchange(struct jp_scratch *s, struct sock *sk, struct tcp_sock *tp)
{
	u64 key = (u64)sk;
	struct jp_subflow *shown = bpf_map_lookup_elem(&jp_subflows, &key);

	s->hear_us = s->conn.now_us + HEARD_EVERY_US;
	if (!shown)
		return;
	if (jp_show(shown, s, tp) | (u32)jp_may_hear_more(s))
		jp_hear(s, shown);
	if (jp_is_quiet(s))
		s->hear_us = s->conn.now_us + HEARD_QUIET_EVERY_US;
	jp_pace(s, sk, shown->heard[JP_PACING]);
	shown->own_limit = s->paced ? s->own_limit : 0;
}

#endif
