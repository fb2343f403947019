/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A message whose fields lie scattered: each one an allocation of its own, as in
 * a program that built them one by one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct message {
	size_t bytes;
	unsigned int count;
	struct iovec *fields;
	struct iovec *rest; /* scratch of message__rest() */
	bool own;	    /* each field is an allocation that goes with the message */
};

/* Where bytes do not divide evenly, the first fields are one byte longer. */
int message__create(struct message *m, size_t bytes, unsigned int fields);

/* The same without memory: the fields' lengths stand, where they lie is yet to be said. */
int message__shape(struct message *m, size_t bytes, unsigned int fields);
void message__destroy(struct message *m);

/* Fills the fields with the pattern of this message of this connection. */
void message__fill(struct message *m, uint32_t connection, uint64_t number);

/* What is left to send after the first done bytes; valid until the next call. */
struct iovec *message__rest(struct message *m, size_t done, unsigned int *count);
