/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes the runs that the front asks for. These are of the command line's configurations alone, by
 * number: whoever steers the front can have nothing measured that the command line does not say.
 *
 *   engine -> front  the options and configurations; then the raw line of each run, and lines of
 *                    --interval while its window is open
 *   front -> engine  {"run": configuration, "repeat": number, ...}, or {"end": true}
 */
#pragma once

#include "user/options/options.h"
#include "user/run/host.h"
#include "user/run/run.h"
#include "user/system/front.h"

struct engine {
	const struct options *parts; /* what may be measured; of the first are the other options */
	size_t part_count;
	char **advise;		  /* the words of its command line; NULL: another command */
	const char *untraced;	  /* why loads are not traced, where advise goes on without */
	struct measurement setup; /* what all runs have in common */
	struct child *child;	  /* the observed command, not yet let run; or NULL */
	const struct host *host;
	struct front *front; /* NULL: none was started */
	/* its own: */
	struct engine_cell *cells;
	size_t cell_count, runs;
	int status;
	bool told_of_signal; /* the front was */
	struct session session;
};

/* What one request asks for. */
struct run_request {
	size_t cell;
	unsigned int repeat; /* from 1 */
	bool ordered;	     /* at random, by this seed */
	uint32_t seed;
	double seconds; /* 0: as the command line says */
	bool last;	/* no other follows */
};

/* False: it is no request of one of so many configurations. */
bool run_request__read(struct run_request *q, json_object *o, size_t cells);

/*
 * Has the front parse the words of advise. False: it has nothing measured, and its end says the
 * exit status.
 */
bool engine__ask_advise(struct engine *e);

/*
 * Until the front has reported all of it. Returns the exit status. Ends early by a signal:
 * signals__caught() then tells which.
 */
int engine__serve(struct engine *e);

/* The same without a front: raw lines go to standard output. */
int engine__run_alone(struct engine *e);
