// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/report/report.h"

#include "user/record/record_read.h"
#include "user/report/cells.h"
#include "user/report/text.h"
#include "user/system/log.h"

#include <errno.h>
#include <stdlib.h>

struct text_report {
	struct cells cells;
	FILE *out;
};

static int add(void *state, json_object *record)
{
	return cells__add(&((struct text_report *)state)->cells, record);
}

static int finish(void *state)
{
	struct text_report *report = state;
	struct cells *cells = &report->cells;
	FILE *out = report->out;
	int err = 0;

	if (cells->count) {
		text__losses(cells, out);
		text__headline(cells, out);
		if (cells__serving(cells)) {
			text__serving(cells, out);
		} else if (record__at(cells->cells[0].records[0], "/load")) {
			text__load(cells, out);
			text__comparison(cells, out);
		} else {
			text__observed(cells, out);
		}
		text__failures(cells, out);
		text__groups(cells, out);
		text__zerocopy(cells, out);
		text__histograms(cells, out);
		text__tcp(cells, out);
		if (cells__serving(cells))
			text__serving_counters(cells, out);
		else
			text__counters(cells, out);
		text__memory(cells, out);
		text__overhead(cells, out);
		text__notes(cells, out);
		text__verdict(cells, out);
	}
	if (fflush(out) || ferror(out)) {
		err = -EIO;
		log_error("the report could not be written to %s",
			  out == stderr ? "standard error" : "standard output");
	}
	cells__free(cells);
	free(report);
	return err;
}

static const struct reporter reporter = {add, finish};

int report_text__open(struct report *report, FILE *out)
{
	struct text_report *text = calloc(1, sizeof(*text));

	report->reporter = &reporter;
	report->state = text;
	if (!text)
		return -ENOMEM;
	text->out = out;
	return 0;
}
