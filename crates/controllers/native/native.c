/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* native.c - the controllers of cc/ for the host. */
#include "all.h"
#include "glue.h"

JP_EXPORT(MPCC_CONTROLLERS)

/*
 * The bookkeeping for controllers whose ops table exists only at run time (src/hosted.rs, src/commanded.rs).
 */
void jp_books_init(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self);
void jp_books_ack(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self, u32 acked,
                  u32 rtt_us, u32 flags);
u32 jp_books_ssthresh(const struct mpcc_ops *ops, const struct mpcc_conn *conn, u32 self, u32 kind);
u32 jp_books_loss(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self, u32 kind);
void jp_books_restart(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self);
void jp_books_control(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self,
                      const struct mpcc_event *event, struct mpcc_area *area);

void jp_books_init(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self)
{
	mpcc_init(ops, conn, self);
}

void jp_books_ack(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self, u32 acked,
                  u32 rtt_us, u32 flags)
{
	struct mpcc_event event = { .acked = acked, .rtt_us = rtt_us, .flags = flags };

	mpcc_ack(ops, conn, self, &event);
}

u32 jp_books_ssthresh(const struct mpcc_ops *ops, const struct mpcc_conn *conn, u32 self, u32 kind)
{
	return mpcc_ssthresh(ops, conn, self, (enum mpcc_loss_kind)kind);
}

u32 jp_books_loss(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self, u32 kind)
{
	return mpcc_loss(ops, conn, self, (enum mpcc_loss_kind)kind);
}

void jp_books_restart(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self)
{
	mpcc_restart(ops, conn, self);
}

void jp_books_control(const struct mpcc_ops *ops, struct mpcc_conn *conn, u32 self,
                      const struct mpcc_event *event, struct mpcc_area *area)
{
	mpcc_control(ops, conn, self, event, area);
}
