// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/kallsyms.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ".cold" is no variant: callers still call the function by its own name. */
static bool is_variant(const char *suffix)
{
	return *suffix == '.' && strncmp(suffix, ".cold", 5);
}

#define OPEN_MAX  256
#define LINE_SIZE 1024

/* Functions whose end has not been read. */
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
 * are sorted, so the next line ends them. Symbols of modules are not sorted: their functions stay
 * open, because any later line may have a nearer end.
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

static bool has_requested_type(const struct kernel_symbol *s, char type)
{
	return strchr(s->data ? "bBdDrR" : "tTwW", type);
}

static void record_symbol(struct open_ranges *open, struct kernel_symbol *s,
			  unsigned long long address, const char *name)
{
	const char *suffix = name + strlen(s->name);

	if (!*suffix && !s->found) {
		s->found = true;
		begin_at(open, &s->code, address);
	} else if (is_variant(suffix) && !s->variant[0]) {
		snprintf(s->variant, sizeof(s->variant), "%s", name);
		begin_at(open, &s->variant_code, address);
	}
}

static int compare_names(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Returns the requested symbol that has this name without the compiler's suffix. */
static struct kernel_symbol *find_requested(struct kernel_symbol *sorted, size_t count, char *name)
{
	struct kernel_symbol *found, wanted = {.name = name};
	char *suffix = strchrnul(name, '.'), first = *suffix;

	*suffix = 0;
	found = bsearch(&wanted, sorted, count, sizeof(wanted), compare_names);
	*suffix = first;
	return found;
}

/* Returns a name's first two letters. Few of these pairs begin a requested symbol. */
static unsigned int beginning(const char *name)
{
	return (unsigned char)name[0] << 8 | (unsigned char)name[1];
}

struct line {
	const char *address;
	char type, *name;
	bool of_module;
};

/* Parses "address type name [module]", and ends the name with a zero. False for another line. */
static bool parse_line(char *text, struct line *line)
{
	char *end = text;

	while (isxdigit((unsigned char)*end))
		end++;
	if (end == text || end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	line->address = text;
	line->type = end[1];
	line->name = end + 3;
	for (end = line->name; (unsigned char)*end > ' '; end++)
		;
	line->of_module = *end && end[1] == '[';
	*end = 0;
	return true;
}

/* Parses the address, which is needed for few of the hundred thousand lines. */
static unsigned long long address_of(const struct line *line)
{
	return strtoull(line->address, NULL, 16);
}

/* Reads the lines of modules again, because a function's end may be in an earlier line. */
static int end_in_modules(FILE *file, long modules, struct open_ranges *open)
{
	char text[LINE_SIZE];
	struct line line;

	if (fseek(file, modules, SEEK_SET))
		return -errno;
	while (fgets(text, sizeof(text), file))
		if (parse_line(text, &line))
			end_at(open, address_of(&line), true);
	return 0;
}

int kallsyms__read(FILE *table, struct kernel_symbol *symbols, size_t count)
{
	bool requested[1 << 16] = {};
	struct open_ranges open = {};
	long modules = 0, here = 0;
	struct kernel_symbol *s;
	char text[LINE_SIZE];
	struct line line;
	size_t length, i;
	int err = 0;

	qsort(symbols, count, sizeof(*symbols), compare_names);
	for (i = 0; i < count; i++) {
		symbols[i] =
			(struct kernel_symbol){.name = symbols[i].name, .data = symbols[i].data};
		requested[beginning(symbols[i].name)] = true;
	}
	rewind(table);
	for (; fgets(text, sizeof(text), table); here += (long)length) {
		length = strlen(text);
		if (!parse_line(text, &line))
			continue;
		if (!modules && line.of_module)
			modules = here;
		if (open.count)
			end_at(&open, address_of(&line), modules);
		if (!requested[beginning(line.name)])
			continue;
		s = find_requested(symbols, count, line.name);
		if (s && has_requested_type(s, line.type))
			record_symbol(&open, s, address_of(&line), line.name);
	}
	if (modules && open.count)
		err = end_in_modules(table, modules, &open);
	return ferror(table) ? -EIO : err;
}

FILE *kallsyms__open(const char *path, char *buffer)
{
	FILE *file = fopen(path, "re");

	if (file)
		setvbuf(file, buffer, _IOFBF, KALLSYMS_BUFFER);
	return file;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct kernel_address *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Returns the first address not below start; NULL: all are below. */
static struct kernel_address *first_from(struct kernel_address *sorted, size_t count,
					 unsigned long long start)
{
	size_t low = 0, high = count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (sorted[middle].address < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count ? &sorted[low] : NULL;
}

static size_t sort_addresses(struct kernel_address *addresses, size_t count)
{
	size_t i, kept = 0;

	qsort(addresses, count, sizeof(*addresses), compare_addresses);
	for (i = 0; i < count; i++)
		if (!kept || addresses[kept - 1].address != addresses[i].address)
			addresses[kept++] = addresses[i];
	return kept;
}

/*
 * Notes each symbol at the first address after it, then passes it on to the next addresses, unless
 * these have a nearer symbol.
 */
int kallsyms__nearest(FILE *table, struct kernel_address *addresses, size_t *count)
{
	struct kernel_address *a;
	char text[LINE_SIZE];
	unsigned long long start;
	struct line line;
	size_t i;

	*count = sort_addresses(addresses, *count);
	rewind(table);
	while (fgets(text, sizeof(text), table)) {
		if (!parse_line(text, &line) || !strchr("tTwW", line.type))
			continue;
		start = address_of(&line);
		a = first_from(addresses, *count, start);
		if (!a || start <= a->start)
			continue;
		a->start = start;
		snprintf(a->name, sizeof(a->name), "%s", line.name);
	}
	for (i = 1; i < *count; i++) {
		if (addresses[i].start >= addresses[i - 1].start)
			continue;
		addresses[i].start = addresses[i - 1].start;
		memcpy(addresses[i].name, addresses[i - 1].name, sizeof(addresses[i].name));
	}
	return ferror(table) ? -EIO : 0;
}

const struct kernel_address *kernel_address__find(const struct kernel_address *sorted, size_t count,
						  unsigned long long address)
{
	const struct kernel_address wanted = {.address = address};

	return bsearch(&wanted, sorted, count, sizeof(wanted), compare_addresses);
}
