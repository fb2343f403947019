/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One connection after the other: while one is answered, the others wait in the queue. */
#include "loadgen/serving/serve_ops.h"
#include "loadgen/serving/server.h"

static int serve(struct server *s)
{
	struct exchange x;
	int err;

	for (;;) {
		err = server__accept(s, &x, 0);
		if (err < 0)
			return err;
		err = server__answer(s, &x);
		if (err)
			return err;
	}
}

const struct serve_ops serve_iterative = {
	.name = "iterative",
	.serve = serve,
};
