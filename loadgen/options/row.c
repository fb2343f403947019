/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a row's type decides: how a value is read. Pure. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/units.h"
#include "loadgen/options/rows.h"

int refuse(struct refusal *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->why, r->room, format, args);
	va_end(args);
	return -EINVAL;
}

int refusal__give(struct refusal *r, const char *format, ...)
{
	size_t used = (size_t)snprintf(r->why, r->room, "--%s %s: ", r->option, r->said);
	va_list args;

	va_start(args, format);
	if (used < r->room)
		vsnprintf(r->why + used, r->room - used, format, args);
	va_end(args);
	return -EINVAL;
}

const void *row__value(const struct load_row *row, const struct load *load)
{
	return (const char *)load + row->at;
}

static int set_count(const struct load_row *row, const char *value, unsigned long long *count,
		     struct refusal *r)
{
	if (!units__count(value, count) && *count >= row->low && *count <= row->high)
		return 0;
	return refusal__give(r, "give a whole number from %llu to %llu", row->low, row->high);
}

static int set_bytes(const struct load_row *row, const char *value, size_t *size, struct refusal *r)
{

	if (units__size(value, size) || *size < row->low || *size > row->high)
		return refusal__give(r, "give bytes from %s to %s, such as %s",
				     units__size_text(row->low), units__size_text(row->high),
				     row->such);
	if (row->power_of_two && *size & (*size - 1))
		return refusal__give(r, "give a power of two, such as 64 or 4K");
	return 0;
}

static int set_seconds(const struct load_row *row, const char *value, double *seconds,
		       struct refusal *r)
{
	double s;

	if (units__duration(value, &s) || s > 1e6 || (row->low && s <= 0))
		return refusal__give(r, "give a time%s, such as 10s, 0.5 or 200ms",
				     row->low ? " above 0" : "");
	*seconds = s;
	return 0;
}

static int set_word(const struct load_row *row, const char *value, unsigned int *word,
		    struct refusal *r)
{
	char names[ROW_TEXT_MAX] = "";
	size_t used = 0;

	for (unsigned int i = 0; row->words[i]; i++) {
		if (!strcmp(row->words[i], value)) {
			*word = i;
			return 0;
		}
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 !i		     ? ""
					 : row->words[i + 1] ? ", "
							     : " or ",
					 row->words[i]);
	}
	return refusal__give(r, "give %s", names);
}

static int set_name(const char *value, char to[SOCKET_NAME], struct refusal *r)
{
	if (!value[0] || strlen(value) >= SOCKET_NAME || strchr(value, '/'))
		return refusal__give(r, "give a name of 1 to %d letters", SOCKET_NAME - 1);
	strcpy(to, value);
	return 0;
}

int row__set(const struct load_row *row, struct load *load, const char *value, struct refusal *r)
{
	void *to = (char *)load + row->at;
	unsigned long long count;

	if (row->set)
		return row->set(load, value, r);
	switch (row->type) {
	case ROW_FLAG:
		*(bool *)to = true;
		return 0;
	case ROW_UNSIGNED:
		if (set_count(row, value, &count, r))
			return -EINVAL;
		*(unsigned int *)to = (unsigned int)count;
		return 0;
	case ROW_COUNT:
		return set_count(row, value, to, r);
	case ROW_BYTES:
		return set_bytes(row, value, to, r);
	case ROW_SECONDS:
		return set_seconds(row, value, to, r);
	case ROW_WORD:
		return set_word(row, value, to, r);
	case ROW_NAME:
		return set_name(value, to, r);
	default:
		*(const char **)to = value;
		return 0;
	}
}

int row__each(const char *value, struct refusal *r,
	      int (*add)(void *to, const char *item, struct refusal *r), void *to)
{
	char item[UNITS_ITEM_MAX];
	int more, err;

	for (const char *cursor = value; (more = units__next(&cursor, item)) > 0;) {
		r->said = item;
		err = add(to, item, r);
		if (err)
			return err;
	}
	r->said = value;
	return more ? refusal__give(r, "give elements with commas between, none of them empty") : 0;
}
