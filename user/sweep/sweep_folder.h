/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The folder of a sweep: its plan, and a file of records that one sweep at a time
 * writes to, each record on the disk before the next run begins.
 */
#pragma once

#include "user/options/options.h"
#include "user/sweep/sweep_plan.h"

#include <json-c/json.h>

struct sweep_folder {
	const char *dir;
	int fd;	  /* of the folder */
	int runs; /* of the file of records, locked */
	char path[4096];
};

/*
 * Takes the folder, making it if there is none, and settles the plan's seed: the one
 * on paper, if there is paper. 0 or -errno, said on stderr; to be closed in any case.
 */
int sweep_folder__open(struct sweep_folder *f, struct sweep_plan *p, const struct options *o);

/*
 * Has each record that is there taken, oldest first; borrowed. A half-written last
 * line is put aside, and said. 0 or -errno, said on stderr.
 */
int sweep_folder__read(struct sweep_folder *f, void (*take)(void *context, json_object *record),
		       void *context);

/* Adds a record, durably. 0 or -errno, said on stderr. */
int sweep_folder__add(struct sweep_folder *f, json_object *record);

void sweep_folder__close(struct sweep_folder *f);
