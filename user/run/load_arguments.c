// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/generator.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "loadgen/options/rows.h"

/* One more, and its terminating null. What there is no memory for is remembered in err. */
static void add_argument(struct load_arguments *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void add_argument(struct load_arguments *a, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	if (vasprintf(&a->values[a->count], format, list) >= 0)
		a->count++;
	else
		a->err = -ENOMEM;
	va_end(list);
	a->values[a->count] = NULL;
}

int load_arguments__fill(struct load_arguments *a, const char *program, const struct load *load,
			 int fd)
{
	char text[ROW_TEXT_MAX];

	*a = (struct load_arguments){};
	add_argument(a, "%s", program);
	for (const struct load_row *row = load_rows; row->name; row++) {
		const char *value = row__text(row, load, text);

		if (value)
			add_argument(a, "--%s%s%s", row->name, row->arg ? "=" : "", value);
	}
	add_argument(a, "--control=%d", fd);
	return a->err;
}

void load_arguments__free(struct load_arguments *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->values[i]);
	*a = (struct load_arguments){};
}
