/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* As onecopy, by the system call that files have too. */
#include "loadgen/send/send_copied.h"
#include "loadgen/send/send_ops.h"

static always_inline int send_one(struct sender *s, enum send_mode mode)
{
	return fields__send_one(s, mode, sender__writev);
}

SEND_RUNS(send_one);

const struct send_ops send_writev = {
	.name = "writev",
	.summary =
		"writev() of the scattered fields: as onecopy, by the call that knows no sockets",
	.flags = SEND_FLAGLESS,
	.state_bytes = sizeof(struct pool),
	.setup = fields__setup,
	.teardown = fields__teardown,
	.runs = runs,
};
