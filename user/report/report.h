/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reporters turn run records into something: a line in a file, a text for people.
 * They see records and nothing else. A new one is a file, opened in main.c.
 */
#pragma once

#include "user/report/cells.h"

#include <json-c/json.h>
#include <stdio.h>

struct reporter {
	/* Takes one record as its run ends; borrowed. 0 or -errno, said on stderr. */
	int (*add)(void *state, json_object *record);
	/* After the last record. Frees the state. 0 or -errno, said on stderr. */
	int (*finish)(void *state);
};

struct report {
	const struct reporter *reporter;
	void *state;
};

/*
 * JSON lines, appended to a file ("-": standard output), one write each, so that
 * no half record is left. Opens at once, so that a run is not made in vain.
 * 0 or -errno, said on stderr.
 */
int report_json__open(struct report *report, const char *path);

enum text_extent {
	TEXT_REPORT,
	TEXT_HISTOGRAMS, /* the report, with those of any number of configurations */
	TEXT_SUMMARY,	 /* the answer and the table */
};

/* The text for people, written to out at the end. 0 or -ENOMEM. */
int report_text__open(struct report *report, FILE *out, enum text_extent extent);
/* The same at once, of these cells, one or more. 0 or -errno. */
int report_text__print(struct cells *cells, enum text_extent extent, FILE *out);
