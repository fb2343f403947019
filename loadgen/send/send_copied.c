/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "loadgen/load.h"
#include "loadgen/send/send_copied.h"

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

int flat__setup(struct sender *s, const struct load *load)
{
	struct flat *t = calloc(1, sizeof(*t));
	int err = -ENOMEM;

	if (!t)
		return err;
	t->buffer = malloc(load->message_bytes);
	if (t->buffer)
		err = pool__create(&t->pool, s, load, 1);
	if (err) {
		free(t->buffer);
		free(t);
		return err;
	}
	s->state = t;
	return 0;
}

void flat__teardown(struct sender *s)
{
	struct flat *t = s->state;

	pool__destroy(&t->pool);
	free(t->buffer);
	free(t);
}
