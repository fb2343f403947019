/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A message whose fields are separate allocations, as in a program that built them one by one. */
#pragma once

#include <sys/uio.h>

#include "loadgen/data/memory.h"
#include "loadgen/data/pattern.h"

struct load;

struct message {
	size_t bytes;
	unsigned int count;
	struct iovec *fields;
	struct iovec *rest; /* scratch memory of message__rest() */
	bool own;	    /* the fields are allocations that are freed with the message */
};

/*
 * Creates a message. If bytes do not divide evenly, the first fields are one byte longer. If own is
 * false, sets only the fields' lengths; the caller sets their addresses. Returns 0 or -ENOMEM.
 */
int message__create(struct message *m, size_t bytes, unsigned int fields, bool own);
void message__destroy(struct message *m);

/* Fills the fields with the pattern of this message on this connection. */
void message__fill(struct message *m, uint32_t connection, uint64_t number);

/* Returns the rest of the message after the first done bytes; valid until the next call. */
struct iovec *message__rest(struct message *m, size_t done, unsigned int *count);

/*
 * A data set of any size from which messages draw their fields, so that not all fields fit in a
 * cache. All threads share it and nobody writes to it, so a message can be sent again at once.
 */
struct dataset {
	struct memory memory;
	struct picker picker;
	size_t stride; /* distance from one field to the next */
};

/* Returns how this load draws fields; all zero without a data set. Pure, so both ends agree. */
struct picker dataset__picker(const struct load *load);

/* Creates the data set. Without one, sets memory.base to NULL. memory__unmap() frees it. */
int dataset__create(struct dataset *d, const struct load *load, struct failure *f);

/* Points the message's fields at the data-set fields of this message on this connection. */
static inline __attribute__((always_inline)) void
dataset__pick(const struct dataset *d, struct message *m, uint32_t connection, uint64_t number)
{
	uint64_t at = picker__field(&d->picker, connection, number, 0);

	for (unsigned int i = 0;;) {
		m->fields[i].iov_base = d->memory.base + at * d->stride;
		if (++i == m->count)
			return;
		if (d->picker.random)
			at = picker__field(&d->picker, connection, number, i);
		else if (++at == d->picker.count) /* picker__field() without divisions */
			at = 0;
	}
}
