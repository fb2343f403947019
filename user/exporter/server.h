/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GET /metrics by HTTP, in the thread that calls: one request a connection, few connections at
 * once, and each for some seconds at most, whatever its client does or leaves undone. Where there
 * are too many, the oldest of the address that has most of them goes.
 */
#pragma once

#include "user/exporter/allowed.h"

#include <stdbool.h>
#include <stddef.h>

struct server;

/* Makes the text, to be freed. 0 or -errno. */
typedef int (*server_text)(void *context, bool open_metrics, char **text, size_t *size);

/*
 * Listens at "ADDRESS:PORT", for requests by these names, which must stay. 0 and *out; or -errno
 * with the reason in words.
 */
int server__open(struct server **out, const char *endpoint, const struct allowed_names *names,
		 server_text make, void *context, char *reason, size_t size);
void server__close(struct server *s);
/* Where it listens, as a URL has it: "127.0.0.1:9435". */
const char *server__endpoint(const struct server *s);
/* Readable: there is something to do for server__run. */
int server__fd(const struct server *s);
/* The same, without anything to read: in so many ms, at most. */
int server__ms_left(const struct server *s, int most);
void server__run(struct server *s);
