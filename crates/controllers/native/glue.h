/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * glue.h - controllers for the host: the ones of cc/ (native.c), and users' controllers, which are compiled
 * while the program runs (crates/study/src/own).
 *
 * Each controller gets its own set of functions with its ops as a compile-time constant, so the compiler can
 * inline every hook. jp_controllers[] gives src/registry.rs the parameters. Both sides compare jp_layout[]
 * before any call.
 */
#ifndef JP_GLUE_H
#define JP_GLUE_H

#include <stddef.h>

#include "mpcc_run.h"

/* An exported table. It is data, so inspecting a controller calls none of its code. */
struct jp_table {
	const void *begin;
	u64 count;
};

struct jp_param {
	const char *name;
	const char *words; /* "word=raw word=raw", may be empty */
	const char *doc;
	s32 def, min, max; /* raw = value * scale */
	s32 scale;
};

struct jp_controller {
	const struct mpcc_ops *ops;
	const struct jp_param *params;
	u64 param_count;
	void (*init)(struct mpcc_conn *conn, u32 self);
	void (*ack)(struct mpcc_conn *conn, u32 self, u32 acked, u32 rtt_us, u32 flags);
	s64 (*increase)(const struct mpcc_conn *conn, u32 self);
	u32 (*ssthresh)(const struct mpcc_conn *conn, u32 self, u32 kind);
	u32 (*loss)(struct mpcc_conn *conn, u32 self, u32 kind);
	void (*restart)(struct mpcc_conn *conn, u32 self);
	void (*control)(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event,
	                struct mpcc_area *area);
	const void *hosted; /* data of a controller that is not C code (src/hosted.rs) */
};

#define JP_FUNCTIONS(name_, PREFIX)                                                              \
	static void jp_##name_##_init(struct mpcc_conn *conn, u32 self)                          \
	{                                                                                        \
		mpcc_init(&mpcc_ops_##name_, conn, self);                                        \
	}                                                                                        \
	static void jp_##name_##_ack(struct mpcc_conn *conn, u32 self, u32 acked, u32 rtt_us,    \
	                             u32 flags)                                                  \
	{                                                                                        \
		struct mpcc_event event = { .acked = acked, .rtt_us = rtt_us, .flags = flags };  \
                                                                                                 \
		mpcc_ack(&mpcc_ops_##name_, conn, self, &event);                                 \
	}                                                                                        \
	static s64 jp_##name_##_increase(const struct mpcc_conn *conn, u32 self)                 \
	{                                                                                        \
		if (mpcc_ops_##name_.control)                                                    \
			return 0;                                                                \
		return mpcc_ops_##name_.increase(conn, self);                                    \
	}                                                                                        \
	static u32 jp_##name_##_ssthresh(const struct mpcc_conn *conn, u32 self, u32 kind)       \
	{                                                                                        \
		return mpcc_ssthresh(&mpcc_ops_##name_, conn, self, (enum mpcc_loss_kind)kind);  \
	}                                                                                        \
	static u32 jp_##name_##_loss(struct mpcc_conn *conn, u32 self, u32 kind)                 \
	{                                                                                        \
		return mpcc_loss(&mpcc_ops_##name_, conn, self, (enum mpcc_loss_kind)kind);      \
	}                                                                                        \
	static void jp_##name_##_restart(struct mpcc_conn *conn, u32 self)                       \
	{                                                                                        \
		mpcc_restart(&mpcc_ops_##name_, conn, self);                                     \
	}                                                                                        \
	static void jp_##name_##_control(struct mpcc_conn *conn, u32 self,                       \
	                                 const struct mpcc_event *event, struct mpcc_area *area) \
	{                                                                                        \
		mpcc_control(&mpcc_ops_##name_, conn, self, event, area);                        \
	}

#define JP_PARAM(id, name_, def_, min_, max_, scale_, words_, doc_) \
	{ .name = (name_),                                          \
	  .words = (words_),                                        \
	  .doc = (doc_),                                            \
	  .def = (def_),                                            \
	  .min = (min_),                                            \
	  .max = (max_),                                            \
	  .scale = (scale_) },

/* Ends with an empty row, because C has no empty arrays. */
#define JP_PARAMS(name_, PREFIX)                                                                 \
	static const struct jp_param jp_##name_##_params[] = { PREFIX##_PARAMS(JP_PARAM){ 0 } }; \
	_Static_assert(sizeof(jp_##name_##_params) / sizeof(struct jp_param) <=                  \
	                       MPCC_MAX_PARAMS + 1,                                              \
	               "parameters of " #name_);

#define JP_ROW(name_, PREFIX)                                                       \
	{ .ops = &mpcc_ops_##name_,                                                 \
	  .params = jp_##name_##_params,                                            \
	  .param_count = sizeof(jp_##name_##_params) / sizeof(struct jp_param) - 1, \
	  .init = jp_##name_##_init,                                                \
	  .ack = jp_##name_##_ack,                                                  \
	  .increase = jp_##name_##_increase,                                        \
	  .ssthresh = jp_##name_##_ssthresh,                                        \
	  .loss = jp_##name_##_loss,                                                \
	  .restart = jp_##name_##_restart,                                          \
	  .control = jp_##name_##_control },

/* Exports a list of controllers in the form of MPCC_CONTROLLERS. */
#define JP_EXPORT(CONTROLLERS)                                                        \
	CONTROLLERS(JP_FUNCTIONS)                                                     \
	CONTROLLERS(JP_PARAMS)                                                        \
	static const struct jp_controller jp_controllers[] = { CONTROLLERS(JP_ROW) }; \
	extern const struct jp_table jp_controllers_table;                            \
	const struct jp_table jp_controllers_table = {                                \
		jp_controllers, sizeof(jp_controllers) / sizeof(struct jp_controller) \
	};

/* Sizes, offsets and flags, in the order of the layout test in src/state.rs. */
static const u64 jp_layout[] = {
	sizeof(struct mpcc_own),
	sizeof(struct mpcc_subflow),
	sizeof(struct mpcc_conn),
	sizeof(struct mpcc_event),
	sizeof(struct mpcc_area),
	offsetof(struct mpcc_own, pacing_rate),
	offsetof(struct mpcc_own, wide),
	offsetof(struct mpcc_own, last_rtt_us),
	offsetof(struct mpcc_own, acked_since_loss),
	offsetof(struct mpcc_own, energy_cost),
	offsetof(struct mpcc_own, loss),
	offsetof(struct mpcc_own, round_end),
	offsetof(struct mpcc_own, group),
	offsetof(struct mpcc_own, history_rtt_us),
	offsetof(struct mpcc_own, word),
	offsetof(struct mpcc_subflow, flags),
	offsetof(struct mpcc_subflow, own),
	offsetof(struct mpcc_conn, now_us),
	offsetof(struct mpcc_conn, param),
	offsetof(struct mpcc_conn, sub),
	offsetof(struct mpcc_event, lost),
	offsetof(struct mpcc_event, interval_us),
	offsetof(struct mpcc_ops, capabilities),
	offsetof(struct mpcc_ops, sample),
	offsetof(struct mpcc_ops, ack),
	offsetof(struct mpcc_ops, round),
	offsetof(struct mpcc_ops, show),
	sizeof(struct mpcc_shown),
	MPCC_READS_ENERGY_COST,
	MPCC_READS_PATH_PRICE,
	MPCC_READS_TARGET_SHARE,
	MPCC_READS_MARKS,
	MPCC_READS_DELAY,
	MPCC_UNCOUPLED,
	MPCC_ACTS_BY_ROUND,
	MPCC_OWNS_WINDOW,
	MPCC_ACKS_IN_SUM,
	MPCC_ENDS_SLOW_START,
	MPCC_SENDS_ECT1,
};

extern const struct jp_table jp_layout_table;
const struct jp_table jp_layout_table = { jp_layout, sizeof(jp_layout) / sizeof(jp_layout[0]) };

#endif
