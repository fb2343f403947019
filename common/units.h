/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Values as people write them: sizes (64, 16K, 1M), durations (10, 0.5, 10s,
 * 200ms, 2m), counts, and lists of them with commas. Pure: no output, no exit.
 * Each returns 0, -EINVAL (not such a value) or -ERANGE (too large to hold).
 */
#pragma once

#include <stddef.h>

#define UNITS_ITEM_MAX 64 /* longest element of a list, with its terminating zero */
#define UNITS_TEXT_MAX 48 /* what a formatter writes at most, with its terminating zero */
#define UNITS_TEXTS    32

/* Reads a size. K, M and G are powers of 1024; a trailing "B" or "iB" changes nothing. */
int units__size(const char *text, size_t *bytes);

/* Reads a duration in seconds unless it has a unit (us, ms, s, m, h). Never negative. */
int units__duration(const char *text, double *seconds);

/* Reads a decimal number without sign, unit or blank. */
int units__count(const char *text, unsigned long long *count);

/*
 * Takes the next element of a comma-separated list. *cursor starts at the text and is NULL after
 * the last element. Returns 1 with the element, 0 at the end, -EINVAL for an empty or too long
 * element.
 */
int units__next(const char **cursor, char item[UNITS_ITEM_MAX]);

/* Splits "HOST:PORT" or "[HOST]:PORT" into both; the port may be 0. */
int units__endpoint(const char *text, char *host, size_t room, char port[8]);

/*
 * The formatters return one of UNITS_TEXTS buffers of this thread in turn: enough for the arguments
 * of one printf. Nothing needs freeing. units__text() takes a format, and cuts long text.
 */
const char *units__text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes "16K", "99999", "1M": units__size() reads it back as the same number. */
const char *units__size_text(size_t bytes);

/* Writes "3.91 us", "412 ms": three digits and a fitting unit. */
const char *units__time_text(double ns);

/* Writes "1,234,567": with commas between thousands. */
const char *units__count_text(unsigned long long count);
