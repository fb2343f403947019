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
/* Returns the ms, at most so many, until tick must be called again. */
typedef int (*generator_ms)(void *context, int most);

/*
 * Starts the load generator for one load. It sends its HELLO later, so that programs can be loaded
 * meanwhile. f must stay valid: all of these functions leave their failures there, also those that
 * the load generator reports. 0 and *out; or -errno, perhaps with *out.
 */
int generator__start(struct generator **out, const struct load *load, struct failure *f);

/*
 * Waits until its two ends exist. No thread and no connection exist yet. 0 and the ids of the
 * processes at its ends; -EINTR when tick ended it; or -errno.
 */
int generator__greet(struct generator *g, generator_tick tick, void *context, pid_t *sender,
		     pid_t *receiver);

/*
 * After the hooks are attached: connects and warms up. Returns when nothing is in flight, with the
 * port of its connections.
 */
int generator__connect(struct generator *g, generator_tick tick, void *context, unsigned int *port);
/* The measured window, from the first send until nothing is in flight. */
int generator__window(struct generator *g, generator_tick tick, generator_ms ms, void *context);
/* Its result, which the caller frees. An "error" key in it means that the window failed. */
int generator__finish(struct generator *g, json_object **result);

/* Ends the child if it still runs, and reaps it. g may be NULL. */
void generator__free(struct generator *g);

/* "onecopy 16K x4", "epoll, 100 connections": the name of one of several loads. */
const char *load__label(const struct load *load, char *text, size_t room);

/*
 * A value as row__set() reads it, perhaps written to text; "" for a set flag. NULL if the option
 * can be left out: the load does not use it, or it is 0, the default.
 */
const char *row__text(const struct load_row *row, const struct load *load, char text[ROW_TEXT_MAX]);

/* A load as words of a command line, which this owns; NULL after the last. */
struct load_arguments {
	char *values[OPTIONS_MAX + 3]; /* also of the program and --control */
	size_t count;
	int err;
};

/*
 * All options of the load that differ from 0, the default; fd is the control socket. 0 or -ENOMEM;
 * must be freed in both cases.
 */
int load_arguments__fill(struct load_arguments *a, const char *program, const struct load *load,
			 int fd);
void load_arguments__free(struct load_arguments *a);
