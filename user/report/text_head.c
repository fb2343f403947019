// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What stands above the figures: the machine and the load. */
#include "user/report/text.h"

#include "user/record/record_read.h"

#include "common/units.h"

#include <string.h>

/* The machine, and by what it was measured. */
void text__headline(const struct cells *cells, FILE *out)
{
	json_object *r = cells->cells[0].records[0];
	char text[UNITS_TEXT_MAX];
	double cpus = 0;

	record__number(r, "/host/nproc", &cpus);
	fprintf(out, "sendpath %s | Linux %s %s | %s%s%s | %s\n",
		record__string(r, "/tool/version"), record__string(r, "/host/kernel"),
		record__string(r, "/host/arch"), units__counted_text(cpus, "CPU", text),
		json_object_get_boolean(record__at(r, "/host/virtualized")) ? ", virtual machine"
									    : "",
		record__at(r, "/host/pmu") ? "" : ", no PMU",
		record__at(r, "/plan/tier") ? record__string(r, "/plan/tier") : "not traced");
}

/* The load, as far as all cells have it in common. */
void text__load(const struct cells *cells, FILE *out)
{
	json_object *r = cells->cells[0].records[0];
	double bytes = 0, fields = 0, threads = 0, seconds = 0, messages = 0;
	char size[UNITS_TEXT_MAX];

	record__number(r, "/load/message_bytes", &bytes);
	record__number(r, "/load/fields", &fields);
	record__number(r, "/load/threads", &threads);
	if (cells__vary(cells, "/load/fields"))
		fputs("fields as listed", out);
	else
		fputs(units__counted_text(fields, "field", size), out);
	if (!cells__vary(cells, "/load/message_bytes"))
		fprintf(out, " = %s a message", units__size_text((size_t)bytes, size));
	if (!strcmp(record__string(r, "/load/workload"), "request"))
		fputs(" | each asked for", out);
	if (!cells__vary(cells, "/load/threads"))
		fprintf(out, " | %s", units__counted_text(threads, "thread", size));
	fprintf(out, " | %s", cells__place(cells));
	if (record__number(r, "/load/duration_s", &seconds))
		fprintf(out, " | %g s each", seconds);
	else if (record__number(r, "/load/messages_per_thread", &messages))
		fprintf(out, " | %s a thread each", units__counted_text(messages, "message", size));
	if (cells__repeats(cells) > 1)
		fprintf(out, ", %zu repeats interleaved", cells__repeats(cells));
	fputs("\n\n", out);
}
