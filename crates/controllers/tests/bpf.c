/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * bpf.c - every controller as global functions for the BPF target. tests/headers.rs compiles it and checks
 * the object file. Loadable programs are in crates/kernel.
 */
#include "all.h"

#define BPF_FUNCTIONS(name_, PREFIX)                                                             \
	void bpf_##name_##_init(struct mpcc_conn *conn, u32 self);                               \
	void bpf_##name_##_init(struct mpcc_conn *conn, u32 self)                                \
	{                                                                                        \
		mpcc_init(&mpcc_ops_##name_, conn, self &(MPCC_MAX_SUBFLOWS - 1));               \
	}                                                                                        \
	void bpf_##name_##_ack(struct mpcc_conn *conn, u32 self, struct mpcc_event *event);      \
	void bpf_##name_##_ack(struct mpcc_conn *conn, u32 self, struct mpcc_event *event)       \
	{                                                                                        \
		mpcc_ack(&mpcc_ops_##name_, conn, self &(MPCC_MAX_SUBFLOWS - 1), event);         \
	}                                                                                        \
	u32 bpf_##name_##_loss(struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind);      \
	u32 bpf_##name_##_loss(struct mpcc_conn *conn, u32 self, enum mpcc_loss_kind kind)       \
	{                                                                                        \
		return mpcc_loss(&mpcc_ops_##name_, conn, self & (MPCC_MAX_SUBFLOWS - 1), kind); \
	}                                                                                        \
	void bpf_##name_##_restart(struct mpcc_conn *conn, u32 self);                            \
	void bpf_##name_##_restart(struct mpcc_conn *conn, u32 self)                             \
	{                                                                                        \
		mpcc_restart(&mpcc_ops_##name_, conn, self &(MPCC_MAX_SUBFLOWS - 1));            \
	}

#define BPF_CONTROL(name_, PREFIX)                                                                 \
	void bpf_##name_##_control(struct mpcc_conn *conn, u32 self, struct mpcc_event *event,     \
	                           struct mpcc_area *area);                                        \
	void bpf_##name_##_control(struct mpcc_conn *conn, u32 self, struct mpcc_event *event,     \
	                           struct mpcc_area *area)                                         \
	{                                                                                          \
		mpcc_control(&mpcc_ops_##name_, conn, self &(MPCC_MAX_SUBFLOWS - 1), event, area); \
	}

MPCC_CONTROLLERS(BPF_FUNCTIONS)
MPCC_OWNERS(BPF_CONTROL)
