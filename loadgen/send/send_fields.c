/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "loadgen/load.h"
#include "loadgen/send/send_fields.h"

int fields__setup(struct sender *s, const struct load *load)
{
	struct pool *p = malloc(sizeof(*p));
	int err = p ? pool__create(p, s, load, 1) : -ENOMEM;

	if (err)
		free(p);
	else
		s->state = p;
	return err;
}

void fields__teardown(struct sender *s)
{
	pool__destroy(s->state);
	free(s->state);
}
