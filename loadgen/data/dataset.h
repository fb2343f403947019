/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A data set of any size that messages draw their fields from, so that not all of them
 * lie in a cache. All threads draw from the same; nobody writes to it, so a
 * message waits for nothing before it is sent again.
 */
#pragma once

#include "loadgen/data/memory.h"
#include "loadgen/data/message.h"
#include "loadgen/data/picker.h"

struct load;

struct dataset {
	struct memory memory;
	struct picker picker;
	size_t stride; /* from one field to the next */
};

/* How this load picks; all zero without a data set. Pure: both ends ask. */
struct picker dataset__picker(const struct load *load);

/* NULL without a data set. */
int dataset__create(struct dataset **d, const struct load *load, struct failure *f);
void dataset__destroy(struct dataset *d);

/* Points the message's fields at those that make this message of this connection. */
static inline void dataset__pick(const struct dataset *d, struct message *m, uint32_t connection,
				 uint64_t number)
{
	uint64_t at = picker__field(&d->picker, connection, number, 0);

	for (unsigned int i = 0;;) {
		m->fields[i].iov_base = d->memory.base + at * d->stride;
		if (++i == m->count)
			return;
		if (d->picker.random)
			at = picker__field(&d->picker, connection, number, i);
		else if (++at == d->picker.count) /* as picker__field(), without its divisions */
			at = 0;
	}
}
