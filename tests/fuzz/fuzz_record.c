// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Runs of a sweep's folder, as a resume reads and sums them up; of the first, the whole report. */
#include "tests/fuzz/folder.h"

#include "user/report/record_read.h"
#include "user/report/report.h"
#include "user/system/files.h"

#include <string.h>

static FILE *out;

static void take(void *totals, json_object *record)
{
	sweep_totals__note(totals, record);
}

static void sum_up(void)
{
	struct sweep_totals totals;
	struct sweep_folder f;

	if (sweep_totals__init(&totals, &plan) || sweep_folder__open(&f, &plan, &options) ||
	    sweep_folder__read(&f, take, &totals) || sweep_totals__print(&totals, out))
		abort();
	sweep_totals__free(&totals);
	sweep_folder__close(&f);
}

/* Also of what no sweep can have written. */
static void report(const char *data, size_t size)
{
	const char *end = memchr(data, '\n', size);
	json_object *record = files__parse_json(data, end ? (size_t)(end - data) : size);
	struct cells cells = {};

	if (!record)
		return;
	if (cells__add(&cells, record) || report_text__print(&cells, TEXT_HISTOGRAMS, out))
		abort();
	cells__free(&cells);
	json_object_put(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!plan.count) {
		make_folder();
		out = fopen("/dev/null", "w");
	}
	write_file("runs.jsonl", data, size);
	sum_up();
	report((const char *)data, size);
	return 0;
}
