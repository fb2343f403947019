// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/generator.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "loadgen/options/rows.h"

/* Writes "nodelay,sndbuf=65536". */
static const char *parts_text(const struct load *load, char text[ROW_TEXT_MAX])
{
	char part[ROW_TEXT_MAX];

	text[0] = 0;
	for (const struct load_row *row = socket_rows; row->name; row++) {
		const char *value = row__text(row, load, part);

		if (value)
			text__append(text, ROW_TEXT_MAX, "%s%s%s%s", text[0] ? "," : "", row->name,
				     row->arg ? "=" : "", value);
	}
	return text[0] ? text : NULL;
}

/* Returns a value as text, also 0 or "" if that differs from the default; otherwise NULL. */
static const char *value_text(const struct load_row *row, const void *value,
			      char text[ROW_TEXT_MAX])
{
	switch (row->type) {
	case ROW_FLAG:
		return *(const bool *)value ? "" : NULL;
	case ROW_UNSIGNED:
		snprintf(text, ROW_TEXT_MAX, "%u", *(const unsigned int *)value);
		break;
	case ROW_COUNT:
		snprintf(text, ROW_TEXT_MAX, "%llu", *(const unsigned long long *)value);
		break;
	case ROW_BYTES:
		snprintf(text, ROW_TEXT_MAX, "%zu", *(const size_t *)value);
		break;
	case ROW_SECONDS:
		snprintf(text, ROW_TEXT_MAX, "%.9f", *(const double *)value);
		break;
	case ROW_WORD:
		return row->words[*(const unsigned int *)value];
	case ROW_NAME:
		return *(const char *)value ? value : NULL;
	default:
		return *(const char *const *)value;
	}
	return row->usual || strcmp(text, "0") ? text : NULL;
}

const char *row__text(const struct load_row *row, const struct load *load, char text[ROW_TEXT_MAX])
{
	bool procinfo = load->workload == WORKLOAD_PROCINFO;

	if (row->of == (procinfo ? OF_MESSAGES : OF_CONNECTIONS) ||
	    (row->means && !row->means(load)))
		return NULL;
	if (row->type == ROW_PARTS)
		return parts_text(load, text);
	return value_text(row, row__value(row, load), text);
}

const char *load__label(const struct load *load, char *text, size_t room)
{
	bool usual = load->fields == FIELDS_DEFAULT || load__fields(load) == 1;
	char fields[32] = "";

	if (!usual)
		snprintf(fields, sizeof(fields), ", %u fields", load->fields);
	if (load->workload == WORKLOAD_PROCINFO)
		snprintf(text, room, "%s, %u connections%s", load->server_model, load->connections,
			 load->link ? ", veth" : "");
	else
		snprintf(text, room, "%s %s x%u%s%s", load->variant,
			 units__size_text(load->message_bytes), load->threads, fields,
			 load->link ? ", veth" : "");
	return text;
}

/* Adds a word and the terminating NULL. Sets err when out of memory. */
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
