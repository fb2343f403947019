/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A send variant. To add one, add a row to send_copied.c, or a file that defines such a struct, and
 * a line to variants.c.
 */
#pragma once

#include <stddef.h>

struct load;
struct sender;

#define SEND_ZEROCOPY  (1u << 0) /* requests zero-copy: has settle and zero-copy counts */
#define SEND_NOTHING   (1u << 1) /* no byte leaves: measures the harness */
#define SEND_COURSE    (1u << 2) /* one of the three variants of "all" */
#define SEND_SHARES    (1u << 3) /* the kernel sends from our memory: messages are in flight */
#define SEND_FILE      (1u << 4) /* sends from a file, each message in one piece */
#define SEND_FLAGLESS  (1u << 5) /* its system call takes no flags such as MSG_MORE */
#define SEND_REGISTERS (1u << 6) /* can send from registered buffers */
#define SEND_BORROWS   (1u << 7) /* the kernel borrows pages until the receiver has them (pool.h) */
#define SEND_NO_FIELDS (SEND_NOTHING | SEND_FILE)

struct send_ops {
	const char *name;
	unsigned int flags;

	/* The io_uring operation that it needs, and its name; NULL: none. */
	int operation;
	const char *needs;

	/*
	 * setup runs in the worker's thread, connected. s->state has state_bytes, all zero; the
	 * caller frees it after teardown, which also undoes a failed setup. Both may be NULL.
	 */
	size_t state_bytes;
	int (*setup)(struct sender *s, const struct load *load);
	void (*teardown)(struct sender *s);

	/*
	 * Sends messages until the deadline has passed or none remain. Returns 0 or a negative
	 * errno, perhaps with a reason in s->failure. The loops check no options: there is one for
	 * each enum send_mode, and one for a fixed rate (SEND_PACED).
	 */
	int (*const *runs)(struct sender *s);

	/* Ends a phase: returns when no send is in flight. May be NULL. */
	int (*settle)(struct sender *s);
};

/* All variants, in the order in which they are listed. */
extern const struct send_ops *const send_variants[];
extern const size_t send_variant_count;

/* Returns the variant of that name, or NULL. */
const struct send_ops *variants__find(const char *name);

/* Probes the kernel. Returns 0, or a negative errno with the variant's name and the reason. */
int variants__probe(const char *name, char *why, size_t room);

/* Probes for a variant that needs io_uring; in send_uring.c. */
int ring__probe(const struct send_ops *ops, char *why, size_t room);
