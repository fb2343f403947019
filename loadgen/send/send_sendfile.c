/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel sends the pages of a file, in memory or in a folder of choice. A
 * message lies there in one piece, as what a file server sends does.
 */
#include <errno.h>
#include <sys/sendfile.h>

#include "loadgen/send/pool.h"
#include "loadgen/send/send_loop.h"
#include "loadgen/send/send_ops.h"

static always_inline int send_one(struct sender *s, enum send_mode mode)
{
	struct borrowed *l = s->state;
	struct message *m = pool__next(&l->pool);
	const struct memory *file = pool__memory(&l->pool, s);
	size_t left = m->bytes;
	int err = borrowed__await(l, s);
	off_t at;

	if (err)
		return err;
	prepare(s, m, mode);
	at = (char *)m->fields[0].iov_base - file->base;
	while (left) {
		ssize_t n = sender__account(s, sendfile(s->fd, file->fd, &at, left));

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		left -= (size_t)n;
	}
	borrowed__sent(l);
	return 0;
}

SEND_RUNS(sendfile, send_one);

const struct send_ops send_sendfile = {
	.name = "sendfile",
	.flags = SEND_SHARES | SEND_BORROWS | SEND_FILE | SEND_FLAGLESS,
	.state_bytes = sizeof(struct borrowed),
	.setup = borrowed__setup,
	.teardown = borrowed__teardown,
	.runs = sendfile_runs,
};
