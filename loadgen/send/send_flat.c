/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "loadgen/load.h"
#include "loadgen/send/send_flat.h"

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
