// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The verdict of each cell, from its records. */
#include "user/report/text.h"

#include "user/report/record_read.h"
#include "user/report/verdict.h"

#include <stdlib.h>
#include <string.h>

#define PEERS "/zerocopy/peers"

/* All refusals of the cell, and the name of the most frequent. */
static void add_refusals(struct verdict_facts *f, const struct cell *cell, const char *path)
{
	json_object *row;
	double n, most = 0;
	size_t i;

	for (i = 0; (row = cell__row(cell, path, i)); i++) {
		n = record__value(row, "/count");
		f->refused += n;
		if (n <= most)
			continue;
		most = n;
		f->refusal = record__string(row, "/cause");
	}
}

/* One disturbed repeat widens an interval; more can move it. */
#define DISTURBED_MAX 1

/* Why a cell's runs must not be compared; NULL: they may. */
static const char *noise(const struct cell *cell)
{
	json_object *found = NULL, *one;
	size_t i, disturbed = 0;

	for (i = 0; i < cell->count; i++) {
		one = record__at(cell->records[i], "/noise/too_much");
		disturbed += one != NULL;
		found = one ? one : found;
	}
	return disturbed > DISTURBED_MAX ? record__string(found, "") : NULL;
}

/* The fastest of the same load's variants that send without the flag. */
static void add_comparison(struct verdict_facts *f, const struct cell *cell)
{
	const struct cell *other, *best = NULL;
	double bps, most = 0;
	size_t i;

	for (i = 0; i < cell->all->count; i++) {
		other = &cell->all->cells[i];
		if (cell__at(other, "/zerocopy") || !cell__at(other, "/calls/0") ||
		    cell__first_variant(cell) != cell__first_variant(other))
			continue;
		bps = cell__spread(other, "/app/throughput_bps").middle;
		if (bps > most) {
			most = bps;
			best = other;
		}
	}
	if (!best)
		return;
	f->other = record__string(best->records[0], "/load/variant");
	f->noise = noise(cell) ? noise(cell) : noise(best);
	f->speed = cell__ratio(cell, best, record__number, "/app/throughput_bps");
	f->cpu = cell__ratio(cell, best, record__cpu_per_byte, NULL);
}

/* What all receivers of a cell have the same of; NULL where they differ. */
static json_object *common(const struct cell *cell, const char *path)
{
	json_object *first = record__at(cell__row(cell, PEERS, 0), path), *peer;
	size_t i;

	for (i = 1; (peer = cell__row(cell, PEERS, i)); i++)
		if (!json_object_equal(first, record__at(peer, path)))
			return NULL;
	return first;
}

/* " to 10.0.0.2:5001 via eth0", as far as it is one; " to 12 receivers". */
static void name_receiver(const struct cell *cell, char *to, size_t size)
{
	const char *address = record__string(common(cell, "/address"), "");
	const char *via = record__string(common(cell, "/device"), "");
	json_object *port = common(cell, "/port");
	size_t count = 0, used;

	while (cell__row(cell, PEERS, count))
		count++;
	to[0] = 0;
	if (!count)
		return;
	if (!address[0])
		used = (size_t)snprintf(to, size, " to %zu receivers", count);
	else if (!port)
		used = (size_t)snprintf(to, size, " to %s", address);
	else
		used = (size_t)snprintf(to, size,
					strchr(address, ':') ? " to [%s]:%.0f" : " to %s:%.0f",
					address, record__value(port, ""));
	if (via[0] && used < size)
		snprintf(to + used, size - used, " via %s", via);
}

static double fact(const struct cell *cell, const char *block, const char *key)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", block, key);
	return cell__sum_or(cell, path, -1);
}

/* What a block lacks is not known: of sends by io_uring's own operations more than of others. */
static void facts_of_sends(struct verdict_facts *f, const struct cell *cell, const char *block)
{
	char refused[64];

	f->requests = fact(cell, block, "requests");
	f->completions = fact(cell, block, "completions");
	f->outstanding = fact(cell, block, "outstanding");
	f->copied = fact(cell, block, "copied");
	f->silent = fact(cell, block, "copied_silent");
	f->reported = fact(cell, block, "app_told_copied");
	f->unexplained = fact(cell, block, "unexplained");
	f->ignored = fact(cell, block, "ignored");
	f->empty = fact(cell, block, "ignored_empty");
	snprintf(refused, sizeof(refused), "%s/refused", block);
	add_refusals(f, cell, refused);
}

/* "" where nothing asked for zero-copy. */
static void verdict_of(const struct cell *cell,
		       void (*say)(const struct verdict_facts *facts, char text[VERDICT_MAX]),
		       char text[VERDICT_MAX])
{
	struct cause_rows causes;
	char to[128];
	struct verdict_facts facts = {.to = to, .causes = &causes};

	text[0] = 0;
	if (!cell__at(cell, "/zerocopy"))
		return;
	cause_rows__gather(&causes, cell);
	name_receiver(cell, to, sizeof(to));
	facts_of_sends(&facts, cell, "/zerocopy");
	if (facts.requests == 0 && fact(cell, "/zerocopy/io_uring", "requests") > 0)
		facts_of_sends(&facts, cell, "/zerocopy/io_uring");
	facts.lost = cell__sum_or(cell, "/lost/completions", -1);
	cell__sum(cell, "/lost/calls", &facts.lost_else);
	facts.lost_else += cell__lost_flags(cell);
	facts.unseen_flags = cell__sum_or(cell, "/lost/flags", 0);
	facts.skipped_looks = cell__skipped_looks(cell);
	facts.lost_copies = cell__sum_or(cell, "/lost/stacks", 0);
	add_comparison(&facts, cell);
	say(&facts, text);
}

static void each(const struct cells *cells, FILE *out)
{
	char text[VERDICT_MAX];
	size_t i;

	for (i = 0; i < cells->count; i++) {
		verdict_of(&cells->cells[i], verdict, text);
		if (text[0])
			fprintf(out, BOLD "%s: %s\n\n", cells->cells[i].title, text);
	}
}

/* One line for all cells with the same finding. */
static void joined(const struct cells *cells, FILE *out)
{
	char(*findings)[VERDICT_MAX] = calloc(cells->count, sizeof(*findings));
	size_t i, j, alike, all = 0;

	for (i = 0; findings && i < cells->count; i++) {
		verdict_of(&cells->cells[i], verdict__finding, findings[i]);
		all += findings[i][0] != 0;
	}
	for (i = 0; findings && i < cells->count; i++) {
		if (!findings[i][0])
			continue;
		for (j = i + 1, alike = 1; j < cells->count; j++)
			if (!strcmp(findings[i], findings[j])) {
				findings[j][0] = 0;
				alike++;
			}
		if (alike == all)
			fprintf(out, BOLD "all %zu zero-copy configurations: %s\n", all,
				findings[i]);
		else
			fprintf(out, BOLD "%zu of %zu zero-copy configurations (%s%s): %s\n", alike,
				all, cells->cells[i].title, alike > 1 ? ", ..." : "", findings[i]);
	}
	fputs(all ? "\n" : "", out);
	free(findings);
}

void text__verdict(const struct cells *cells, FILE *out)
{
	if (cells->count > DETAILED_MAX)
		joined(cells, out);
	else
		each(cells, out);
}
