/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * socket.h - what the two wrappers of controllers share, controller.bpf.c and owner.bpf.c: the connection as
 * one socket sees it, and what user space says and sees. Included once per object, after JP_NAME and
 * JP_HEADER were defined.
 *
 * A socket without siblings (plain TCP, MPTCP after a fallback) is a connection of one subflow.
 */
#ifndef JP_SOCKET_H
#define JP_SOCKET_H

#include "maps.h"
#include "mpcc_run.h"
/*
 * Constant tables of 4, 8, 16 or 32 bytes would lie in sections of their own, while their types (BTF) say
 * .rodata: the kernel refuses that.
 */
#pragma clang section rodata = ".rodata"
#include JP_HEADER
#pragma clang section rodata = ""

#define JP_PASTE_(a, b) a##b
#define JP_PASTE(a, b)  JP_PASTE_(a, b)
#define JP_QUOTE_(a)    #a
#define JP_QUOTE(a)     JP_QUOTE_(a)
#define JP_OPS          JP_PASTE(mpcc_ops_, JP_NAME)
#define JP_HAS(flag)    (JP_PASTE(mpcc_capabilities_, JP_NAME) & (flag))
/* The own slot. A constant where there are no siblings to see. */
#define JP_SELF(s) (JP_HAS(MPCC_UNCOUPLED) ? 0 : MPCC_SLOT((s)->self))
/* Whether most ACKs need nothing but icsk_ca_priv, see jp_short_ack(). */
#define JP_SHORT_ACKS (!JP_HAS(MPCC_OWNS_WINDOW) && (!JP_OPS.ack || JP_HAS(MPCC_ACKS_IN_SUM)))

#define DEAD_AFTER     4     /* timeouts without an answer: as net.mptcp.stale_loss_cnt has it */
#define SRTT_BITS      3     /* tcp_sock.srtt_us is 8 times the smoothed RTT */
#define HEARD_EVERY_US 10000 /* least time between two exchanges with user space */
#define HEARD_WITHIN_US \
	1000000 /* most time: who says something may die before the entry says that there is something */
#define NEVER_NS      (~0ULL)
#define LOOK_EVERY_US 125 /* least time between two looks at siblings */
#define LOOKS_PER_RTT \
	8 /* a walk over the siblings costs as much as all else, and no window changes much in between */

char _license[] SEC("license") = "Dual MIT/GPL";

/* ---- tunables, maps, state --------------------------------------------------------------------------- */

/* Parameters as distances from their defaults; the loader writes them before the program is verified. */
const volatile s32 jp_params[MPCC_MAX_PARAMS] SEC(".rodata.params");

/* When this object was loaded, ns of the boot clock: tells sockets of two loads apart that share maps. */
const volatile u64 jp_loaded_ns SEC(".rodata.load");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JP_MAX_CONTROLS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct jp_control_key);
	__type(value, struct jp_control);
} jp_controls SEC(".maps");

/*
 * A socket's own copy of its connection. In the socket's storage, because it exceeds the stack and because a
 * map by CPU would be torn: an ACK handled in process context can be interrupted by one of another socket.
 *
 * With short ACKs the controller's state of the own subflow lives in icsk_ca_priv, and conn.sub[self].own is
 * a copy for the time of one call. Otherwise it lives in conn.sub[self].own, and icsk_ca_priv holds a copy
 * for the siblings. See jp_load() and jp_publish().
 */
struct jp_scratch {
	u64 hear_us;       /* us: when user space is heard and shown something again */
	u64 heard_us;      /* us: when all numbers were looked for */
	u64 said_ns;       /* ns: when the last of them was said, as far as was known then */
	u64 ends_ns;       /* ns: boot clock: when the first lease of those that were found ends */
	u64 own_limit;     /* bytes/s: SO_MAX_PACING_RATE as the application has it, while paced */
	u64 limit;         /* bytes/s: SO_MAX_PACING_RATE as it was set here, while paced */
	u32 paced;         /* whether SO_MAX_PACING_RATE was set here */
	u32 own_status;    /* sk_pacing_status before that */
	u32 losses;        /* loss episodes */
	u32 prior_rcv_nxt; /* DCTCP: receiver's state */
	u32 ce_state;
	/* Kernel addresses while the siblings are read, see jp_read_subflow(). */
	u64 sk;   /* this socket */
	u64 ops;  /* its controller */
	u64 head; /* the list of subflows */
	u64 node; /* the next one */
#ifdef JP_OWNER_STATE
	JP_OWNER_STATE; /* of owner.bpf.c */
#endif
	/* What each ACK reads lies together: four lines of cache up to the first subflow of conn. */
	u32 self;         /* slot of this socket in conn.sub[], see JP_SELF */
	u32 delivered;    /* tcp_sock.delivered up to where the controller was told of it */
	u32 delivered_ce; /* the same of marks, at the last ACK or loss */
	u32 granted;      /* packets: own.cache_left when it was last written here */
	u64 look_us;      /* us: when the siblings are read again; not with short ACKs */
	struct mpcc_conn conn;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct jp_scratch);
} jp_scratches SEC(".maps");

/* ---- the connection ---------------------------------------------------------------------------------- */

MPCC_INLINE struct mpcc_subflow *jp_own_subflow(struct jp_scratch *s)
{
	return &s->conn.sub[JP_SELF(s)];
}

MPCC_INLINE u32 jp_ca_state(struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

MPCC_INLINE u32 jp_flags(struct tcp_sock *tp)
{
	u32 state = jp_ca_state(tp), flags = 0;

	if (tp->inet_conn.icsk_inet.sk.__sk_common.skc_state == TCP_ESTABLISHED)
		flags |= MPCC_ESTABLISHED;
	if (state == TCP_CA_CWR || state == TCP_CA_RECOVERY)
		flags |= MPCC_RECOVERY;
	if (state == TCP_CA_LOSS)
		flags |= MPCC_LOSS;
	return flags;
}

MPCC_INLINE void jp_copy_own(struct mpcc_own *to, const void *from)
{
	const u64 *words = from;

	_Static_assert(sizeof(struct mpcc_own) == 8 * CA_PRIV_WORDS, "copied by words");
#pragma unroll
	for (u32 i = 0; i < CA_PRIV_WORDS; i++)
		((u64 *)to)[i] = words[i];
}

/* What the kernel keeps of a subflow. */
MPCC_INLINE void jp_read(struct mpcc_subflow *sub, struct tcp_sock *tp)
{
	sub->cwnd = tp->snd_cwnd;
	sub->ssthresh = tp->snd_ssthresh;
	sub->srtt_us = tp->srtt_us >> SRTT_BITS;
	sub->flags = jp_flags(tp);
}

/* The controller's state, where it does not live in the scratch. */
MPCC_INLINE void jp_load(struct jp_scratch *s, struct tcp_sock *tp)
{
	if (JP_SHORT_ACKS)
		jp_copy_own(&jp_own_subflow(s)->own, tp->inet_conn.icsk_ca_priv);
}

/*
 * Shows the controller's state to the siblings: whenever this socket looks at theirs, at a loss and at a
 * restart. Nobody looks at that of an uncoupled one. With short ACKs it is kept so.
 */
MPCC_INLINE void jp_publish(struct tcp_sock *tp, struct jp_scratch *s)
{
	if (!JP_HAS(MPCC_UNCOUPLED) || JP_SHORT_ACKS)
		jp_copy_own((struct mpcc_own *)tp->inet_conn.icsk_ca_priv, &jp_own_subflow(s)->own);
}

/*
 * Carries data: neither waiting as a backup nor given up by the scheduler, nor dead. The scheduler gives a
 * subflow up when the connection had to send again what was on it, a few times; one whose data another
 * subflow has brought at once can time out for ever without that.
 */
MPCC_INLINE bool jp_in_use(struct mptcp_subflow_context *subflow, struct tcp_sock *tp)
{
	if (tp->inet_conn.icsk_retransmits >= DEAD_AFTER)
		return 0;
	return !(BPF_CORE_READ_BITFIELD(subflow, request_bkup) |
	         BPF_CORE_READ_BITFIELD(subflow, backup) | BPF_CORE_READ_BITFIELD(subflow, stale) |
	         BPF_CORE_READ_BITFIELD(subflow, closing));
}

#define jp_cast(type, object) ((type *)bpf_rdonly_cast((object), bpf_core_type_id_kernel(type)))

/*
 * Reads the subflow at s->node, and goes on to the next one. Returns 0 at the end of the list. Nothing is
 * locked: a sibling may change meanwhile, so every value is one that it had at some instant, and reads of
 * what is gone give zero.
 *
 * A function that the verifier takes once, and whose code is in the cache for the second subflow. It finds
 * kernel addresses in the scratch as numbers: such a function may not be given pointers to kernel objects.
 */
__noinline int jp_read_subflow(struct jp_scratch *s, u32 slot)
{
	struct mptcp_subflow_context *subflow;
	struct mpcc_subflow *sub;
	struct tcp_sock *other;

	if (!s || slot >= MPCC_MAX_SUBFLOWS || !s->node || s->node == s->head)
		return 0;
	sub = &s->conn.sub[slot];
	subflow = jp_cast(struct mptcp_subflow_context, (void *)s->node);
	s->node = (u64)subflow->node.next;
	other = jp_cast(struct tcp_sock, subflow->tcp_sock);
	jp_read(sub, other);
	jp_copy_own(&sub->own, other->inet_conn.icsk_ca_priv);
	if ((u64)other == s->sk)
		s->self = slot;
	else if (!jp_in_use(subflow, other))
		sub->flags = 0;
	if ((u64)other->inet_conn.icsk_ca_ops != s->ops)
		sub->own = (struct mpcc_own){};
	s->conn.n = slot + 1;
	return 1;
}

/* Fills conn.sub[] from the list of the connection's subflows. */
MPCC_INLINE void jp_walk(struct jp_scratch *s, struct sock *sk, struct tcp_sock *tp)
{
	struct mptcp_subflow_context *mine =
		jp_cast(struct mptcp_subflow_context, tp->inet_conn.icsk_ulp_data);
	struct list_head *head = &jp_cast(struct mptcp_sock, mine->conn)->conn_list;

	s->sk = (u64)sk;
	s->ops = (u64)tp->inet_conn.icsk_ca_ops;
	s->head = (u64)head;
	s->node = (u64)head->next;
	s->conn.n = 0;
#pragma nounroll
	for (u32 i = 0; i < MPCC_MAX_SUBFLOWS; i++) {
		if (!jp_read_subflow(s, i))
			break;
	}
}

/* The own part only; the siblings stay as they were last seen. */
MPCC_INLINE void jp_refresh(struct jp_scratch *s, struct tcp_sock *tp)
{
	s->conn.now_us = tp->tcp_mstamp;
	jp_read(jp_own_subflow(s), tp);
}

/* The connection as this socket sees it now. */
MPCC_INLINE void jp_gather(struct jp_scratch *s, struct sock *sk, struct tcp_sock *tp)
{
	if (!JP_SHORT_ACKS) {
		u32 lasts = (tp->srtt_us >> SRTT_BITS) / LOOKS_PER_RTT;

		s->look_us = tp->tcp_mstamp + mpcc_max(lasts, LOOK_EVERY_US);
	}
	if (JP_HAS(MPCC_UNCOUPLED)) {
		s->conn.n = 1;
		jp_refresh(s, tp);
		return;
	}
	/* The walk may find this socket in another slot, and takes its state from there. */
	jp_publish(tp, s);
	s->conn.now_us = tp->tcp_mstamp;
	s->self = MPCC_MAX_SUBFLOWS;
	if (tp->is_mptcp)
		jp_walk(s, sk, tp);
	/* plain TCP, or the list does not hold this socket (any more): alone */
	if (s->self >= MPCC_MAX_SUBFLOWS) {
		s->conn.n = 1;
		s->self = 0;
		jp_read(&s->conn.sub[0], tp);
		jp_copy_own(&s->conn.sub[0].own, tp->inet_conn.icsk_ca_priv);
	}
}

__noinline int jp_init(struct jp_scratch *s)
{
	if (!s)
		return 0;
	mpcc_init(&JP_OPS, &s->conn, JP_SELF(s));
	return 0;
}

/* ---- user space -------------------------------------------------------------------------------------- */

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
 * Takes the number of one key, if there is one and its lease has not ended; s->ends_ns comes down to that
 * end. Returns the field as a bit. A function that the verifier takes once: otherwise it would follow all
 * combinations of what is said by 21 keys.
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

/* Takes what is said by one kind of key, as far as a more particular one has not said it. */
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
	own->energy_cost = shown->heard[JP_ENERGY_COST];
	own->target_share = shown->heard[JP_TARGET_SHARE];
	own->path_price = shown->heard[JP_PATH_PRICE];
	own->loss = shown->heard[JP_LOSS];
	if (JP_HAS(MPCC_OWNS_WINDOW)) {
		own->group = shown->heard[JP_GROUP];
		own->history_rtt_us = shown->heard[JP_HISTORY_RTT];
	}
}

/* When something was said or taken back last; ns of the boot clock, 0: never. */
MPCC_INLINE u64 jp_last_said(void)
{
	struct jp_control_key none = {};
	struct jp_control *last = bpf_map_lookup_elem(&jp_controls, &none);

	return last ? last->until_ns : 0;
}

/*
 * Looks for all that the control plane says now, in up to 21 lookups. A number whose lease has ended is not
 * said. When something was said last is asked before: what is said meanwhile is heard the next time.
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

/* Whether other numbers may be said than those that were found. */
__noinline int jp_may_hear_more(struct jp_scratch *s)
{
	if (!s)
		return 0;
	return s->conn.now_us - s->heard_us >= HEARD_WITHIN_US || jp_last_said() != s->said_ns ||
	       (s->ends_ns != NEVER_NS && bpf_ktime_get_boot_ns() >= s->ends_ns);
}

/* What does not change while the subflow lives. */
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

/* Where it sends; while it has no route, where it has received or did send. */
MPCC_INLINE u32 jp_ifindex(struct tcp_sock *tp, u32 before)
{
	struct dst_entry *route = tp->inet_conn.icsk_inet.sk.sk_dst_cache;
	u32 received = tp->inet_conn.icsk_inet.sk.sk_rx_dst_ifindex;

	if (route && route->dev)
		return route->dev->ifindex;
	return received ? received : before;
}

/*
 * What may: the token of a connection is known only some time after its first subflow, a route may move.
 * Returns 0 if the same numbers are about it as before.
 */
MPCC_INLINE u32 jp_show(struct jp_subflow *shown, struct jp_scratch *s, struct tcp_sock *tp)
{
	struct mpcc_subflow *sub = jp_own_subflow(s);
	u32 ifindex = jp_ifindex(tp, shown->ifindex), token = 0, local_id = shown->local_id;
	u32 other; /* without a branch, which the verifier would follow to both sides */

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
 * A limit on the rate at which segments leave. The rate itself would not stay: after cong_avoid the kernel
 * computes it anew from the window, and cuts it at SO_MAX_PACING_RATE. Setting that starts the timer of TCP
 * itself: no qdisc is needed. It is the application's option, too. So the lower of both limits holds, and the
 * application's comes back when ours goes; a value that we have not set is the application's newest word.
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
	/* An application's limit above 4 GB/s comes back as none: the kernel takes 32 bits here. */
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
 * Within a window's ACKs, and once in 10 ms at most: what user space says and what it sees. A lookup has
 * its price.
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
	jp_pace(s, sk, shown->heard[JP_PACING]);
	shown->own_limit = s->paced ? s->own_limit : 0;
}

/* ---- life of a socket --------------------------------------------------------------------------------- */

MPCC_INLINE struct jp_scratch *jp_scratch_of(struct sock *sk, u64 flags)
{
	return bpf_sk_storage_get(&jp_scratches, sk, 0, flags);
}

/* A socket takes the controller: what there is to know of it, and a fresh start. */
MPCC_INLINE struct jp_scratch *jp_take_socket(struct sock *sk, struct tcp_sock *tp)
{
	struct jp_scratch *s = jp_scratch_of(sk, BPF_SK_STORAGE_GET_F_CREATE);
	struct jp_subflow shown = {};
	u64 key = (u64)sk;

	if (!s)
		return s;
	s->delivered = tp->delivered;
	s->delivered_ce = tp->delivered_ce;
	s->prior_rcv_nxt = tp->rcv_nxt;
#pragma unroll
	for (u32 i = 0; i < MPCC_MAX_PARAMS; i++)
		s->conn.param[i] = jp_params[i];
	jp_gather(s, sk, tp);
	jp_describe(&shown, tp);
	jp_show(&shown, s, tp);
	jp_hear(s, &shown);
	jp_init(s);
	bpf_map_update_elem(&jp_subflows, &key, &shown, BPF_ANY);
	return s;
}

/*
 * The kernel lets nobody set a socket option here. A socket that is paced and takes another controller keeps
 * our value of SO_MAX_PACING_RATE, but no longer the timer that holds it to that, unless it had one before.
 */
MPCC_INLINE void jp_leave_socket(struct sock *sk, struct tcp_sock *tp)
{
	struct jp_scratch *s = jp_scratch_of(sk, 0);
	u64 key = (u64)sk;

	if (s && s->paced && s->own_status == SK_PACING_NONE)
		tp->inet_conn.icsk_inet.sk.sk_pacing_status = SK_PACING_NONE;
	bpf_map_delete_elem(&jp_subflows, &key);
	bpf_sk_storage_delete(&jp_scratches, sk);
}

/* A round ends when what is in flight at its start was delivered. */
MPCC_INLINE bool jp_round_ends(struct jp_scratch *s, struct tcp_sock *tp)
{
	struct mpcc_own *own = &jp_own_subflow(s)->own;

	if ((s32)(tp->delivered - own->round_end) < 0)
		return 0;
	own->round_end = tp->delivered + tp->packets_out;
	return 1;
}

/*
 * What an ACK begins with: the connection, whose siblings are read again if that is due, and what user space
 * says, if a round ends or the siblings are read. Returns whether they were: it is time for a new step, too.
 */
MPCC_INLINE bool jp_look(struct jp_scratch *s, struct sock *sk, struct tcp_sock *tp,
                         bool round_ends, bool due)
{
	bool exchanges = (round_ends || due) && tp->tcp_mstamp >= s->hear_us;
	bool looks = exchanges || due;

	if (looks)
		jp_gather(s, sk, tp);
	else
		jp_refresh(s, tp);
	if (exchanges)
		jp_exchange(s, sk, tp);
	return looks;
}

/*
 * The receiver's part where every mark counts (RFC 8257, section 3.2): each ACK says whether the packets that
 * it acknowledges were marked, so one that waits is sent before the state changes.
 */
MPCC_INLINE void jp_receive_mark(struct jp_scratch *s, struct tcp_sock *tp, u32 marked)
{
	if (!JP_HAS(MPCC_READS_MARKS))
		return;
	if (s->ce_state != marked) {
		if (tp->inet_conn.icsk_ack.pending & ICSK_ACK_TIMER)
			bpf_tcp_send_ack(tp, s->prior_rcv_nxt);
		tp->inet_conn.icsk_ack.pending |= ICSK_ACK_NOW;
	}
	s->prior_rcv_nxt = tp->rcv_nxt;
	s->ce_state = marked;
	if (marked)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

#endif
