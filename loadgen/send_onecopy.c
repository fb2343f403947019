/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel gathers the fields: one iovec each, one sendmsg(). */
#include <errno.h>
#include <stdlib.h>

#include "loadgen/options.h"
#include "loadgen/send_loop.h"
#include "loadgen/send_ops.h"

static int setup(struct sender *s, const struct load *load)
{
	struct message *m = malloc(sizeof(*m));
	int err = -ENOMEM;

	if (m)
		err = message__create(m, load->message_bytes, load->fields);
	if (err) {
		free(m);
		return err;
	}
	message__fill(m, s->connection, 0);
	s->state = m;
	return 0;
}

static void teardown(struct sender *s)
{
	message__destroy(s->state);
	free(s->state);
}

static always_inline int send_one(struct sender *s, bool verify)
{
	struct message *m = s->state;
	struct iovec *iov = m->fields;
	unsigned int count = m->count;
	size_t done = 0;

	if (verify)
		message__fill(m, s->connection, s->number);
	for (;;) {
		ssize_t n = sender__sendmsg(s, iov, count, 0);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		done += (size_t)n;
		if (done == m->bytes)
			return 0;
		iov = message__rest(m, done, &count);
	}
}

static int run(struct sender *s)
{
	return send_loop(s, send_one, false);
}

static int run_verify(struct sender *s)
{
	return send_loop(s, send_one, true);
}

const struct send_ops send_onecopy = {
	.name = "onecopy",
	.summary = "sendmsg() of the scattered fields: the kernel copies once",
	.setup = setup,
	.teardown = teardown,
	.run = run,
	.run_verify = run_verify,
};
