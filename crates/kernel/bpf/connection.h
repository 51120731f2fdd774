/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * connection.h - the connection as one of its sockets sees it. Each object includes it once, after
 * it defines JP_NAME and JP_HEADER, and JP_OF_USER if the header is a user's.
 *
 * A socket without siblings (plain TCP, MPTCP after a fallback) is a connection of one subflow.
 */
#ifndef JP_CONNECTION_H
#define JP_CONNECTION_H

#include "maps.h"
#include "mpcc_run.h"
/*
 * clang would put constant tables of 4, 8, 16 or 32 bytes into sections of their own, while BTF
 * says that they are in .rodata. The kernel refuses such an object.
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
/* This socket's slot. A constant if the controller sees no siblings. */
#define JP_SELF(s) (JP_HAS(MPCC_UNCOUPLED) ? 0 : MPCC_SLOT((s)->self))
/* True if most ACKs need only icsk_ca_priv, see jp_short_ack(). */
#define JP_SHORT_ACKS (!JP_HAS(MPCC_OWNS_WINDOW) && (!JP_OPS.ack || JP_HAS(MPCC_ACKS_IN_SUM)))

/*
 * True if the controller reads the RTTs of a round. If not, short ACKs ignore rounds, and
 * icsk_ca_priv holds our books.
 */
#define JP_KEEPS_RTTS (JP_HAS(MPCC_READS_DELAY) != 0)
#define JP_BOOKS_NEAR (JP_SHORT_ACKS && !JP_KEEPS_RTTS)

/*
 * True if an ACK needs only icsk_ca_priv and the kernel's fields of the socket. A user's header
 * may have functions (MPCC_FUNC) that the verifier checks once and that take the whole connection.
 * The stack has no room for that.
 */
#ifdef JP_OF_USER
#define JP_ALONE 0
#else
#define JP_ALONE (JP_BOOKS_NEAR && JP_HAS(MPCC_UNCOUPLED))
#endif

/* Size of a connection of one subflow. */
#define JP_ALONE_BYTES (__builtin_offsetof(struct mpcc_conn, sub) + sizeof(struct mpcc_subflow))

/*
 * True if the receiver's state for DCTCP marks lies in icsk_ca_priv, in place of fields that the
 * controller does not read.
 */
#define JP_MARKS_NEAR                                      \
	(JP_SHORT_ACKS && JP_HAS(MPCC_READS_MARKS) != 0 && \
	 !JP_HAS(MPCC_READS_ENERGY_COST | MPCC_READS_PATH_PRICE))

#define DEAD_AFTER    4   /* timeouts in a row: the default of net.mptcp.stale_loss_cnt */
#define SRTT_BITS     3   /* tcp_sock.srtt_us is 8 times the smoothed RTT */
#define LOOK_EVERY_US 125 /* least time between two reads of the siblings */
#define LOOKS_PER_RTT \
	8 /* a walk over the siblings is expensive, and windows change little in between */

char _license[] SEC("license") = "Dual MIT/GPL";

/* ---- tunables, maps, state --------------------------------------------------------------------------- */

/*
 * Parameters as offsets from their defaults. The loader writes them before the kernel verifies the
 * program.
 */
const volatile s32 jp_params[MPCC_MAX_PARAMS] SEC(".rodata.params");

/*
 * A socket's own copy of its connection. It lies in the socket's storage because the stack is too
 * small, and because a per-CPU map is unsafe: an ACK of another socket can interrupt an ACK that
 * is handled in process context.
 *
 * With short ACKs the controller's state of this subflow lives in icsk_ca_priv, and
 * conn.sub[self].own is a copy for one call. Otherwise the state lives in conn.sub[self].own, and
 * icsk_ca_priv holds a copy for the siblings. See jp_load() and jp_publish().
 */
struct jp_scratch {
	u64 hear_us;    /* us: next exchange with user space */
	u64 heard_us;   /* us: last lookup of all control values */
	u64 said_ns;    /* ns: last change of jp_controls known at that lookup */
	u64 ends_ns;    /* ns: boot clock: earliest end of a lease found */
	u64 own_limit;  /* bytes/s: the application's SO_MAX_PACING_RATE, while paced */
	u64 limit;      /* bytes/s: the SO_MAX_PACING_RATE that we set, while paced */
	u32 paced;      /* true if we set SO_MAX_PACING_RATE */
	u32 own_status; /* sk_pacing_status before that */
	u32 losses;     /* loss episodes */
	/* The receiver's state, unless JP_MARKS_NEAR. */
	u32 ce_state, prior_rcv_nxt;
	/* Kernel addresses for jp_read_subflow(). */
	u64 sk;   /* this socket */
	u64 ops;  /* its controller */
	u64 head; /* the list of subflows */
	u64 node; /* the next subflow */
#ifdef JP_OWNER_STATE
	JP_OWNER_STATE; /* of owner.bpf.c */
#endif
	/* Every ACK reads these. They fill four cache lines up to the first subflow of conn. */
	struct mpcc_books books; /* see jp_books() */
	u32 self;                /* slot of this socket in conn.sub[], see JP_SELF */
	u64 look_us;             /* us: next read of the siblings; unused with short ACKs */
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

MPCC_INLINE struct mpcc_books *jp_books(struct jp_scratch *s)
{
	return JP_BOOKS_NEAR ? &jp_own_subflow(s)->own.books : &s->books;
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

MPCC_INLINE void jp_read_window(struct mpcc_subflow *sub, struct tcp_sock *tp)
{
	sub->cwnd = tp->snd_cwnd;
	sub->ssthresh = tp->snd_ssthresh;
	sub->srtt_us = tp->srtt_us >> SRTT_BITS;
}

/* Reads the kernel's fields of a subflow. */
MPCC_INLINE void jp_read(struct mpcc_subflow *sub, struct tcp_sock *tp)
{
	jp_read_window(sub, tp);
	sub->flags = jp_flags(tp);
}

/* Copies the controller's state into the scratch, if it lives in icsk_ca_priv. */
MPCC_INLINE void jp_load(struct jp_scratch *s, struct tcp_sock *tp)
{
	if (JP_SHORT_ACKS)
		jp_copy_own(&jp_own_subflow(s)->own, tp->inet_conn.icsk_ca_priv);
}

/*
 * Copies the controller's state to icsk_ca_priv, where the siblings read it: when this socket
 * reads the siblings, at a loss and at a restart. Uncoupled controllers need that only with short
 * ACKs, which keep the state there.
 */
MPCC_INLINE void jp_publish(struct tcp_sock *tp, struct jp_scratch *s)
{
	if (JP_BOOKS_NEAR)
		jp_own_subflow(s)->own.books.hear_at_us = (u32)s->hear_us;
	if (!JP_HAS(MPCC_UNCOUPLED) || JP_SHORT_ACKS)
		jp_copy_own((struct mpcc_own *)tp->inet_conn.icsk_ca_priv, &jp_own_subflow(s)->own);
}

/* Linux before 6.19 has no flag `closing`, except some stable versions. */
MPCC_INLINE bool jp_is_closing(struct mptcp_subflow_context *subflow)
{
	return bpf_core_field_exists(subflow->closing) && BPF_CORE_READ_BITFIELD(subflow, closing);
}

/*
 * True if the subflow carries data: it is no backup, the scheduler has not marked it stale, and it
 * is not dead. The scheduler marks a subflow stale only after it has retransmitted the subflow's
 * data a few times. If another subflow delivers the data at once, this subflow can time out
 * forever without being stale. So this function also counts the timeouts.
 */
MPCC_INLINE bool jp_in_use(struct mptcp_subflow_context *subflow, struct tcp_sock *tp)
{
	if (tp->inet_conn.icsk_retransmits >= DEAD_AFTER)
		return 0;
	/* The memory of a closed socket may be another connection's by now. */
	if (tp->inet_conn.icsk_ulp_data != (void *)subflow)
		return 0;
	return !(BPF_CORE_READ_BITFIELD(subflow, request_bkup) |
	         BPF_CORE_READ_BITFIELD(subflow, backup) | BPF_CORE_READ_BITFIELD(subflow, stale) |
	         jp_is_closing(subflow));
}

#define jp_cast(type, object) ((type *)bpf_rdonly_cast((object), bpf_core_type_id_kernel(type)))

/*
 * Reads the subflow at s->node and advances s->node. Returns 0 at the end of the list. No lock is
 * held: a sibling may change meanwhile, so its values may be of different instants. Reads of unmapped
 * memory return zero.
 *
 * A __noinline function: the verifier checks it once, and the second call finds its code in the
 * cache. Such a function may not take pointers to kernel objects, so the scratch holds them as
 * numbers.
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

/* Refreshes only this subflow; the siblings stay as last read. */
MPCC_INLINE void jp_refresh(struct jp_scratch *s, struct tcp_sock *tp)
{
	s->conn.now_us = tp->tcp_mstamp;
	jp_read(jp_own_subflow(s), tp);
}

/* Reads the connection as this socket sees it now. */
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
	/* The walk may find this socket in another slot and reads its state from icsk_ca_priv. */
	jp_publish(tp, s);
	s->conn.now_us = tp->tcp_mstamp;
	s->self = MPCC_MAX_SUBFLOWS;
	s->conn.n = 0;
	if (tp->is_mptcp)
		jp_walk(s, sk, tp);
	/*
	 * Plain TCP, or the list does not contain this socket: a connection of one subflow. The kernel
	 * permits a ninth subflow, which takes the last slot.
	 */
	if (s->self >= MPCC_MAX_SUBFLOWS) {
		s->self = s->conn.n == MPCC_MAX_SUBFLOWS ? MPCC_MAX_SUBFLOWS - 1 : 0;
		s->conn.n = s->self + 1;
		jp_read(jp_own_subflow(s), tp);
		jp_copy_own(&jp_own_subflow(s)->own, tp->inet_conn.icsk_ca_priv);
	}
}

__noinline int jp_init(struct jp_scratch *s)
{
	if (!s)
		return 0;
	mpcc_init(&JP_OPS, &s->conn, JP_SELF(s));
	return 0;
}

#endif
