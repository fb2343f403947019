// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>

#include "loadgen/load.h"
#include "loadgen/send/send_copied.h"

int fields__setup(struct sender *s, const struct load *load)
{
	return pool__create(s->state, s, load, 1);
}

void fields__teardown(struct sender *s)
{
	pool__destroy(s->state);
}

int flat__setup(struct sender *s, const struct load *load)
{
	struct flat *t = s->state;
	int err;

	t->buffer = malloc(load->message_bytes);
	err = t->buffer ? pool__create(&t->pool, s, load, 1) : -ENOMEM;
	if (err)
		free(t->buffer);
	return err;
}

void flat__teardown(struct sender *s)
{
	struct flat *t = s->state;

	pool__destroy(&t->pool);
	free(t->buffer);
}
