/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "loadgen/load.h"
#include "loadgen/send/lent.h"

int lent__create(struct lent *l, struct sender *s, const struct load *load)
{
	uint32_t depth = pool__depth(load);
	int err;

	*l = (struct lent){.reuse_early = load->reuse_early};
	l->ends = calloc(depth, sizeof(*l->ends));
	if (!l->ends)
		return -ENOMEM;
	err = pool__create(&l->pool, s, load, depth);
	if (err)
		free(l->ends);
	return err;
}

void lent__destroy(struct lent *l)
{
	pool__destroy(&l->pool);
	free(l->ends);
}
