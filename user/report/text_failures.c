// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which errors sends failed with, a line a syscall and kind of send. */
#include "user/report/text.h"

#include "user/record/record_read.h"

#include "common/units.h"

#include <string.h>

#define INTERRUPTED "ERESTARTSYS" /* any that call_error_name() calls so */

const char *text__call_kind(json_object *call)
{
	if (!json_object_get_boolean(record__at(call, "/zerocopy")))
		return "";
	return strcmp(record__string(call, "/notified_by"), "io_uring") ? " MSG_ZEROCOPY"
									: " SEND_ZC";
}

static double interrupted(json_object *call)
{
	return record__value(call, "/errors/" INTERRUPTED);
}

double text__call_failures(json_object *call)
{
	json_object *errors = record__at(call, "/errors");
	double sum = 0;

	json_object_object_foreach (errors, name, count) {
		(void)name;
		sum += json_object_get_double(count);
	}
	return sum - interrupted(call);
}

static void failed(json_object *call, const char *title, FILE *out)
{
	json_object *errors = record__at(call, "/errors");
	char text[UNITS_TEXT_MAX];
	const char *before = " ";

	if (text__call_failures(call) <= 0)
		return;
	fprintf(out, "failed: %s, %s%s:", title, record__string(call, "/syscall"),
		text__call_kind(call));
	json_object_object_foreach (errors, name, count) {
		if (!strcmp(name, INTERRUPTED))
			continue;
		fprintf(out, "%s%s %s", before, name,
			units__number_text(json_object_get_double(count), text));
		before = ", ";
	}
	fputc('\n', out);
}

/* Whether its handler has the kernel restart the call is settled after the send has returned. */
static void not_failed(json_object *call, const char *title, FILE *out)
{
	char text[UNITS_TEXT_MAX];
	double n = interrupted(call);

	if (n > 0)
		fprintf(out,
			"interrupted: %s, %s%s: %s by a signal (" INTERRUPTED
			"): the kernel restarts the send, or the program sees EINTR\n",
			title, record__string(call, "/syscall"), text__call_kind(call),
			units__counted_text(n, "send", text));
}

static bool calls(json_object *record, const char *title, FILE *out)
{
	json_object *call;
	bool any = false;
	size_t i;

	for (i = 0; (call = record__row(record, "/calls", i)); i++) {
		failed(call, title, out);
		not_failed(call, title, out);
		any |= json_object_object_length(record__at(call, "/errors"));
	}
	return any;
}

void text__failures(const struct cells *cells, FILE *out)
{
	char title[96];
	bool any = false;
	size_t i, j;

	for (i = 0; i < cells->count; i++) {
		for (j = 0; j < cells->cells[i].count; j++) {
			cell__repeat_title(&cells->cells[i], cells, j, title, sizeof(title));
			any |= calls(cells->cells[i].records[j], title, out);
		}
	}
	if (any)
		fputc('\n', out);
}
