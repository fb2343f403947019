/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"

/* Reads leading digits; sets *end to the rest. */
static int leading_digits(const char *text, unsigned long long *value, char **end)
{
	if (!isdigit((unsigned char)text[0])) /* strtoull takes blanks and signs */
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, end, 10);
	return errno ? -ERANGE : 0;
}

/* Returns the power of 2 of a unit: "", B, or K, M, G, optionally followed by B or iB. */
static int size_shift(const char *unit)
{
	static const char letters[] = "KMG";
	const char *letter = unit[0] ? strchr(letters, toupper((unsigned char)unit[0])) : NULL;
	const char *rest = letter ? unit + 1 : unit;

	if (rest[0] && strcasecmp(rest, "B") && (!letter || strcasecmp(rest, "iB")))
		return -EINVAL;
	return letter ? 10 * (int)(letter - letters + 1) : 0;
}

int units__size(const char *text, size_t *bytes)
{
	unsigned long long value;
	char *unit;
	int err = leading_digits(text, &value, &unit), shift;

	if (err)
		return err;
	shift = size_shift(unit);
	if (shift < 0)
		return shift;
	if (value > ((unsigned long long)SIZE_MAX >> shift))
		return -ERANGE;
	*bytes = (size_t)(value << shift);
	return 0;
}

int units__duration(const char *text, double *seconds)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"", 1}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
	size_t digits = strspn(text, "0123456789.");
	char *unit;
	double value;

	value = strtod(text, &unit);
	/* Accepts only plain decimals: strtod also accepts signs, exponents, hex, inf and nan. */
	if (!digits || unit != text + digits)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].name))
			continue;
		value *= units[i].seconds;
		if (!isfinite(value) || value > 1e9)
			return -ERANGE;
		*seconds = value;
		return 0;
	}
	return -EINVAL;
}

int units__count(const char *text, unsigned long long *count)
{
	char *end;
	int err = leading_digits(text, count, &end);

	return !err && *end ? -EINVAL : err;
}

int units__next(const char **cursor, char item[UNITS_ITEM_MAX])
{
	size_t length;

	if (!*cursor)
		return 0;
	length = strcspn(*cursor, ",");
	if (!length || length >= UNITS_ITEM_MAX)
		return -EINVAL;
	memcpy(item, *cursor, length);
	item[length] = '\0';
	*cursor = (*cursor)[length] ? *cursor + length + 1 : NULL;
	return 1;
}

const char *units__text(const char *format, ...)
{
	static _Thread_local char texts[UNITS_TEXTS][UNITS_TEXT_MAX];
	static _Thread_local unsigned int turn;
	char *text = texts[turn++ % UNITS_TEXTS];
	va_list args;

	va_start(args, format);
	vsnprintf(text, UNITS_TEXT_MAX, format, args);
	va_end(args);
	return text;
}

const char *units__size_text(size_t bytes)
{
	static const char *const units[] = {"", "K", "M", "G"};
	int unit = 0;

	for (; bytes && bytes % 1024 == 0 && unit < 3; unit++)
		bytes /= 1024;
	return units__text("%zu%s", bytes, units[unit]);
}

const char *units__time_text(double ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	int unit = 0;

	while (ns >= 999.5 && unit < 3) {
		ns /= 1000;
		unit++;
	}
	return units__text("%.*f %s", ns >= 99.95 || !unit ? 0 : (ns >= 9.995 ? 1 : 2), ns,
			   units[unit]);
}

const char *units__count_text(unsigned long long count)
{
	if (count < 1000)
		return units__text("%llu", count);
	return units__text("%s,%03llu", units__count_text(count / 1000), count % 1000);
}

int units__endpoint(const char *text, char *host, size_t room, char port[8])
{
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	unsigned long long number;

	if (!length || units__count(colon + 1, &number) || number > 65535)
		return -EINVAL;
	if (text[0] == '[') {
		if (length < 3 || text[length - 1] != ']')
			return -EINVAL;
		text++;
		length -= 2;
	} else if (memchr(text, ':', length)) {
		return -EINVAL; /* an IPv6 address without brackets: the port is ambiguous */
	}
	if (length >= room)
		return -EINVAL;
	memcpy(host, text, length);
	host[length] = '\0';
	snprintf(port, 8, "%llu", number);
	return 0;
}
