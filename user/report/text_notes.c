// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Warnings, and what was not measured: by reason, with the option that would measure it. */
#include "user/report/text.h"

#include "user/kernel/plan.h"
#include "user/record/record_read.h"

#include <stdbool.h>
#include <string.h>

/* What a key of "unmeasured" is for people; NULL: what does not apply, or stands elsewhere. */
static const struct {
	const char *key, *words, *option;
} keys[] = {
	{.key = "app"},
	{"calls", .words = "sends"},
	{"calls.counters", "counters of each send", "--call-counters EVENTS"},
	{"calls.syscalls", .words = "syscalls"},
	{"counters", .words = "counters of the program"},
	{.key = "load"},
	{"lost", .words = "losses"},
	{"lost.stacks", .words = "lost stacks"},
	{.key = "memory"},
	{"observed.others", .words = "sends that are not TCP's"},
	{"observer", "what measuring costs", "--cost"},
	{"plan.hooks.missed", .words = "skipped runs of the programs"},
	{"receiver", .words = "the receiver's copies"},
	{"run.steal_share", .words = "steal time"},
	{"tcp", .words = "TCP's own counters"},
	{"tcp.sending", .words = "the sending sockets' state"},
	{.key = "tcp.skbs_per_send"},
	{"zerocopy.bytes_copied", .words = "copied bytes"},
	{"zerocopy.bytes_copied_silent", .words = "bytes of unreported copies"},
	{"zerocopy.causes", .words = "causes of copies"},
	{"zerocopy.completion_ns", .words = "time to completion"},
	{"zerocopy.completions", .words = "completions"},
	{"zerocopy.copied_silent", .words = "unreported copies"},
	{"zerocopy.error_queue", .words = "time of error-queue reads"},
	{"zerocopy.notifications.read", .words = "coalescing of notifications"},
	{"zerocopy.pinned", .words = "pinned memory"},
	{.key = "zerocopy.skb_copies"},
	{.key = "zerocopy.skb_copy_bytes"},
};

/* The row of a key, or of the block that it belongs to; NULL: it is said by its own name. */
static long row_of(const char *key)
{
	size_t i, length;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(key, keys[i].key))
			return (long)i;
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		length = strlen(keys[i].key);
		if (!keys[i].words && !strncmp(key, keys[i].key, length) && key[length] == '.')
			return (long)i;
	}
	return -1;
}

/* The rows of a list over all records, those of a cell's repeats included. */
struct walk {
	const struct cells *cells;
	const char *list;
	size_t cell, record, row;
};

static json_object *next(struct walk *w)
{
	const struct cell *cell;
	json_object *row;

	for (; w->cell < w->cells->count; w->cell++, w->record = 0) {
		cell = &w->cells->cells[w->cell];
		for (; w->record < cell->count; w->record++, w->row = 0) {
			row = record__row(cell->records[w->record], w->list, w->row++);
			if (row)
				return row;
		}
	}
	return NULL;
}

/* Has an earlier record the same row? */
static bool is_repeated(const struct walk *at, json_object *row)
{
	struct walk w = {at->cells, at->list, 0, 0, 0};
	json_object *earlier;

	while ((earlier = next(&w)) && earlier != row)
		if (json_object_equal(earlier, row))
			return true;
	return false;
}

static void warnings(const struct cells *cells, FILE *out)
{
	struct walk w = {cells, "/warnings", 0, 0, 0};
	json_object *row;

	while ((row = next(&w))) {
		/* The headline says that there is no PMU. */
		if (!strcmp(record__string(row, "/code"), "no_pmu") || is_repeated(&w, row))
			continue;
		fprintf(out, "warning: %s\n", record__string(row, "/text"));
	}
}

/* What an option would have measured, in one line. */
static void optional(const struct cells *cells, FILE *out)
{
	struct walk w = {cells, "/unmeasured", 0, 0, 0};
	json_object *row;
	bool any = false;
	long i;

	while ((row = next(&w))) {
		i = row_of(record__string(row, "/key"));
		if (i < 0 || !keys[i].option || is_repeated(&w, row))
			continue;
		fprintf(out, "%s%s (%s)", any ? ", " : "not measured: ", keys[i].words,
			keys[i].option);
		any = true;
	}
	fputs(any ? "\n" : "", out);
}

static bool is_said(json_object *row)
{
	long i = row_of(record__string(row, "/key"));

	return (i < 0 || (keys[i].words && !keys[i].option)) &&
	       strcmp(record__string(row, "/reason"), PLAN_NEVER_ASKS) != 0;
}

/* All that one reason keeps from being measured. */
static void keys_of(const struct cells *cells, const char *reason, FILE *out)
{
	struct walk w = {cells, "/unmeasured", 0, 0, 0};
	const char *before = "not measured: ", *key;
	json_object *row;
	long i;

	while ((row = next(&w))) {
		if (!is_said(row) || strcmp(record__string(row, "/reason"), reason) ||
		    is_repeated(&w, row))
			continue;
		key = record__string(row, "/key");
		i = row_of(key);
		fprintf(out, "%s%s", before, i < 0 ? key : keys[i].words);
		before = ", ";
	}
	fprintf(out, ": %s\n", reason);
}

static void impossible(const struct cells *cells, FILE *out)
{
	struct walk w = {cells, "/unmeasured", 0, 0, 0}, earlier;
	json_object *row, *other;

	while ((row = next(&w))) {
		earlier = (struct walk){cells, "/unmeasured", 0, 0, 0};
		while ((other = next(&earlier)) && other != row)
			if (is_said(other) && !strcmp(record__string(other, "/reason"),
						      record__string(row, "/reason")))
				break;
		if (!is_said(row) || other != row || is_repeated(&w, row))
			continue;
		keys_of(cells, record__string(row, "/reason"), out);
	}
}

void text__notes(const struct cells *cells, FILE *out)
{
	warnings(cells, out);
	optional(cells, out);
	impossible(cells, out);
}
