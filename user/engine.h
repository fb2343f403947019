/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes the runs that the front requests. The front can request only the command line's
 * configurations, by number: whoever controls it cannot have anything else measured.
 *
 *   engine -> front  the options and configurations; then the raw line of each run, and lines of
 *                    --interval while its window is open
 *   front -> engine  {"run": configuration, "repeat": number, ...}, or {"end": true}; during a run
 *                    {"stop": true} ends it early
 */
#pragma once

#include "user/options/options.h"
#include "user/record/raw.h"
#include "user/run/host.h"
#include "user/run/run.h"
#include "user/system/front.h"

struct engine {
	const struct options *parts; /* the parts of a grid; parts[0] has the common options */
	size_t part_count;
	char **advise;		  /* the words of the command advise; NULL: another command */
	const char *untraced;	  /* why loads are not traced, though advise continues */
	struct measurement setup; /* the same for all runs */
	struct child *child;	  /* the observed command, not started yet; or NULL */
	const struct host *host;
	struct front *front; /* NULL: there is no front */
	/* private: */
	struct engine_cell *cells;
	size_t cell_count, runs;
	int status;
	bool signal_reported; /* a line has reported the signal to the front */
	struct session session;
};

/* Reads a request. Returns false if it is invalid, or for none of the configurations. */
bool run_request__read(struct run_request *q, json_object *o, size_t cells);

/*
 * Makes the front parse the words of advise. Returns false if the front requests no measurement:
 * its exit status is then the result.
 */
bool engine__parse_advise(struct engine *e);

/*
 * Makes runs until the front has reported all of them; without a front, raw lines go to standard
 * output. Returns the exit status. A signal, which signals__caught() then returns, ends it early.
 */
int engine__make_runs(struct engine *e);
