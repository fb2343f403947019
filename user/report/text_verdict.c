// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The verdict of each cell, from its records. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/verdict.h"
#include "user/system/safe_text.h"

#include <stdlib.h>
#include <string.h>

static double sum_or_unknown(const struct cell *cell, const char *path)
{
	double sum;

	return cell__sum(cell, path, &sum) ? sum : -1;
}

/* All refusals of the cell, and the name of the most frequent. */
static void add_refusals(struct verdict_facts *f, const struct cell *cell, const char *path)
{
	double n, most = 0;
	json_object *list;
	size_t i, j;

	for (i = 0; i < cell->count; i++) {
		list = record__at(cell->records[i], path);
		for (j = 0; list && j < json_object_array_length(list); j++) {
			n = 0;
			record__number(json_object_array_get_idx(list, j), "/count", &n);
			f->refused += n;
			if (n <= most)
				continue;
			most = n;
			f->refusal = record__string(json_object_array_get_idx(list, j), "/cause");
		}
	}
}

static double throughput(const struct cell *cell)
{
	double *values = calloc(cell->count, sizeof(*values)), middle;
	size_t i, count = 0;

	for (i = 0; values && i < cell->count; i++)
		if (record__number(cell->records[i], "/app/throughput_bps", &values[count]))
			count++;
	middle = median(values, count);
	free(values);
	return middle;
}

static bool same(const struct cell *a, const struct cell *b, const char *path)
{
	double x = 0, y = 0;

	record__number(a->records[0], path, &x);
	record__number(b->records[0], path, &y);
	return x == y;
}

/* The fastest of the same load's variants that send without the flag. */
static void add_comparison(struct verdict_facts *f, const struct cell *cell,
			   const struct cells *cells)
{
	const struct cell *other;
	double bps;
	size_t i;

	f->own_bps = throughput(cell);
	for (i = 0; i < cells->count; i++) {
		other = &cells->cells[i];
		if (record__at(other->records[0], "/zerocopy") ||
		    !record__at(other->records[0], "/calls/0") ||
		    !same(cell, other, "/load/message_bytes") ||
		    !same(cell, other, "/load/threads"))
			continue;
		bps = throughput(other);
		if (bps <= f->other_bps)
			continue;
		f->other_bps = bps;
		f->other = record__string(other->records[0], "/load/variant");
	}
}

/* What all receivers have in common; "" and -1 where they differ. */
struct receivers {
	const char *address, *device;
	double port;
	size_t count;
};

static const char *common(const char *so_far, const char *next)
{
	return strcmp(so_far, next) ? "" : so_far;
}

static void add_peer(struct receivers *all, json_object *peer)
{
	const char *address = record__string(peer, "/address");
	const char *device = record__string(peer, "/device");
	double port = 0;

	record__number(peer, "/port", &port);
	all->address = all->count ? common(all->address, address) : address;
	all->device = all->count ? common(all->device, device) : device;
	all->port = !all->count || all->port == port ? port : -1;
	all->count++;
}

/* " to 10.0.0.2:5001 via eth0", as far as it is one; " to 12 receivers". */
static void name_receiver(const struct cell *cell, char *to, size_t size)
{
	struct receivers all = {};
	json_object *peers;
	char device[4 * 16 + 1];
	size_t i, j, used;

	for (i = 0; i < cell->count; i++) {
		peers = record__at(cell->records[i], "/zerocopy/peers");
		for (j = 0; peers && j < json_object_array_length(peers); j++)
			add_peer(&all, json_object_array_get_idx(peers, j));
	}
	to[0] = 0;
	if (!all.count)
		return;
	if (!all.address[0])
		used = (size_t)snprintf(to, size, " to %zu receivers", all.count);
	else if (all.port < 0)
		used = (size_t)snprintf(to, size, " to %s", all.address);
	else
		used = (size_t)snprintf(to, size,
					strchr(all.address, ':') ? " to [%s]:%.0f" : " to %s:%.0f",
					all.address, all.port);
	if (all.device[0] && used < size)
		snprintf(to + used, size - used, " via %s",
			 safe_text(all.device, device, sizeof(device)));
}

/* By io_uring's own operations: of their causes, and what the program was told, nothing is seen. */
static void facts_of_uring(struct verdict_facts *f, const struct cell *cell)
{
	f->requests = sum_or_unknown(cell, "/zerocopy/io_uring/requests");
	f->completions = sum_or_unknown(cell, "/zerocopy/io_uring/completions");
	f->outstanding = sum_or_unknown(cell, "/zerocopy/io_uring/outstanding");
	f->copied = sum_or_unknown(cell, "/zerocopy/io_uring/copied");
	f->ignored = sum_or_unknown(cell, "/zerocopy/io_uring/ignored");
	f->empty = sum_or_unknown(cell, "/zerocopy/io_uring/ignored_empty");
	f->silent = f->told = -1;
	add_refusals(f, cell, "/zerocopy/io_uring/refused");
}

static void facts_of_calls(struct verdict_facts *f, const struct cell *cell)
{
	f->requests = sum_or_unknown(cell, "/zerocopy/requests");
	f->completions = sum_or_unknown(cell, "/zerocopy/completions");
	f->outstanding = sum_or_unknown(cell, "/zerocopy/outstanding");
	f->copied = sum_or_unknown(cell, "/zerocopy/copied");
	f->silent = sum_or_unknown(cell, "/zerocopy/copied_silent");
	f->told = sum_or_unknown(cell, "/zerocopy/app_told_copied");
	f->unexplained = sum_or_unknown(cell, "/zerocopy/unexplained");
	f->ignored = sum_or_unknown(cell, "/zerocopy/ignored");
	f->empty = sum_or_unknown(cell, "/zerocopy/ignored_empty");
	add_refusals(f, cell, "/zerocopy/refused");
}

static void facts_of(struct verdict_facts *f, const struct cell *cell, const struct cells *cells)
{
	double flags;

	facts_of_calls(f, cell);
	if (f->requests == 0 && sum_or_unknown(cell, "/zerocopy/io_uring/requests") > 0)
		facts_of_uring(f, cell);
	f->lost = sum_or_unknown(cell, "/lost/completions");
	cell__sum(cell, "/lost/calls", &f->lost_else);
	if (cell__sum(cell, "/lost/flags", &flags))
		f->lost_else += flags;
	f->skipped_looks = cell__skipped_looks(cell);
	add_comparison(f, cell, cells);
}

void text__verdict(const struct cells *cells, FILE *out)
{
	struct cause_rows causes;
	char text[VERDICT_MAX], to[128], title[64];
	size_t i;

	for (i = 0; i < cells->count; i++) {
		struct verdict_facts facts = {.to = to, .causes = &causes};

		if (!record__at(cells->cells[i].records[0], "/zerocopy"))
			continue;
		cause_rows__gather(&causes, &cells->cells[i]);
		name_receiver(&cells->cells[i], to, sizeof(to));
		facts_of(&facts, &cells->cells[i], cells);
		verdict(&facts, text);
		cell__title(&cells->cells[i], cells, title, sizeof(title));
		if (text[0])
			fprintf(out, "\n%s: %s\n", title, text);
	}
}
