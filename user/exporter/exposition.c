// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/exposition.h"

#include <stdlib.h>
#include <string.h>

/*
 * Bounds of buckets: 1 and 1.5 times each power of two, from half a microsecond to 8 seconds. They
 * are also bounds in the kernel's histogram, so each bucket of the kernel lies in one bucket here.
 * Bounds are inclusive: a bound is the last ns of a bucket.
 */
#define BOUND_FIRST_BIT 9
#define BOUND_LAST_BIT	33
#define BOUNDS		(2 * (BOUND_LAST_BIT - BOUND_FIRST_BIT) + 1)

bool exposition__begin(struct exposition *e, bool open_metrics)
{
	e->open_metrics = open_metrics;
	e->out = open_memstream(&e->text, &e->size);
	return e->out;
}

char *exposition__end(struct exposition *e)
{
	bool failed;

	if (e->open_metrics)
		fputs("# EOF\n", e->out);
	failed = ferror(e->out);
	if (!fclose(e->out) && !failed)
		return e->text;
	free(e->text);
	return NULL;
}

/* Writes a help text. Replaces " by ', and \ and what is not printable ASCII by ?. */
static void write_help(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(*text == '"'				    ? '\''
		      : *text < ' ' || *text > '~' || *text == '\\' ? '?'
								    : *text,
		      out);
}

void exposition__family(struct exposition *e, const struct family *f, const char *missing)
{
	static const char *const kinds[] = {"counter", "gauge", "histogram"};
	const char *suffix = f->kind == METRIC_COUNTER && !e->open_metrics ? "_total" : "";

	e->family = f;
	fprintf(e->out, "# HELP %s%s ", f->name, suffix);
	write_help(e->out, f->help);
	if (missing) {
		fputs(" Not measured: ", e->out);
		write_help(e->out, missing);
	}
	fprintf(e->out, "\n# TYPE %s%s %s\n", f->name, suffix, kinds[f->kind]);
	if (e->open_metrics && f->unit[0])
		fprintf(e->out, "# UNIT %s %s\n", f->name, f->unit);
}

static void write_label(FILE *out, char separator, const char *name, const char *value)
{
	fprintf(out, "%c%s=\"", separator, name);
	for (; *value; value++)
		if (*value == '"')
			fputs("\\\"", out);
		else if (*value < ' ' || *value > '~' || *value == '\\')
			fprintf(out, "\\\\x%02x", (unsigned char)*value);
		else
			fputc(*value, out);
	fputc('"', out);
}

/*
 * Writes a sample up to its value. To Prometheus, an empty label is the same as none. le is one
 * more label, unless it is NULL.
 */
static void write_name(struct exposition *e, const char *suffix, const char *const *labels,
		       const char *le)
{
	const char *const *name = e->family->labels;
	char separator = '{';

	fprintf(e->out, "%s%s", e->family->name, suffix);
	for (; *name; name++, labels++) {
		if (!**labels)
			continue;
		write_label(e->out, separator, *name, *labels);
		separator = ',';
	}
	if (le)
		write_label(e->out, separator, "le", le);
	if (le || separator == ',')
		fputc('}', e->out);
}

/*
 * Returns the value of a sample, or its last value if that was greater or if the value is below
 * zero. A value can fall because a correction may be charged to another group than the count that
 * it corrects. The sample's name is the text from `name` to its end.
 */
static uint64_t keep_from_falling(struct exposition *e, const char *name, uint64_t value)
{
	uint64_t key = 0xcbf29ce484222325; /* FNV-1a */
	struct series *s;

	for (; name < e->text + e->size; name++)
		key = (key ^ (unsigned char)*name) * 0x100000001b3;
	s = &e->series[key % SERIES_MAX];
	while (s->key && s->key != key)
		s = &e->series[(size_t)(s - e->series + 1) % SERIES_MAX];
	if (!s->key && ++e->series_count > SERIES_MAX / 2)
		return value;
	s->key = key;
	if ((int64_t)value > (int64_t)s->value)
		s->value = value;
	return s->value;
}

static void write_number(struct exposition *e, uint64_t value)
{
	unsigned long long number = value, second = 1000000000;

	if (strcmp(e->family->unit, "seconds"))
		fprintf(e->out, " %llu\n", number);
	else
		fprintf(e->out, " %llu.%09llu\n", number / second, number % second);
}

void exposition__number(struct exposition *e, const char *const *labels, uint64_t value)
{
	bool counter = e->family->kind == METRIC_COUNTER;
	long begin = ftell(e->out);

	write_name(e, counter ? "_total" : "", labels, NULL);
	if (counter && !fflush(e->out)) /* flushed, so that the text has the name */
		value = keep_from_falling(e, e->text + begin, value);
	write_number(e, value);
}

/* Returns the largest ns of bucket i. */
static uint64_t bound(int i)
{
	return ((2ULL + (i & 1)) << (BOUND_FIRST_BIT - 1 + i / 2)) - 1;
}

/*
 * Writes the sum of the buckets as the count: an event that is counted during reading may be in a
 * bucket and not yet in the histogram's count.
 */
void exposition__histogram(struct exposition *e, const char *const *labels, const struct hist *h)
{
	unsigned long long count = 0;
	__u32 bucket = 0;
	char le[32];

	for (int i = 0; i <= BOUNDS; i++) {
		while (bucket < HIST_BUCKETS && (i == BOUNDS || hist_low(bucket) <= bound(i)))
			count += h->buckets[bucket++];
		snprintf(le, sizeof(le), "%.10g", (double)bound(i) / 1e9);
		write_name(e, "_bucket", labels, i < BOUNDS ? le : "+Inf");
		fprintf(e->out, " %llu\n", count);
	}
	write_name(e, "_count", labels, NULL);
	fprintf(e->out, " %llu\n", count);
	write_name(e, "_sum", labels, NULL);
	write_number(e, h->sum);
}

/*
 * Returns the largest weight of a media range that names this type, such as
 * "text/plain;version=0.0.4;q=0.5": 1 without q, 0 if none names it.
 */
static double preference(const char *accept, const char *type)
{
	size_t length = strlen(type), size;
	double most = 0, weight;
	const char *part;

	for (; *accept; accept += size + (accept[size] == ',')) {
		accept += strspn(accept, " \t");
		size = strcspn(accept, ",");
		if (strncasecmp(accept, type, length) || !strchr("; \t,", accept[length]))
			continue;
		part = strcasestr(accept, "q=");
		weight = part && part < accept + size ? strtod(part + 2, NULL) : 1;
		most = weight > most ? weight : most;
	}
	return most;
}

bool exposition__wants_open_metrics(const char *accept)
{
	double open = accept ? preference(accept, "application/openmetrics-text") : 0;

	return open > 0 && open >= preference(accept, "text/plain");
}
