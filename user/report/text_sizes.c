// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How large sends were: a row a syscall and size class. */
#include "user/report/text.h"

#include "user/record/record_read.h"
#include "user/report/table.h"

#include "bpf/abi.h"
#include "common/units.h"

#include <string.h>

#define SMALL_SHARE 0.01 /* of sends and of bytes: less is among the others */

struct sized {
	double sends, bytes;
};

/* Sends of one syscall and kind, over all repeats. */
struct kind {
	json_object *call; /* the first */
	struct sized classes[SIZE_CLASSES];
};

struct sizes {
	struct kind kinds[CALL_SLOTS];
	size_t count;
	struct sized all, others;
};

static bool same_kind(json_object *a, json_object *b)
{
	return !strcmp(record__string(a, "/syscall"), record__string(b, "/syscall")) &&
	       record__value(a, "/zerocopy") == record__value(b, "/zerocopy");
}

/* NULL: there are more than a record of ours has. */
static struct kind *kind_of(struct sizes *s, json_object *call)
{
	struct kind *kind;

	for (kind = s->kinds; kind < s->kinds + s->count; kind++)
		if (same_kind(kind->call, call))
			return kind;
	if (s->count == CALL_SLOTS)
		return NULL;
	s->count++;
	kind->call = call;
	return kind;
}

static void add(struct sized *to, double sends, double bytes)
{
	to->sends += sends;
	to->bytes += bytes;
}

static void add_call(struct sizes *s, json_object *call)
{
	struct kind *kind = kind_of(s, call);
	double low, sends, bytes;
	json_object *row;
	size_t i;

	for (i = 0; kind && (row = record__row(call, "/sizes", i)); i++) {
		low = record__value(row, "/0");
		sends = record__value(row, "/2");
		bytes = record__value(row, "/3");
		add(&kind->classes[size_class((__u32)low)], sends, bytes);
		add(&s->all, sends, bytes);
	}
}

static bool is_small(const struct sizes *s, const struct sized *class)
{
	return class->sends < SMALL_SHARE * s->all.sends &&
	       class->bytes < SMALL_SHARE * s->all.bytes;
}

static void print_row(struct table *t, const struct sizes *s, const struct sized *class,
		      const char *call, const char *range)
{
	table__row(t);
	table__cell(t, "%s", call);
	table__cell(t, "%s", range);
	table__cell(t, "%s", units__number_text(class->sends));
	table__cell(t, "%s", units__percent_text(class->sends, s->all.sends));
	table__cell(t, "%s", units__percent_text(class->bytes, s->all.bytes));
}

static const char *range_text(__u32 class)
{
	const char *low = units__count_text((1ULL << class) >> 1);

	return class < 2 ? low : units__text("%s-%s", low, units__count_text((1ULL << class) - 1));
}

static void print_kind(struct table *t, struct sizes *s, const struct kind *kind)
{
	char call[TABLE_CELL];
	__u32 i;

	snprintf(call, sizeof(call), "%s%s", record__string(kind->call, "/syscall"),
		 text__call_kind(kind->call));
	for (i = 0; i < SIZE_CLASSES; i++) {
		const struct sized *class = &kind->classes[i];

		if (is_small(s, class))
			add(&s->others, class->sends, class->bytes);
		else if (class->sends > 0)
			print_row(t, s, class, call, range_text(i));
	}
}

static void print(struct sizes *s, const char *title, FILE *out)
{
	static const char *const heads[] = {"call", "bytes/send", "sends", "of sends", "of bytes"};
	struct table t = {};
	size_t i;

	fprintf(out, "sizes: %s\n", title);
	table__row(&t);
	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		table__cell(&t, "%s", heads[i]);
	for (i = 0; i < s->count; i++)
		print_kind(&t, s, &s->kinds[i]);
	if (s->others.sends > 0)
		print_row(&t, s, &s->others, "others", "");
	table__print(&t, out);
	fputc('\n', out);
}

static bool has_several(const struct kind *kind)
{
	size_t i, classes = 0;

	for (i = 0; i < SIZE_CLASSES; i++)
		classes += kind->classes[i].sends > 0;
	return classes > 1;
}

void text__sizes(const struct cells *cells, FILE *out)
{
	json_object *call;
	bool several;
	size_t i, j;

	for (i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		struct sizes s = {};

		several = false;
		for (j = 0; (call = cell__row(cell, "/calls", j)); j++)
			add_call(&s, call);
		for (j = 0; j < s.count; j++)
			several |= has_several(&s.kinds[j]);
		if (several || (s.all.sends > 0 && !cell__at(cell, "/load")))
			print(&s, cell->title, out);
	}
}
