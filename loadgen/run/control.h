/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The coordinator of the run: a driver at the other end of a socket (protocol.h), or
 * nobody but the person at the terminal, whose Ctrl-C is then the STOP.
 */
#pragma once

#include <sys/types.h>

#include "common/program.h"
#include "loadgen/protocol.h"

struct control;

/* fd: the driver's socket, or -1 for none. Takes over how signals are handled. */
int control__create(struct control **control, int fd, struct failure *f);
void control__destroy(struct control *c);

/* Readable when control__read() has something: a STOP, or the driver's end. */
int control__fd(const struct control *c);

/* Reads one message, or takes one signal as a STOP: its type, or -errno. */
int control__read(struct control *c, struct failure *f);

/* The signal that ended a run without a driver; 0: none came. */
int control__signal(const struct control *c);

/*
 * The steps of the protocol. Without a driver they return at once. await returns
 * 0, or a negative errno; a STOP that comes meanwhile sets *stopped.
 */
int control__hello(struct control *c, pid_t sender, pid_t receiver, struct failure *f);
int control__await(struct control *c, enum control_type type, int *stopped, struct failure *f);
int control__parked(struct control *c, unsigned int port, struct failure *f);
int control__result(struct control *c, const char *json, struct failure *f);
void control__error(struct control *c, const struct failure *what);
