// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The line on zero-copy sends by io_uring's own operations. */
#include "user/report/text.h"

#include "user/record/record_read.h"

#include "common/units.h"

static void fate(const struct cell *cell, double completions, FILE *out)
{
	char text[UNITS_TEXT_MAX];
	double copied, outstanding;

	fprintf(out, ", %s completed, ", units__number_text(completions, text));
	if (cell__sum(cell, "/zerocopy/io_uring/copied", &copied))
		text__copied(copied, completions, out);
	else
		fputs("how many of them were copied is not known", out);
	if (cell__sum(cell, "/zerocopy/io_uring/outstanding", &outstanding) && outstanding > 0)
		fprintf(out, "; without a completion when the window closed: %s",
			units__number_text(outstanding, text));
}

void text__uring(const struct cell *cell, const char *title, FILE *out)
{
	double requests = 0, completions;
	char text[UNITS_TEXT_MAX];

	if (!cell__sum(cell, "/zerocopy/io_uring/requests", &requests) || requests <= 0)
		return;
	fprintf(out, "%s: %s by io_uring's SEND_ZC", title,
		units__counted_text(requests, "send", text));
	if (cell__sum(cell, "/zerocopy/io_uring/completions", &completions))
		fate(cell, completions, out);
	else
		fputs("; how many of them were copied is not known", out);
	fputc('\n', out);
}
