// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/kallsyms.h"

#include "user/kernel/beginnings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ".cold" has the unlikely parts of a function that is still called by its own name. */
static bool is_variant(const char *suffix, size_t length)
{
	return *suffix == '.' && strncmp(suffix, ".cold", length < 5 ? length : 5) != 0;
}

#define OPEN_MAX 256

/* Functions whose end was not read yet. */
struct open_ranges {
	struct address_range *ranges[OPEN_MAX];
	size_t count;
};

/* Address 0 means that the table hides addresses. */
static void begin_at(struct open_ranges *open, struct address_range *range,
		     unsigned long long address)
{
	if (!address || open->count == OPEN_MAX)
		return;
	*range = (struct address_range){address, ~0ULL};
	open->ranges[open->count++] = range;
}

/*
 * The table has only starts: a function ends where the next one starts. The kernel's own symbols
 * are sorted, so the next line ends them. Those of modules are not sorted: their functions stay
 * open for a nearer end in any later line.
 */
static void end_at(struct open_ranges *open, unsigned long long address, bool of_module)
{
	size_t i, kept = 0;

	for (i = 0; i < open->count; i++) {
		if (address > open->ranges[i]->from && address < open->ranges[i]->to)
			open->ranges[i]->to = address;
		if (of_module || address <= open->ranges[i]->from)
			open->ranges[kept++] = open->ranges[i];
	}
	open->count = kept;
}

static bool is_asked_for(const struct kernel_symbol *s, char type)
{
	return strchr(s->data ? "bBdDrR" : "tTwW", type);
}

static void record_symbol(struct open_ranges *open, struct kernel_symbol *s,
			  unsigned long long address, const char *name, size_t length)
{
	size_t own = strlen(s->name);

	if (length == own && !s->found) {
		s->found = true;
		begin_at(open, &s->code, address);
	} else if (length > own && !s->variant[0] && is_variant(name + own, length - own)) {
		snprintf(s->variant, sizeof(s->variant), "%.*s", (int)length, name);
		begin_at(open, &s->variant_code, address);
	}
}

/* Compares a name of the table, without the compiler's suffix, with a requested one. */
struct base_name {
	const char *text;
	size_t length;
};

static int compare_base(const void *key, const void *entry)
{
	const struct base_name *base = key;
	const char *name = (*(struct kernel_symbol *const *)entry)->name;
	int order = strncmp(base->text, name, base->length);

	return order ? order : -(int)(unsigned char)name[base->length];
}

static int compare_names(const void *a, const void *b)
{
	return strcmp((*(struct kernel_symbol *const *)a)->name,
		      (*(struct kernel_symbol *const *)b)->name);
}

/* The requested symbols, sorted by name. */
struct index {
	struct kernel_symbol **sorted;
	size_t count;
	struct beginnings beginnings;
};

static struct kernel_symbol *find_asked(const struct index *index, const char *name)
{
	struct base_name base = {name, 0};
	struct kernel_symbol **found;

	/* Requested names are not shorter than a beginning, and the line's end limits the look. */
	if (!beginnings__may_have(&index->beginnings, name, strnlen(name, BEGINNING_LENGTH)))
		return NULL;
	base.length = strcspn(name, ". \t\n");
	found = bsearch(&base, index->sorted, index->count, sizeof(*index->sorted), compare_base);
	return found ? *found : NULL;
}

/* "address type name [module]": returns where the name begins; NULL: not such a line. */
static const char *parse_line(const char *line, unsigned long long *address, char *type)
{
	char *end;

	*address = strtoull(line, &end, 16);
	if (end[0] != ' ' || !end[1] || end[2] != ' ')
		return NULL;
	*type = end[1];
	return end + 3;
}

/* Reads the lines of modules again, because a function's end may be in an earlier line. */
static int end_in_modules(FILE *file, long modules, struct open_ranges *open)
{
	unsigned long long address;
	char line[1024], type;

	if (fseek(file, modules, SEEK_SET))
		return -errno;
	while (fgets(line, sizeof(line), file))
		if (parse_line(line, &address, &type))
			end_at(open, address, true);
	return 0;
}

static int read_lines(FILE *file, const struct index *index)
{
	struct open_ranges open = {};
	unsigned long long address;
	struct kernel_symbol *s;
	char line[1024], type;
	const char *name;
	long modules = 0, here = 0;
	int err = 0;

	while (fgets(line, sizeof(line), file)) {
		here += (long)strlen(line);
		name = parse_line(line, &address, &type);
		if (!name)
			continue;
		if (!modules && strchr(name, '['))
			modules = here - (long)strlen(line);
		if (open.count)
			end_at(&open, address, modules);
		s = find_asked(index, name);
		if (s && is_asked_for(s, type))
			record_symbol(&open, s, address, name, strcspn(name, " \t\n"));
	}
	if (modules && open.count)
		err = end_in_modules(file, modules, &open);
	return ferror(file) ? -EIO : err;
}

FILE *kallsyms__open(const char *path, char *buffer)
{
	FILE *file = fopen(path, "re");

	if (file)
		setvbuf(file, buffer, _IOFBF, KALLSYMS_BUFFER);
	return file;
}

int kallsyms__read(FILE *table, struct kernel_symbol *symbols, size_t count)
{
	struct index *index = calloc(1, sizeof(*index) + count * sizeof(*index->sorted));
	size_t i;
	int err;

	if (!index)
		return -ENOMEM;
	index->sorted = (struct kernel_symbol **)(index + 1);
	index->count = count;
	for (i = 0; i < count; i++) {
		index->sorted[i] = &symbols[i];
		beginnings__add(&index->beginnings, symbols[i].name, strlen(symbols[i].name));
	}
	qsort(index->sorted, count, sizeof(*index->sorted), compare_names);
	rewind(table);
	err = read_lines(table, index);
	free(index);
	return err;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct kernel_address *x = *(struct kernel_address *const *)a;
	const struct kernel_address *y = *(struct kernel_address *const *)b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* The first address not below start; NULL: all are below. */
static struct kernel_address *first_from(struct kernel_address *const *sorted, size_t count,
					 unsigned long long start)
{
	size_t low = 0, high = count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (sorted[middle]->address < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count ? sorted[low] : NULL;
}

/*
 * Notes each symbol at the first address after it, then passes it on to the next addresses, unless
 * these have a nearer symbol.
 */
static int read_nearest(FILE *table, struct kernel_address *const *sorted, size_t count)
{
	unsigned long long start;
	struct kernel_address *a;
	char line[1024], type;
	const char *name;
	size_t i;

	rewind(table);
	while (fgets(line, sizeof(line), table)) {
		name = parse_line(line, &start, &type);
		a = name && strchr("tTwW", type) ? first_from(sorted, count, start) : NULL;
		if (!a || start <= a->start)
			continue;
		a->start = start;
		snprintf(a->name, sizeof(a->name), "%.*s", (int)strcspn(name, " \t\n"), name);
	}
	for (i = 1; i < count; i++) {
		if (sorted[i]->start >= sorted[i - 1]->start)
			continue;
		sorted[i]->start = sorted[i - 1]->start;
		memcpy(sorted[i]->name, sorted[i - 1]->name, sizeof(sorted[i]->name));
	}
	return ferror(table) ? -EIO : 0;
}

int kallsyms__nearest(FILE *table, struct kernel_address *addresses, size_t count)
{
	struct kernel_address **sorted = calloc(count + 1, sizeof(struct kernel_address *));
	size_t i;
	int err;

	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		sorted[i] = &addresses[i];
	qsort(sorted, count, sizeof(struct kernel_address *), compare_addresses);
	err = read_nearest(table, sorted, count);
	free(sorted);
	return err;
}
