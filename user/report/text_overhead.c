// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the measuring programs cost, where --cost has the kernel count it. */
#include "user/report/text.h"

#include "user/report/record_read.h"

#include "common/units.h"

/* Over all repeats; cpu_ns is 0 where any of them lacks it. */
static void sum_up(const struct cell *cell, double *sends, double *cpu_ns)
{
	double share, ns;
	json_object *call;
	size_t i;

	*sends = *cpu_ns = 0;
	for (i = 0; (call = cell__row(cell, "/calls", i)); i++)
		*sends += record__value(call, "/sends");
	for (i = 0; i < cell->count; i++) {
		if (!record__number(cell->records[i], "/observer/cpu_share", &share) ||
		    share <= 0 || !record__number(cell->records[i], "/observer/bpf_ns", &ns)) {
			*cpu_ns = 0;
			return;
		}
		*cpu_ns += ns / share;
	}
}

static bool overhead(const struct cell *cell, FILE *out)
{
	const char *whose =
		record__at(cell->records[0], "/load") ? "of sender and receiver" : "of the command";
	double ns, runs, sends, cpu_ns;

	if (!cell__sum(cell, "/observer/bpf_ns", &ns) ||
	    !cell__sum(cell, "/observer/bpf_runs", &runs))
		return false;
	sum_up(cell, &sends, &cpu_ns);
	fprintf(out, "overhead, %s: ", cell->title);
	if (sends > 0)
		fprintf(out, "%s ns per send, ", units__number_text(ns / sends));
	if (cpu_ns > 0)
		fprintf(out, "%s of the CPU time %s, ", units__percent_text(ns, cpu_ns), whose);
	fprintf(out, "%s of the BPF programs\n", units__counted_text(runs, "run"));
	return true;
}

void text__overhead(const struct cells *cells, FILE *out)
{
	bool any = false;
	size_t i;

	for (i = 0; i < cells->count; i++)
		any |= overhead(&cells->cells[i], out);
	if (any)
		fputc('\n', out);
}
