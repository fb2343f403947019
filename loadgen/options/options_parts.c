/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "loadgen/options/options_parts.h"
#include "loadgen/system/units.h"

int refusal__say(struct refusal *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->why, r->room, format, args);
	va_end(args);
	return -EINVAL;
}

int options__set_count(const char *option, const char *value, unsigned long long low,
		       unsigned long long high, unsigned long long *count, struct refusal *r)
{
	if (!units__count(value, count) && *count >= low && *count <= high)
		return 0;
	return refusal__say(r, "%s %s: give a whole number from %llu to %llu", option, value, low,
			    high);
}

int options__set_unsigned(const char *option, const char *value, unsigned int low,
			  unsigned int high, unsigned int *number, struct refusal *r)
{
	unsigned long long count;
	int err = options__set_count(option, value, low, high, &count, r);

	if (!err)
		*number = (unsigned int)count;
	return err;
}

int options__set_list(struct load_options *o, const char *option, const char *value, add_fn add,
		      size_t *count, struct refusal *r)
{
	char item[UNITS_ITEM_MAX];
	const char *cursor = value;
	int more;

	*count = 0;
	while ((more = units__next(&cursor, item)) > 0) {
		int err;

		if (*count == LIST_MAX)
			return refusal__say(r, "%s %s: give at most %d elements", option, value,
					    LIST_MAX);
		err = add(o, item, r);
		if (err)
			return err;
	}
	return more ? refusal__say(r,
				   "%s %s: give elements with commas between, none of them empty",
				   option, value)
		    : 0;
}
