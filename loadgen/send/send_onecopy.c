/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel gathers the fields: one iovec each, one sendmsg(). */
#include "loadgen/send/send_copied.h"
#include "loadgen/send/send_ops.h"

static always_inline ssize_t send_message(struct sender *s, struct iovec *iov, unsigned int count)
{
	return sender__sendmsg(s, iov, count, 0);
}

static always_inline int send_one(struct sender *s, enum send_mode mode)
{
	return fields__send_one(s, mode, send_message);
}

SEND_RUNS(send_one);

const struct send_ops send_onecopy = {
	.name = "onecopy",
	.summary = "sendmsg() of the scattered fields: the kernel copies once",
	.flags = SEND_COURSE,
	.state_bytes = sizeof(struct pool),
	.setup = fields__setup,
	.teardown = fields__teardown,
	.runs = runs,
};
