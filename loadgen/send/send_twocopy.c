/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The application gathers the fields into one buffer, the kernel copies that. */
#include "loadgen/send/send_copied.h"
#include "loadgen/send/send_ops.h"

static always_inline int send_one(struct sender *s, enum send_mode mode)
{
	return flat__send_one(s, mode, sender__send);
}

SEND_RUNS(send_one);

const struct send_ops send_twocopy = {
	.name = "twocopy",
	.summary = "memcpy() into one buffer, then send(): two copies",
	.flags = SEND_COURSE,
	.state_bytes = sizeof(struct flat),
	.setup = flat__setup,
	.teardown = flat__teardown,
	.runs = runs,
};
