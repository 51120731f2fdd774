/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * mpcc.h - the contract of a multipath congestion controller.
 *
 * One C source for the simulator (native) and the kernel (eBPF): freestanding C11, no floats, no libc, no
 * 128-bit integers, no signed division (the BPF target has none), no pointers in state, loops bounded by
 * MPCC_MAX_SUBFLOWS. Every function is total: any bits in the state give a defined result.
 *
 * A controller is one header that supplies a `struct mpcc_ops`. It must have `increase`: the signed window
 * change for ONE newly acknowledged packet in congestion avoidance. Every other hook defaults to NewReno or
 * to nothing. mpcc_run.h does the bookkeeping (RTT, losses, rounds, fractions of a packet). The runner does
 * slow start, loss recovery and RTO.
 *
 * A controller that owns its window (MPCC_OWNS_WINDOW) supplies `control` instead: it sets cwnd, ssthresh and
 * the pacing rate in every state, like the kernel's `cong_control`.
 *
 * Pull-only: a controller reads all of `conn` and writes only conn->sub[self]. The kernel can read a sibling
 * socket but not write it.
 *
 * Design:
 *   - `ssthresh` receives the kind of loss: DCTCP and Veno answer a mark, a loss and a timeout differently.
 *   - an ACK is a struct (mpcc_event), not a list of booleans.
 *   - there is no timer hook, as eBPF has no timer here: a periodic rule (CWA) checks now_us on its own ACKs.
 *   - a parameter is stored as its distance from the default, so a zeroed connection uses the defaults.
 *   - the runner may reuse an increase for `cache_acks` packets if the algorithm's paper permits it (LIA);
 *     `increase` itself is pure.
 *
 * mpcc_math.h has the types and the fixed-point arithmetic: Qn is an integer that equals the value times 2^n.
 */
#ifndef MPCC_H
#define MPCC_H

#include "mpcc_math.h"

#define MPCC_MAX_SUBFLOWS  8          /* subflows: the kernel's limit per connection */
#define MPCC_MAX_PARAMS    8          /* parameters of one controller */
#define MPCC_PRIV_BYTES    104        /* bytes: icsk_ca_priv of a Linux socket */
#define MPCC_AREA_BYTES    128        /* bytes: private area of a controller that owns its window */
#define MPCC_CWND_MAX      (1U << 20) /* packets: cap of every window */
#define MPCC_SSTHRESH_MIN  2U         /* packets: RFC 5681, eq. (4) */
#define MPCC_SSTHRESH_NONE 0x7fffffffU /* packets: no threshold yet (Linux TCP_INFINITE_SSTHRESH) */

#define MPCC_SLOT(index) ((index) & (MPCC_MAX_SUBFLOWS - 1)) /* within bounds for any index */

#define MPCC_COST_BITS  16 /* Q16: energy_cost; only ratios between siblings count */
#define MPCC_SHARE_BITS 20 /* Q20: target_share, 1.0 = all of the traffic */
#define MPCC_PRICE_BITS 16 /* Q16: path_price, dimensionless */
#define MPCC_LOSS_BITS  30 /* Q30: loss probability */

enum mpcc_flags {
	MPCC_ESTABLISHED = 1, /* may carry data; sums and maxima exclude other subflows */
	MPCC_RECOVERY = 2,    /* in fast recovery: its window counts as its ssthresh */
	MPCC_LOSS = 4,        /* recovering from a timeout */
};

enum mpcc_loss_kind { MPCC_FAST_RETRANSMIT, MPCC_TIMEOUT, MPCC_ECN };

enum mpcc_event_flags {
	MPCC_ECE = 1,          /* this ACK echoes a congestion mark */
	MPCC_CWND_LIMITED = 2, /* cwnd limited the sender; no window grows without it */
	MPCC_ROUND_END = 4,    /* one RTT round ends with this ACK */
	MPCC_PACED = 512,      /* the sender paces, although the controller sets no rate */
	/* Only `control` receives the flags below. */
	MPCC_APP_LIMITED = 8, /* application-limited rate sample: a lower bound */
	MPCC_STARTS = 16, /* a subflow starts: no ACK, the area is all zero; srtt_us may be known */
	MPCC_EPISODE = 32,   /* a loss episode starts: the first loss of a window of data */
	MPCC_TIMED_OUT = 64, /* a retransmission timeout: no ACK; the runner has set cwnd to 1 */
	MPCC_RESTARTS = 128, /* sending restarts after idle: no ACK */
	MPCC_IN_VAIN = 256,  /* the last episode was spurious: the packets were only late */
};

/*
 * One ACK; `control` also receives other events of a subflow. All counts are packets.
 *
 * The rate sample is the kernel's (struct rate_sample, tcp_rate.c): `delivered` packets arrived in
 * interval_us since the departure of the latest packet that this ACK covers. interval_us is the longer of
 * their send time and their ACK time.
 */
struct mpcc_event {
	u32 acked;  /* newly acknowledged; for `control` also by SACK */
	u32 rtt_us; /* us: RTT sample, 0 = none */
	u32 flags;  /* enum mpcc_event_flags */
	/* Set for `control` only; 0 for all other hooks. */
	u32 lost;            /* newly judged lost since the last call (tcp_sock.lost) */
	u32 marked;          /* packets of `acked` with a congestion mark (delivered_ce) */
	u32 prior_in_flight; /* in flight before this ACK */
	u32 in_flight;       /* in flight now, before the reply to this event */
	u32 mss;             /* bytes of payload in a full packet */
	u32 total_delivered; /* delivered since the subflow started, wraps (tcp_sock.delivered) */
	u32 prior_delivered; /* sample: total_delivered when its packet left */
	u32 delivered;       /* sample: delivered over interval_us */
	u32 interval_us;     /* sample: us, 0 = no sample */
};

/*
 * Memory of a controller that owns its window; 128 bytes, zero at MPCC_STARTS. In the kernel it is socket
 * storage (BPF_MAP_TYPE_SK_STORAGE). Siblings cannot see it: values for them go into own.word. A controller
 * defines its own struct over it: MPCC_AREA(name) after `struct name` checks the size and defines
 * name_area().
 */
struct mpcc_area {
	u64 word[MPCC_AREA_BYTES / 8];
} __attribute__((may_alias));

#define MPCC_MAX_SHOWN 16      /* values that a controller shows */
#define MPCC_SHOW_NONE (~0ULL) /* a shown value that does not exist, or is unbounded */

/* The private state that a controller shows: an index into mpcc_ops.states, and values for mpcc_ops.shows. */
struct mpcc_shown {
	u64 state;
	u64 value[MPCC_MAX_SHOWN];
};

#define MPCC_AREA(type)                                                                      \
	_Static_assert(sizeof(struct type) <= MPCC_AREA_BYTES, "must fit struct mpcc_area"); \
	MPCC_INLINE struct type *type##_area(struct mpcc_area *area)                         \
	{                                                                                    \
		return (struct type *)area;                                                  \
	}

/* Further state of the kernel's wrapper, next to the rest if there is room. */
struct mpcc_books {
	u32 delivered;  /* tcp_sock.delivered at the controller's last call */
	u32 marked;     /* tcp_sock.delivered_ce at the last reported ACK or loss */
	u32 granted;    /* packets: cache_left when it was last set */
	u32 hear_at_us; /* us: next read of user space's values, low bits */
};

/*
 * A subflow's own state, readable by its siblings. Fits icsk_ca_priv. The runner writes the upper part, the
 * control plane the fields marked (cp), the controller wide and word. icsk_ca_priv is full, so some fields
 * have two meanings: one if the runner computes the window, another if the controller owns it (own:). The
 * wrapper uses fields that the controller does not read.
 */
struct mpcc_own {
	/* The fields that most ACKs write: in Linux 6.18 they share a cache line. */
	s64 acc; /* Q32 packets: fraction not yet in cwnd, within (-1, 1) */
	union {
		s64 cached_step; /* Q32 packets: reusable increase, see mpcc_ops.cache_acks */
		u64 pacing_rate; /* own: bytes of payload per second, 0 = not paced */
	};
	union {
		struct {                /* with READS_DELAY */
			u64 rtt_sum_us; /* us: sum of this round's RTT samples */
			u32 rtt_count;  /* RTT samples in this round */
			u32 rtt_min_us; /* us: least RTT of this round, 0 = no sample */
		};
		struct mpcc_books books; /* for the runner, without */
	};
	u32 base_rtt_us; /* us: least RTT ever, 0 = no sample */
	u32 round_end;   /* for the runner: sequence number that ends the RTT round */
	union {
		u32 cached_cwnd; /* packets: window that cached_step is for */
		u32 group; /* own (cp): subflows with equal numbers share a bottleneck, 0 = unknown */
	};
	union {
		u32 cache_left;     /* packets for which cached_step is still valid */
		u32 history_rtt_us; /* own (cp) us: least known RTT of the path, 0 = unknown */
	};
	u64 wide[1];              /* private to the controller */
	u32 last_rtt_us;          /* us: latest RTT, 0 = no sample */
	u32 acked_since_loss;     /* packets, saturating */
	u32 acked_between_losses; /* packets between the last two losses, saturating */
	union {
		u32 energy_cost; /* (cp) Q16: energy per delivered bit against the siblings', 0 = unknown */
		u32 ce_state; /* for the runner, with READS_MARKS: whether the last packet was marked */
	};
	u32 target_share; /* (cp) Q20: this path's share of the traffic */
	union {
		u32 path_price;    /* (cp) Q16: price of the path's queues and energy */
		u32 prior_rcv_nxt; /* for the runner, with READS_MARKS: received up to that packet */
	};
	u32 loss;    /* (cp) Q30: loss probability, 0 = unknown: the acked counts give it */
	u32 word[5]; /* private to the controller */
};
_Static_assert(sizeof(struct mpcc_own) <= MPCC_PRIV_BYTES, "must fit icsk_ca_priv");

struct mpcc_subflow {
	u32 cwnd;     /* packets */
	u32 ssthresh; /* packets */
	u32 srtt_us;  /* us, 0 = no sample: sums and maxima exclude it */
	u32 flags;    /* enum mpcc_flags */
	struct mpcc_own own;
};

/* All zero is a valid start: no subflow, default parameters. */
struct mpcc_conn {
	u32 n; /* subflows in sub[] */
	u32 reserved;
	u64 now_us;                 /* us: monotonic clock */
	s32 param[MPCC_MAX_PARAMS]; /* distance from the default, in the parameter's raw unit */
	struct mpcc_subflow sub[MPCC_MAX_SUBFLOWS];
};

/*
 * The state that a controller reads, and how it acts. Code that runs a controller tests these flags, never
 * its name. Each header declares the sum of its flags as a constant that static initialisers may use:
 *
 *   MPCC_CAPABILITIES(edts, MPCC_READS_DELAY | MPCC_READS_PATH_PRICE);
 *
 * Without its flag, a controller does not receive the state. crates/controllers/tests/properties.rs compares
 * the flags with the code's behaviour.
 *
 *   READS_ENERGY_COST    own.energy_cost, which the control plane has to write
 *   READS_PATH_PRICE     own.path_price, likewise
 *   READS_TARGET_SHARE   own.target_share, likewise
 *   READS_MARKS          every mark: the receiver echoes each mark separately (RFC 8257, section 3.2)
 *   READS_DELAY          the distance of RTT samples from the minimum, or the RTTs of a round, which are kept
 *                        only with this flag: the controller answers a queue before it overflows
 *   UNCOUPLED            reads nothing of its siblings, so the runner need not gather them
 *   ACTS_BY_ROUND        `increase` is 0: the window changes when an RTT round ends
 *   OWNS_WINDOW          `control` sets cwnd, ssthresh and the pacing rate in every state
 *   ACKS_IN_SUM          in congestion avoidance `ack` only adds up the packets of ACKs and reads the
 *                        clock, so one call may report several ACKs with the same flags; a controller
 *                        without `ack` does not need this flag
 *   ENDS_SLOW_START      RTT samples end slow start before a loss (HyStart); READS_DELAY covers only
 *                        congestion avoidance
 *   SENDS_ECT1           its packets are L4S: with ECN they carry ECT(1) (RFC 9331)
 */
enum mpcc_capability {
	MPCC_READS_ENERGY_COST = 1,
	MPCC_READS_PATH_PRICE = 2,
	MPCC_READS_TARGET_SHARE = 4,
	MPCC_READS_MARKS = 8,
	MPCC_READS_DELAY = 16,
	MPCC_UNCOUPLED = 32,
	MPCC_ACTS_BY_ROUND = 64,
	MPCC_OWNS_WINDOW = 128,
	MPCC_ACKS_IN_SUM = 256,
	MPCC_ENDS_SLOW_START = 512,
	MPCC_SENDS_ECT1 = 1024,
};
#define MPCC_CAPABILITIES(name, flags) enum { mpcc_capabilities_##name = (flags) }

/* cache_acks of an increase that depends only on the own window. */
#define MPCC_CACHE_BY_WINDOW 0xffffffffU

struct mpcc_ops {
	const char *name;    /* file name, registry name */
	const char *title;   /* display name */
	const char *paper;   /* source of the definition */
	const char *summary; /* one sentence */
	const char
		*confidence; /* V verified, N recomputed, L from the literature, R reconstruction */
	u32 min_cwnd;        /* packets: floor of a window that `increase` lowers */
	u32 cache_acks;   /* packets for which one increase may be reused, 0 = never; or as above */
	u32 capabilities; /* enum mpcc_capability: the state it reads, and how it acts */
	u32 growth;       /* 1 + index of the parameter MPCC_GROWTH, 0 = it has none */

	/* Required without `control`. Q32 packets for one newly acked packet in congestion avoidance. Pure. */
	s64 (*increase)(const struct mpcc_conn *conn, u32 self);

	/* Optional. Packets: the window after a loss; default mpcc_half(). Pure. */
	u32 (*ssthresh)(const struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind);
	/* Optional. A subflow starts: sets private state, which is zero before. */
	void (*init)(struct mpcc_conn *conn, u32 self);
	/*
	 * Optional. Each RTT sample except 0, before `ack`. In the kernel most ACKs touch only this state, so
	 * per-sample work costs much less here than in `ack`.
	 */
	void (*sample)(struct mpcc_own *own, u32 rtt_us);
	/* Optional. Each ACK, after the RTT bookkeeping and before any growth. */
	void (*ack)(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event);
	/*
	 * Optional. The ACK that ends an RTT round, after `ack`. The round's RTT statistics are cleared afterwards.
	 */
	void (*round)(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event);
	/* Optional. A loss episode starts. `ssthresh` has been called; cwnd still has the old value. */
	void (*loss)(struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind);
	/* Optional. Sending restarts after idle. */
	void (*restart)(struct mpcc_conn *conn, u32 self);
	/*
	 * With MPCC_OWNS_WINDOW instead of all hooks above. Called for each ACK in every state, including recovery
	 * and after a timeout, and for the other events (enum mpcc_event_flags). It alone writes cwnd, ssthresh and
	 * own.pacing_rate of conn->sub[self]; the one exception is the runner at a timeout, before this call (cwnd =
	 * 1; the kernel: in flight + 1). There is no other slow start or rate reduction. The round's RTT statistics
	 * in own hold all samples and are cleared after the call that ends a round. While MPCC_RECOVERY is set,
	 * coupled siblings take ssthresh for the window: set it to the window.
	 */
	void (*control)(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event,
	                struct mpcc_area *area);

	/*
	 * Optional. What `joulepath cc test` sees of the private state: names of states and of values, each list
	 * separated by spaces. `show` writes the index of the state and the values in that order. Changes nothing.
	 */
	const char *states;
	const char *shows;
	void (*show)(const struct mpcc_conn *conn, u32 self, struct mpcc_area *area,
	             struct mpcc_shown *shown);
};

/*
 * Parameters: each header lists them once,
 *   #define EWTCP_PARAMS(X) X(EWTCP_A, "a", default, min, max, scale, "word=raw word=raw", "what it does")
 * raw = value * scale; words may be outside [min, max]. MPCC_GROWTH is the same for all controllers. The list
 * yields the indices, the defaults, and (in the native glue) the table that the registry shows.
 */
#define MPCC_GROWTH(X, id)                                                                  \
	X(id, "growth", 0, 1, 0, 1, "packets=0 acks=1",                                     \
	  "what congestion avoidance counts: acknowledged packets (RFC 3465), or ACKs, as " \
	  "Linux did before 4.0")
#define MPCC_PARAM_ID(id, name, def, min, max, scale, words, doc)      id,
#define MPCC_PARAM_DEFAULT(id, name, def, min, max, scale, words, doc) id##_DEFAULT = (def),
#define MPCC_PARAM(conn, id)                                           ((conn)->param[id] + id##_DEFAULT)

/* ---- the connection -------------------------------------------------------------------------- */

/* True if the subflow is established and has an RTT sample: sums and maxima include it. */
MPCC_INLINE u32 mpcc_counts(const struct mpcc_subflow *sub)
{
	return (sub->flags & MPCC_ESTABLISHED) && sub->srtt_us;
}

/* Iterates over the subflows that count. */
#define mpcc_for_each(conn, k)                                       \
	for (u32 k = 0; k < MPCC_MAX_SUBFLOWS && k < (conn)->n; k++) \
		if (mpcc_counts(&(conn)->sub[k]))

/* w_r, packets: in fast recovery the ssthresh, because the window is inflated. */
MPCC_INLINE u32 mpcc_window(const struct mpcc_subflow *sub)
{
	u32 recovers = (sub->flags & MPCC_RECOVERY) / MPCC_RECOVERY;

	return mpcc_clamp(mpcc_select(recovers, sub->ssthresh, sub->cwnd), 1, MPCC_CWND_MAX);
}

/* tau_r, us: smoothed RTT, 1 us .. 10 s. */
MPCC_INLINE u32 mpcc_rtt(const struct mpcc_subflow *sub)
{
	return mpcc_clamp(sub->srtt_us, 1, MPCC_RTT_MAX_US);
}

/* n: subflows that count. */
MPCC_FUNC u32 mpcc_established(const struct mpcc_conn *conn)
{
	MPCC_REQUIRE(conn);
	u32 n = 0;

	mpcc_for_each (conn, k)
		n++;
	return n;
}

/* True if there is nothing to couple with: the controller behaves as NewReno. */
MPCC_INLINE u32 mpcc_alone(const struct mpcc_conn *conn, u32 self)
{
	return !mpcc_counts(&conn->sub[self]) || mpcc_established(conn) < 2;
}

/* W, packets: sum of all windows. */
MPCC_FUNC u32 mpcc_total_window(const struct mpcc_conn *conn)
{
	MPCC_REQUIRE(conn);
	u32 total = 0;

	mpcc_for_each (conn, k)
		total += mpcc_window(&conn->sub[k]);
	return total;
}

/* NewReno: 1/w_r. */
MPCC_INLINE s64 mpcc_reno(const struct mpcc_conn *conn, u32 self)
{
	return mpcc_reciprocal(mpcc_window(&conn->sub[self]));
}

/* w_r/2, at least 2 packets. */
MPCC_INLINE u32 mpcc_half(const struct mpcc_conn *conn, u32 self)
{
	return mpcc_max(mpcc_window(&conn->sub[self]) / 2, MPCC_SSTHRESH_MIN);
}

/* w_k * rtt / tau_k in Q16 packets: what k sends in rtt_us. At most 2^60. */
MPCC_INLINE u64 mpcc_sends_in(const struct mpcc_subflow *sub, u32 rtt_us)
{
	u64 w = mpcc_window(sub);
	u32 tau = mpcc_rtt(sub);

	if (tau == rtt_us)
		return w << MPCC_AGGREGATE_BITS;
	return (w * rtt_us << MPCC_AGGREGATE_BITS) / tau;
}

/* X * rtt in Q16 packets: what the whole connection sends in rtt_us. At most 2^63. */
MPCC_FUNC u64 mpcc_aggregate(const struct mpcc_conn *conn, u32 rtt_us)
{
	MPCC_REQUIRE(conn);
	u64 sum = 0;

	mpcc_for_each (conn, k)
		sum += mpcc_sends_in(&conn->sub[k], rtt_us);
	return sum;
}

/*
 *          w / rtt^2            w            f^2                  w
 *         -----------  =  --------------  = -----   with  f = ---------   (f <= 8 by the callers)
 *             X^2          (X * rtt)^2        w               X * rtt
 *
 * Two divisions and no number above 2^63: f in Q27 keeps 17 significant bits wherever the result reaches
 * 2^-20.
 */
MPCC_INLINE s64 mpcc_rate_share(u32 w, u64 aggregate)
{
	enum {
		F_SHIFT = MPCC_RATIO_BITS + MPCC_AGGREGATE_BITS,
		DROP = 2 * MPCC_RATIO_BITS - MPCC_PACKET_BITS
	};
	u64 f = aggregate ? ((u64)w << F_SHIFT) / aggregate : MPCC_RATIO_ONE;

	return (s64)((f * f / w + (1ULL << (DROP - 1))) >> DROP);
}

/* arg max_k w_k / tau_k^2, compared exactly. Requires mpcc_counts(self). */
MPCC_FUNC u32 mpcc_find_best(const struct mpcc_conn *conn, u32 self)
{
	MPCC_REQUIRE(conn);
	u32 best = self = MPCC_SLOT(self);
	u32 best_w = mpcc_window(&conn->sub[self]), best_tau = mpcc_rtt(&conn->sub[self]);

	mpcc_for_each (conn, k) {
		u32 w = mpcc_window(&conn->sub[k]), tau = mpcc_rtt(&conn->sub[k]);

		if (mpcc_compare_products((u64)w * best_tau, best_tau, (u64)best_w * tau, tau) >
		    0) {
			best = k;
			best_w = w;
			best_tau = tau;
		}
	}
	return best;
}

MPCC_INLINE u32 mpcc_best(const struct mpcc_conn *conn, u32 self)
{
	return MPCC_SLOT(mpcc_find_best(conn, self));
}

/* arg max_k w_k / tau_k: the fastest path, the first on a tie. Requires mpcc_counts(self). */
MPCC_FUNC u32 mpcc_find_fastest(const struct mpcc_conn *conn, u32 self)
{
	MPCC_REQUIRE(conn);
	u32 fastest = MPCC_SLOT(self);

	mpcc_for_each (conn, k) {
		const struct mpcc_subflow *a = &conn->sub[k], *b = &conn->sub[MPCC_SLOT(fastest)];
		u64 here = (u64)mpcc_window(a) * mpcc_rtt(b),
		    best = (u64)mpcc_window(b) * mpcc_rtt(a);

		if (here > best || (here == best && k < fastest))
			fastest = k;
	}
	return fastest;
}

MPCC_INLINE u32 mpcc_fastest(const struct mpcc_conn *conn, u32 self)
{
	return MPCC_SLOT(mpcc_find_fastest(conn, self));
}

/* min_k e_k, Q16: least known energy cost; 0 = all are unknown. */
MPCC_FUNC u32 mpcc_cheapest(const struct mpcc_conn *conn)
{
	MPCC_REQUIRE(conn);
	u32 cheapest = 0;

	mpcc_for_each (conn, k) {
		u32 cost = conn->sub[k].own.energy_cost;

		if (cost && (!cheapest || cost < cheapest))
			cheapest = cost;
	}
	return cheapest;
}

#define MPCC_LOSS_ONE          (1U << MPCC_LOSS_BITS)
#define MPCC_LOSS_INTERVAL_MIN 2U      /* packets: loss estimates stay at or below 0.5 */
#define MPCC_LOSS_INTERVAL_MAX 100000U /* packets: and at or above 1e-5 */

/* l_r, packets: acked between the last two losses or since the last one, the larger. */
MPCC_INLINE u32 mpcc_loss_interval(const struct mpcc_own *own)
{
	return mpcc_max(own->acked_since_loss, own->acked_between_losses);
}

/* p_r in Q30, 1e-5 .. 0.5: the control plane's value, else 1 / l_r. */
MPCC_FUNC u32 mpcc_loss_probability(const struct mpcc_own *own)
{
	MPCC_REQUIRE(own);
	u32 interval =
		mpcc_clamp(mpcc_loss_interval(own), MPCC_LOSS_INTERVAL_MIN, MPCC_LOSS_INTERVAL_MAX);

	if (!own->loss)
		return MPCC_LOSS_ONE / interval;
	return mpcc_clamp(own->loss, MPCC_LOSS_ONE / MPCC_LOSS_INTERVAL_MAX,
	                  MPCC_LOSS_ONE / MPCC_LOSS_INTERVAL_MIN);
}

#endif
