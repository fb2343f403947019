/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The application gathers the fields into one buffer, the kernel copies that. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loadgen/options.h"
#include "loadgen/send_loop.h"
#include "loadgen/send_ops.h"

struct twocopy {
	struct message message;
	char *flat;
};

static int setup(struct sender *s, const struct load *load)
{
	struct twocopy *t = calloc(1, sizeof(*t));
	int err = -ENOMEM;

	if (!t)
		return err;
	t->flat = malloc(load->message_bytes);
	if (t->flat)
		err = message__create(&t->message, load->message_bytes, load->fields);
	if (err) {
		free(t->flat);
		free(t);
		return err;
	}
	message__fill(&t->message, s->connection, 0);
	s->state = t;
	return 0;
}

static void teardown(struct sender *s)
{
	struct twocopy *t = s->state;

	message__destroy(&t->message);
	free(t->flat);
	free(t);
}

static always_inline void gather(char *to, const struct message *m)
{
	for (unsigned int i = 0; i < m->count; i++) {
		memcpy(to, m->fields[i].iov_base, m->fields[i].iov_len);
		to += m->fields[i].iov_len;
	}
}

static always_inline int send_one(struct sender *s, bool verify)
{
	struct twocopy *t = s->state;
	size_t done = 0;

	if (verify)
		message__fill(&t->message, s->connection, s->number);
	gather(t->flat, &t->message);
	while (done < t->message.bytes) {
		ssize_t n = sender__send(s, t->flat + done, t->message.bytes - done);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		done += (size_t)n;
	}
	return 0;
}

static int run(struct sender *s)
{
	return send_loop(s, send_one, false);
}

static int run_verify(struct sender *s)
{
	return send_loop(s, send_one, true);
}

const struct send_ops send_twocopy = {
	.name = "twocopy",
	.summary = "memcpy() into one buffer, then send(): two copies",
	.setup = setup,
	.teardown = teardown,
	.run = run,
	.run_verify = run_verify,
};
