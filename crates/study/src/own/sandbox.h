/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * sandbox.h - calls into a controller under check. With -fsanitize=… the compiler calls a handler before
 * undefined behaviour. The handlers here record the place and leave the call, so that the process continues.
 * Each handler's first argument starts with the place in the source.
 */
#ifndef JP_SANDBOX_H
#define JP_SANDBOX_H

#include <setjmp.h>

struct jp_place {
	const char *file;
	u32 line, column;
};

/* Undefined behaviour of the last call; file is null if there was none. */
struct jp_fault {
	const char *file;
	u32 line, column;
	const char *what;
};

static struct jp_fault jp_fault;
static jmp_buf jp_out;

static void jp_leave(const struct jp_place *place, const char *what)
{
	jp_fault = (struct jp_fault){ place->file, place->line, place->column, what };
	longjmp(jp_out, 1);
}

#define JP_HANDLER_1(name, what)                               \
	void __ubsan_handle_##name(void *data, void *value);   \
	void __ubsan_handle_##name(void *data, void *value)    \
	{                                                      \
		(void)value;                                   \
		jp_leave((const struct jp_place *)data, what); \
	}
#define JP_HANDLER_2(name, what)                                         \
	void __ubsan_handle_##name(void *data, void *left, void *right); \
	void __ubsan_handle_##name(void *data, void *left, void *right)  \
	{                                                                \
		(void)left;                                              \
		(void)right;                                             \
		jp_leave((const struct jp_place *)data, what);           \
	}

JP_HANDLER_2(add_overflow, "a signed sum overflows")
JP_HANDLER_2(sub_overflow, "a signed difference overflows")
JP_HANDLER_2(mul_overflow, "a signed product overflows")
JP_HANDLER_1(negate_overflow, "a negation overflows")
JP_HANDLER_2(divrem_overflow, "a division by zero, or one that overflows")
JP_HANDLER_2(shift_out_of_bounds, "a shift by more bits than there are, or out of the sign")
JP_HANDLER_1(out_of_bounds, "an index out of bounds")

#define JP_TRY(call)                               \
	do {                                       \
		jp_fault = (struct jp_fault){ 0 }; \
		if (!setjmp(jp_out))               \
			call;                      \
	} while (0)

const struct jp_fault *jp_sandbox_fault(void);
void jp_sandbox_init(struct mpcc_conn *conn, u32 self);
void jp_sandbox_ack(struct mpcc_conn *conn, u32 self, u32 acked, u32 rtt_us, u32 flags);
void jp_sandbox_increase(struct mpcc_conn *conn, u32 self, s64 *result);
void jp_sandbox_ssthresh(struct mpcc_conn *conn, u32 self, u32 kind, u32 *result);
void jp_sandbox_loss(struct mpcc_conn *conn, u32 self, u32 kind);
void jp_sandbox_restart(struct mpcc_conn *conn, u32 self);
void jp_sandbox_control(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event,
                        struct mpcc_area *area);

#define JP_SANDBOXED(name_)                                                                       \
	const struct jp_fault *jp_sandbox_fault(void)                                             \
	{                                                                                         \
		return &jp_fault;                                                                 \
	}                                                                                         \
	void jp_sandbox_init(struct mpcc_conn *conn, u32 self)                                    \
	{                                                                                         \
		JP_TRY(jp_##name_##_init(conn, self));                                            \
	}                                                                                         \
	void jp_sandbox_ack(struct mpcc_conn *conn, u32 self, u32 acked, u32 rtt_us, u32 flags)   \
	{                                                                                         \
		JP_TRY(jp_##name_##_ack(conn, self, acked, rtt_us, flags));                       \
	}                                                                                         \
	void jp_sandbox_increase(struct mpcc_conn *conn, u32 self, s64 *result)                   \
	{                                                                                         \
		JP_TRY(*result = jp_##name_##_increase(conn, self));                              \
	}                                                                                         \
	void jp_sandbox_ssthresh(struct mpcc_conn *conn, u32 self, u32 kind, u32 *result)         \
	{                                                                                         \
		JP_TRY(*result = jp_##name_##_ssthresh(conn, self, kind));                        \
	}                                                                                         \
	void jp_sandbox_loss(struct mpcc_conn *conn, u32 self, u32 kind)                          \
	{                                                                                         \
		JP_TRY(jp_##name_##_loss(conn, self, kind));                                      \
	}                                                                                         \
	void jp_sandbox_restart(struct mpcc_conn *conn, u32 self)                                 \
	{                                                                                         \
		JP_TRY(jp_##name_##_restart(conn, self));                                         \
	}                                                                                         \
	void jp_sandbox_control(struct mpcc_conn *conn, u32 self, const struct mpcc_event *event, \
	                        struct mpcc_area *area)                                           \
	{                                                                                         \
		JP_TRY(jp_##name_##_control(conn, self, event, area));                            \
	}

#endif
