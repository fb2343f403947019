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

static void look_at(struct kernel_symbol *s, unsigned long long address, const char *name,
		    size_t length)
{
	size_t own = strlen(s->name);

	/*
	 * The table has starts only: a function ends where the next one starts, and
	 * the kernel's own symbols come sorted.
	 */
	if (address > s->code.from && address < s->code.to)
		s->code.to = address;
	if (length < own || strncmp(name, s->name, own) != 0)
		return;
	if (length == own && !s->found) {
		s->found = true;
		if (address)
			s->code = (struct address_range){address, ~0ULL};
	} else if (length > own && !s->variant[0] && is_variant(name + own, length - own)) {
		snprintf(s->variant, sizeof(s->variant), "%.*s", (int)length, name);
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
		if (end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ')
			continue;
		for (i = 0; i < count; i++)
			look_at(&symbols[i], address, end + 3, strcspn(end + 3, " \t\n"));
	}
	fclose(file);
	return 0;
}
