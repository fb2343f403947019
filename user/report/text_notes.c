// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Warnings, and what was not measured: by reason, with the option that would measure it. */
#include "user/report/text.h"

#include "user/kernel/plan.h"
#include "user/report/record_read.h"

#include <stdbool.h>
#include <string.h>

/* What a key of "unmeasured" is for people; NULL: what does not apply, or stands elsewhere. */
static const struct {
	const char *key, *words, *option;
} keys[] = {
	{.key = "app"},
	{"calls", .words = "sends"},
	{"calls.counters", "counters of each send", "--call-counters EVENTS"},
	{.key = "calls.cpu_ns"},
	{"calls.stages", "where the time of a send goes", "--stages"},
	{"calls.stages.", .words = "stages that are functions of the kernel"},
	{"calls.syscalls", .words = "syscalls"},
	{"counters", .words = "counters of the program"},
	{.key = "load"},
	{"lost", .words = "losses"},
	{"lost.stacks", .words = "lost stacks"},
	{.key = "memory"},
	{.key = "noise"},
	{"observed.others", .words = "sends that are not TCP's"},
	{"observer", "what measuring costs", "--cost"},
	{"plan.hooks.missed", .words = "skipped runs of the programs"},
	{"receiver", .words = "the receiver's copies"},
	{.key = "receiver.copy_ns"},
	{"run.steal_share", .words = "steal time"},
	{"tcp", .words = "TCP's own counters"},
	{"tcp.sending", .words = "the sending sockets' state"},
	{"tcp.skbs", "skbs that a send becomes", "--packets"},
	{.key = "tcp.skb_frags"},
	{.key = "tcp.skbs_per_send"},
	{.key = "tcp.frags_per_skb"},
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
	{.key = "zerocopy.wake_up_ns"},
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
		if (!strncmp(key, keys[i].key, length) &&
		    (keys[i].key[length - 1] == '.' || (!keys[i].words && key[length] == '.')))
			return (long)i;
	}
	return -1;
}

static bool has(json_object *list, json_object *row)
{
	json_object *other;
	size_t i;

	for (i = 0; (other = record__row(list, "", i)); i++)
		if (json_object_equal(other, row))
			return true;
	return false;
}

/* The distinct rows of a list over all records. To be json_object_put. */
static json_object *distinct(const struct cells *cells, const char *path)
{
	json_object *list = json_object_new_array(), *row;
	size_t i, j;

	for (i = 0; i < cells->count; i++)
		for (j = 0; (row = cell__row(&cells->cells[i], path, j)); j++)
			if (!has(list, row))
				json_object_array_add(list, json_object_get(row));
	return list;
}

/* But those that the headline has. */
static void warnings(json_object *list, FILE *out)
{
	json_object *row;
	size_t i;

	for (i = 0; (row = record__row(list, "", i)); i++)
		if (strcmp(record__string(row, "/code"), "no_pmu") &&
		    strcmp(record__string(row, "/code"), UNSEEN))
			fprintf(out, "warning: %s\n", record__string(row, "/text"));
}

/* What an option would have measured, in one line. */
static void optional(json_object *list, FILE *out)
{
	const char *before = "not measured: ";
	json_object *one;
	size_t i;
	long row;

	for (i = 0; (one = record__row(list, "", i)); i++) {
		row = row_of(record__string(one, "/key"));
		if (row < 0 || !keys[row].option)
			continue;
		fprintf(out, "%s%s (%s)", before, keys[row].words, keys[row].option);
		before = ", ";
	}
	fputs(*before == ',' ? "\n" : "", out);
}

static bool is_said(json_object *row, const char *reason)
{
	long i = row_of(record__string(row, "/key"));

	return (i < 0 || (keys[i].words && !keys[i].option)) &&
	       !strcmp(record__string(row, "/reason"), reason);
}

/* All that one reason keeps from being measured, in one line. */
static void say_reason(json_object *list, const char *reason, FILE *out)
{
	const char *before = "not measured: ", *key;
	json_object *row;
	size_t i;
	long at, last = -1;

	for (i = 0; (row = record__row(list, "", i)); i++) {
		if (!is_said(row, reason))
			continue;
		key = record__string(row, "/key");
		at = row_of(key);
		if (at >= 0 && at == last)
			continue;
		last = at;
		fprintf(out, "%s%s", before, at < 0 ? key : keys[at].words);
		before = ", ";
	}
	fprintf(out, ": %s\n", reason);
}

static void impossible(json_object *list, FILE *out)
{
	const char *reason;
	json_object *row;
	size_t i, j;

	for (i = 0; (row = record__row(list, "", i)); i++) {
		reason = record__string(row, "/reason");
		for (j = 0; !is_said(record__row(list, "", j), reason) && j < i;)
			j++;
		if (j == i && is_said(row, reason) && strcmp(reason, PLAN_NEVER_ASKS))
			say_reason(list, reason, out);
	}
}

void text__notes(const struct cells *cells, FILE *out)
{
	json_object *list = distinct(cells, "/warnings");

	warnings(list, out);
	json_object_put(list);
	list = distinct(cells, "/unmeasured");
	optional(list, out);
	impossible(list, out);
	json_object_put(list);
}
