/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Everything but the send: what the harness itself costs a message. */
#include "loadgen/send/send_loop.h"
#include "loadgen/send/send_ops.h"

static always_inline int send_one(struct sender *s, enum send_mode mode)
{
	(void)s;
	(void)mode;
	return 0;
}

SEND_RUNS(send_one);

const struct send_ops send_null = {
	.name = "null",
	.summary = "no send at all: measures the harness",
	.flags = SEND_NOTHING,
	.runs = runs,
};
