/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* As twocopy, by the system call that files have too. */
#include "loadgen/send/send_copied.h"
#include "loadgen/send/send_ops.h"

static always_inline int send_one(struct sender *s, enum send_mode mode)
{
	return flat__send_one(s, mode, sender__write);
}

SEND_RUNS(send_one);

const struct send_ops send_write = {
	.name = "write",
	.summary = "memcpy() into one buffer, then write(): as twocopy, by the call that knows no "
		   "sockets",
	.flags = SEND_FLAGLESS,
	.state_bytes = sizeof(struct flat),
	.setup = flat__setup,
	.teardown = flat__teardown,
	.runs = runs,
};
