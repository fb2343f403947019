/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The front: analysis/front, a process of the user's without any privilege. It asks for runs, makes
 * records of their raw lines, reports and keeps them; this process measures what it asks for, of
 * what its command line allows. They speak over a socket, a JSON object a line.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

struct front;

/*
 * To be called before anything is opened. 0, to be freed; or -errno with the reason in words: it
 * lacks Python or its files, or others may write to these.
 */
int front__start(struct front **out, char *reason, size_t size);

/* Sends a line and frees it; NULL is no memory. 0 or -errno: -EPIPE, it is gone. */
int front__say(struct front *f, char *line);
/*
 * The same of a line that may be left out, without waiting: false where it has not read all that
 * was said, and nothing was sent.
 */
bool front__offer(struct front *f, char *line);
/*
 * What it asks for next, to be json_object_put. NULL, with *err: -EPIPE, it is gone; -EBADMSG, what
 * it says is no line.
 */
json_object *front__hear(struct front *f, int *err);
/* A line of it, without its end; NULL: it is no small object. */
json_object *front__parse(const char *line, size_t size);
/* It ended, or closed its end: no reader is left for results. */
bool front__is_gone(const struct front *f);

/*
 * Waits for its end: its exit status; below 0: a signal ended it. A signal that this process caught
 * ends its report, too, unless the signal was passed to it: then the report is still wanted.
 */
int front__end(struct front *f, bool told_of_signal);
/* Ends it if it lives; NULL is fine. */
void front__free(struct front *f);
