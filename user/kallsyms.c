// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kallsyms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ".cold" holds the unlikely parts of a function that is still called by its name. */
static bool is_variant(const char *suffix, size_t length)
{
	return *suffix == '.' && strncmp(suffix, ".cold", length < 5 ? length : 5) != 0;
}

/* Nothing begins at 0: that is what the table says where it hides addresses. */
static void begin_at(struct address_range *range, unsigned long long address)
{
	if (address)
		*range = (struct address_range){address, ~0ULL};
}

/*
 * The table has starts only: a function ends where the next one starts. The kernel's
 * own symbols come sorted, but those of modules do not.
 */
static void end_at(struct address_range *range, unsigned long long address)
{
	if (address > range->from && address < range->to)
		range->to = address;
}

static bool is_asked_for(const struct kernel_symbol *s, char type)
{
	return strchr(s->data ? "bBdDrR" : "tTwW", type);
}

static void look_at(struct kernel_symbol *s, unsigned long long address, const char *name,
		    size_t length)
{
	size_t own = strlen(s->name);

	end_at(&s->code, address);
	end_at(&s->variant_code, address);
	if (length < own || strncmp(name, s->name, own) != 0)
		return;
	if (length == own && !s->found) {
		s->found = true;
		begin_at(&s->code, address);
	} else if (length > own && !s->variant[0] && is_variant(name + own, length - own)) {
		snprintf(s->variant, sizeof(s->variant), "%.*s", (int)length, name);
		begin_at(&s->variant_code, address);
	}
}

int kallsyms__read(const char *path, struct kernel_symbol *symbols, size_t count)
{
	FILE *file = fopen(path, "re");
	unsigned long long address;
	char line[1024], *end;
	size_t i;

	if (!file)
		return -errno;
	/* "address type name [module]" */
	while (fgets(line, sizeof(line), file)) {
		address = strtoull(line, &end, 16);
		if (end[0] != ' ' || !end[1] || end[2] != ' ')
			continue;
		for (i = 0; i < count; i++)
			if (is_asked_for(&symbols[i], end[1]))
				look_at(&symbols[i], address, end + 3, strcspn(end + 3, " \t\n"));
	}
	fclose(file);
	return 0;
}

static void look_nearer(struct kernel_address *a, unsigned long long start, const char *name)
{
	if (start > a->address || start <= a->start)
		return;
	a->start = start;
	snprintf(a->name, sizeof(a->name), "%.*s", (int)strcspn(name, " \t\n"), name);
}

int kallsyms__nearest(FILE *table, struct kernel_address *addresses, size_t count)
{
	unsigned long long start;
	char line[1024], *end;
	size_t i;

	rewind(table);
	while (fgets(line, sizeof(line), table)) {
		start = strtoull(line, &end, 16);
		if (end[0] != ' ' || !end[1] || end[2] != ' ' || !strchr("tTwW", end[1]))
			continue;
		for (i = 0; i < count; i++)
			look_nearer(&addresses[i], start, end + 3);
	}
	return ferror(table) ? -EIO : 0;
}
