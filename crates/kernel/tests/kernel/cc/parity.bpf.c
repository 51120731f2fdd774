/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * parity.bpf.c - one controller's arithmetic as a program that a test can call: state in, state
 * out.
 */
#include "kernel.h"
#include "mpcc_run.h"
#include JP_HEADER

#define JP_PASTE_(a, b) a##b
#define JP_PASTE(a, b)  JP_PASTE_(a, b)
#define JP_OPS          JP_PASTE(mpcc_ops_, JP_NAME)

char _license[] SEC("license") = "Dual MIT/GPL";

enum call { CALL_INIT, CALL_ACK, CALL_LOSS, CALL_RESTART, CALL_CONTROL };

struct exchange {
	struct mpcc_conn conn;
	u32 call, self;
	u32 acked, rtt_us, flags; /* CALL_ACK */
	u32 kind;                 /* CALL_LOSS */
	u32 ssthresh;             /* CALL_LOSS: result */
	u32 reserved;
	struct mpcc_event event; /* CALL_CONTROL */
	struct mpcc_area area;   /* CALL_CONTROL: in and out */
};

struct {
	__uint(type, 2); /* BPF_MAP_TYPE_ARRAY */
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct exchange);
} exchanges SEC(".maps");

__noinline int on_init(struct exchange *x)
{
	if (x)
		mpcc_init(&JP_OPS, &x->conn, MPCC_SLOT(x->self));
	return 0;
}

/*
 * Controllers that own their window have only this call, and the others lack it. The preprocessor
 * leaves out the missing calls.
 */
#define JP_OWNS (JP_PASTE(mpcc_capabilities_, JP_NAME) & MPCC_OWNS_WINDOW)

__noinline int on_control(struct exchange *x)
{
	if (x)
		mpcc_control(&JP_OPS, &x->conn, MPCC_SLOT(x->self), &x->event, &x->area);
	return 0;
}

__noinline int on_observe(struct exchange *x)
{
	struct mpcc_event event;

	if (!x)
		return 0;
	event = (struct mpcc_event){ .acked = x->acked, .rtt_us = x->rtt_us, .flags = x->flags };
	mpcc_observe(&JP_OPS, &x->conn, MPCC_SLOT(x->self), &event);
	return 0;
}

__noinline int on_avoid(struct exchange *x, u32 acked)
{
	if (x && !JP_OWNS)
		mpcc_avoid(&JP_OPS, &x->conn, MPCC_SLOT(x->self), acked);
	return 0;
}

__noinline u32 on_loss(struct exchange *x)
{
	return x ? mpcc_loss(&JP_OPS, &x->conn, MPCC_SLOT(x->self), x->kind) : 0;
}

__noinline int on_restart(struct exchange *x)
{
	if (x)
		mpcc_restart(&JP_OPS, &x->conn, MPCC_SLOT(x->self));
	return 0;
}

SEC("syscall")
int call(void *context)
{
	struct mpcc_subflow *sub;
	struct exchange *x;
	u32 key = 0;

	x = bpf_map_lookup_elem(&exchanges, &key);
	if (!x)
		return 1;
	sub = &x->conn.sub[MPCC_SLOT(x->self)];
	switch (x->call) {
	case CALL_INIT:
		on_init(x);
		break;
	case CALL_ACK:
		on_observe(x);
		/* As mpcc_ack(), with the kernel's part in place of slow start. */
		if (!(sub->flags & MPCC_RECOVERY) && (x->flags & MPCC_CWND_LIMITED))
			on_avoid(x, mpcc_slow_start(sub, x->acked));
		break;
	case CALL_LOSS:
		x->ssthresh = on_loss(x);
		break;
	case CALL_RESTART:
		on_restart(x);
		break;
	case CALL_CONTROL:
		on_control(x);
		break;
	}
	return 0;
}
