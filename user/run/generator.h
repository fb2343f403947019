/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The load generator as seen from here: a child process, driven over the control
 * protocol of loadgen/run/control.h. It cannot outlive us.
 */
#pragma once

#include "loadgen/options/options.h"

#include <json-c/json.h>
#include <sys/types.h>

struct generator;
struct load_row;

/* Called while waiting, at least five times a second; true: end the phase early. */
typedef bool (*generator_tick)(void *context);
/* Has tick be called no later than after so many ms, which this says whenever asked. */
typedef int (*generator_ms)(void *context, int most);

/*
 * Starts the load generator for one load; its greeting comes later, so that programs can be loaded
 * meanwhile. 0 and *out; or -errno, perhaps with *out.
 */
int generator__start(struct generator **out, const struct load *load);

/*
 * Waits until its two ends exist. No thread and no connection exist yet. 0 and the ids of the
 * processes at its ends; -EINTR when tick ended it; or -errno.
 */
int generator__greet(struct generator *g, generator_tick tick, void *context, pid_t *sender,
		     pid_t *receiver);

/*
 * After attaching: connects and warms up. Returns when nothing is in flight, with the port that
 * its connections go to.
 */
int generator__connect(struct generator *g, generator_tick tick, void *context, unsigned int *port);
/* The measured window, from its first send until nothing is in flight any more. */
int generator__window(struct generator *g, generator_tick tick, generator_ms ms, void *context);
/* What it counted; *result is the caller's. An "error" key in it means a failed window. */
int generator__finish(struct generator *g, json_object **result);

/*
 * These return 0; -ECANCELED if it said why it gave up; -EPIPE if it is gone
 * without a word; -errno otherwise. In words, and with the exit status that fits:
 */
const char *generator__error(const struct generator *g, int *exit_status);

/* Ends the child if it still runs, and waits for it. NULL is fine. */
void generator__free(struct generator *g);

/* "onecopy 16K x4", "epoll, 100 connections": the name of a load among several. */
const char *load__label(const struct load *load, char *text, size_t room);

/*
 * The value as row__set() reads it, perhaps in text; "" for a flag that is set. NULL where
 * nothing has to be said: the load does not use it, or it is 0 as by default.
 */
const char *row__text(const struct load_row *row, const struct load *load, char text[ROW_TEXT_MAX]);

/* A load in the words of its command line, which this owns; NULL after the last. */
struct load_arguments {
	char *values[OPTIONS_MAX + 3]; /* the program and --control as well */
	size_t count;
	int err;
};

/*
 * Every option that makes this load, but those that are 0 as by default; fd: of the control
 * socket. 0 or -ENOMEM; to be freed either way.
 */
int load_arguments__fill(struct load_arguments *a, const char *program, const struct load *load,
			 int fd);
void load_arguments__free(struct load_arguments *a);
