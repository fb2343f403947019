/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The load generator as a child process, driven by the control protocol of loadgen/run/control.h.
 * It cannot outlive this process.
 */
#pragma once

#include "common/program.h"
#include "loadgen/options/options.h"

#include <json-c/json.h>
#include <sys/types.h>

struct generator;
struct load_row;

/* Called while waiting, at least five times per second. Returns true to end the phase early. */
typedef bool (*generator_tick)(void *context);
/* Returns the ms until tick must be called again, up to most. */
typedef int (*generator_ms)(void *context, int most);

/*
 * Starts the load generator for one load. Does not wait for its HELLO, so that programs can be
 * loaded meanwhile. f must stay valid: these functions write their failures, and those of the load
 * generator, there. Returns 0 and *out; or -errno, perhaps with *out.
 */
int generator__start(struct generator **out, const struct load *load, struct failure *f);

/*
 * Waits until sender and receiver exist, before they have threads or connections. Returns 0 and
 * their process ids; -EINTR if tick ended the wait; or -errno.
 */
int generator__greet(struct generator *g, generator_tick tick, void *context, pid_t *sender,
		     pid_t *receiver);

/*
 * Connects and warms up, after the hooks are attached. Returns when nothing is in flight, with the
 * port of the connections.
 */
int generator__connect(struct generator *g, generator_tick tick, void *context, unsigned int *port);
/* Runs the measured window, from the first send until nothing is in flight. */
int generator__window(struct generator *g, generator_tick tick, generator_ms ms, void *context);
/* Receives the result, which the caller frees. If it has a key "error", the window failed. */
int generator__finish(struct generator *g, json_object **result);

/* Ends the child if it still runs, and reaps it. g may be NULL. */
void generator__free(struct generator *g);

/* Writes the name of one of several loads: "onecopy 16K x4", "epoll, 100 connections". */
const char *load__label(const struct load *load, char *text, size_t room);

/*
 * Returns a value as row__set() reads it, perhaps written to text; "" for a set flag. NULL if the
 * option can be left out: the load does not use it, or it is 0, the default.
 */
const char *row__text(const struct load_row *row, const struct load *load, char text[ROW_TEXT_MAX]);

/* A load as words of a command line, which the struct owns; NULL after the last word. */
struct load_arguments {
	char *values[OPTIONS_MAX + 3]; /* options, the program, --control, NULL */
	size_t count;
	int err;
};

/*
 * Writes all options of the load that differ from 0, the default. fd is the control socket. 0 or
 * -ENOMEM; must be freed in both cases.
 */
int load_arguments__fill(struct load_arguments *a, const char *program, const struct load *load,
			 int fd);
void load_arguments__free(struct load_arguments *a);
