/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Everything but the send: what the harness itself costs a message. */
#include "loadgen/options.h"
#include "loadgen/send_loop.h"
#include "loadgen/send_ops.h"

static int setup(struct sender *s, const struct load *load)
{
	(void)s;
	(void)load;
	return 0;
}

static void teardown(struct sender *s)
{
	(void)s;
}

static always_inline int send_one(struct sender *s, bool verify)
{
	(void)s;
	(void)verify;
	return 0;
}

static int run(struct sender *s)
{
	return send_loop(s, send_one, false);
}

const struct send_ops send_null = {
	.name = "null",
	.summary = "no send at all: measures the harness",
	.flags = SEND_NOTHING,
	.setup = setup,
	.teardown = teardown,
	.run = run,
	.run_verify = run,
};
