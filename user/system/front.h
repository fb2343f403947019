/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The front: analysis/front, a process of the user without any privilege. It requests runs, builds
 * records from their raw lines, and reports and keeps the records. This process measures what the
 * front requests, within the limits of the command line. They exchange JSON objects, one per line,
 * over a socket.
 */
#pragma once

#include "common/program.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

struct front;

/*
 * Starts the front. Must be called before anything is opened. 0, and *out is to be freed; or
 * -errno: Python or the front's files are missing, or other users may write to them.
 */
int front__start(struct front **out, struct failure *failure);
/*
 * Checks, if this process is root, that no other users may write to the files in analysis/, as
 * front__start() does. 0 or -errno.
 */
int front__check(struct failure *f);

/* Sends a line (NULL: out of memory) and frees it. 0 or -errno: -EPIPE: the front has ended. */
int front__send(struct front *f, char *line);
#define FRONT_OFFER_MAX (64u << 10)
/*
 * Sends a line without waiting, and frees it. Returns false, and sends nothing, if the front has
 * not read all earlier lines, or if the line has more than FRONT_OFFER_MAX bytes.
 */
bool front__offer(struct front *f, char *line);
/*
 * Receives the next request, to be released by json_object_put. NULL with *err: -EPIPE: the front
 * has ended; -EBADMSG: it sent no valid line.
 */
json_object *front__receive(struct front *f, int *err);
/* Returns whether a request of the front is not read yet. */
bool front__has_request(const struct front *f);
/* Parses a line without its end; NULL: not a small object. */
json_object *front__parse(const char *line, size_t size);
/* Returns whether the front has ended or closed the socket, so that nothing reads results. */
bool front__is_gone(const struct front *f);

/*
 * Waits until the front ends. Returns its exit status; below 0: a signal ended it. If this process
 * caught a signal, the front is ended without its report, unless the front was told of the signal
 * (signal_reported): then the user still wants the report.
 */
int front__end(struct front *f, bool signal_reported);
/* Ends the front if it runs. f may be NULL. */
void front__free(struct front *f);
