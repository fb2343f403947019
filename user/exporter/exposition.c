// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/exposition.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * Bounds of buckets: 1 and 1.5 times each power of two, from half a microsecond to 8 seconds. They
 * are bounds of buckets in the kernel, too, so that each time is in its own. Both ends of these are
 * inside: a bound is the last ns of one.
 */
#define BOUND_FIRST_BIT 9
#define BOUND_LAST_BIT	33
#define BOUNDS		(2 * (BOUND_LAST_BIT - BOUND_FIRST_BIT) + 1)

#define SERIES_MAX  16384 /* a power of two; counters beyond are not remembered */
#define SAMPLE_SIZE 1024

struct series {
	uint64_t key; /* hash of the sample's name and labels; 0: not in use */
	uint64_t value;
};

struct exposition {
	FILE *out;
	bool open_metrics;
	enum metric_kind kind;
	const char *name;
	size_t series_count;
	struct series series[SERIES_MAX];
};

struct exposition *exposition__new(void)
{
	return calloc(1, sizeof(struct exposition));
}

void exposition__free(struct exposition *e)
{
	free(e);
}

void exposition__begin(struct exposition *e, FILE *out, bool open_metrics)
{
	e->out = out;
	e->open_metrics = open_metrics;
}

void exposition__end(struct exposition *e)
{
	if (e->open_metrics)
		fputs("# EOF\n", e->out);
}

/* The text of a help must not end its line, nor begin to quote. */
static void write_help(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(*text == '"'				    ? '\''
		      : *text < ' ' || *text > '~' || *text == '\\' ? '?'
								    : *text,
		      out);
}

void exposition__family(struct exposition *e, enum metric_kind kind, const char *name,
			const char *unit, const char *help, const char *missing)
{
	static const char *const kinds[] = {"counter", "gauge", "histogram"};
	const char *suffix = kind == METRIC_COUNTER && !e->open_metrics ? "_total" : "";

	e->kind = kind;
	e->name = name;
	fprintf(e->out, "# HELP %s%s ", name, suffix);
	write_help(e->out, help);
	if (missing) {
		fputs(" Not measured: ", e->out);
		write_help(e->out, missing);
	}
	fprintf(e->out, "\n# TYPE %s%s %s\n", name, suffix, kinds[kind]);
	if (e->open_metrics && unit[0])
		fprintf(e->out, "# UNIT %s %s\n", name, unit);
}

/* A sample up to its value; what does not fit is cut, which no name of the kernel's is so long for.
 */
struct sample {
	char text[SAMPLE_SIZE];
	size_t used;
};

static void append_text(struct sample *s, const char *text)
{
	size_t length = strlen(text), room = sizeof(s->text) - 1 - s->used;

	if (length > room)
		length = room;
	memcpy(s->text + s->used, text, length);
	s->used += length;
	s->text[s->used] = 0;
}

static void append_value(struct sample *s, const char *value)
{
	char byte[8];

	for (; *value; value++) {
		if (*value == '"')
			strcpy(byte, "\\\"");
		else if (*value >= ' ' && *value <= '~' && *value != '\\')
			snprintf(byte, sizeof(byte), "%c", *value);
		else
			snprintf(byte, sizeof(byte), "\\\\x%02x", (unsigned char)*value);
		append_text(s, byte);
	}
}

static void name_sample(struct sample *s, const char *name, const char *suffix,
			const struct label *labels)
{
	const char *separator = "{";

	s->used = 0;
	append_text(s, name);
	append_text(s, suffix);
	for (; labels->name; labels++) {
		append_text(s, separator);
		append_text(s, labels->name);
		append_text(s, "=\"");
		append_value(s, labels->value);
		append_text(s, "\"");
		separator = ",";
	}
	if (*separator == ',')
		append_text(s, "}");
}

/* FNV-1a; never 0. */
static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3;
	return h ? h : 1;
}

/* The value, or what it was last, if that was more. */
static uint64_t keep_from_falling(struct exposition *e, const char *sample, uint64_t value)
{
	uint64_t key = hash(sample);
	size_t i = key % SERIES_MAX;
	struct series *s = &e->series[i];

	while (s->key && s->key != key)
		s = &e->series[++i % SERIES_MAX];
	if (!s->key && e->series_count >= SERIES_MAX / 2)
		return value;
	e->series_count += !s->key;
	s->key = key;
	if (value > s->value)
		s->value = value;
	return s->value;
}

static uint64_t begin_sample(struct exposition *e, const struct label *labels, uint64_t value)
{
	bool counter = e->kind == METRIC_COUNTER;
	struct sample s;

	name_sample(&s, e->name, counter ? "_total" : "", labels);
	fputs(s.text, e->out);
	return counter ? keep_from_falling(e, s.text, value) : value;
}

void exposition__count(struct exposition *e, const struct label *labels, uint64_t value)
{
	fprintf(e->out, " %llu\n", (unsigned long long)begin_sample(e, labels, value));
}

static void write_seconds(FILE *out, uint64_t ns)
{
	fprintf(out, " %llu.%09llu\n", (unsigned long long)(ns / 1000000000),
		(unsigned long long)(ns % 1000000000));
}

void exposition__seconds(struct exposition *e, const struct label *labels, uint64_t ns)
{
	write_seconds(e->out, begin_sample(e, labels, ns));
}

/* The largest ns of bucket i. */
static uint64_t bound(int i)
{
	return ((2ULL + (i & 1)) << (BOUND_FIRST_BIT - 1 + i / 2)) - 1;
}

static void write_bucket(struct exposition *e, const struct label *labels, const char *le,
			 uint64_t count)
{
	struct label all[EXPOSITION_LABELS + 2];
	struct sample s;
	size_t used = 0;

	for (; labels[used].name && used < EXPOSITION_LABELS; used++)
		all[used] = labels[used];
	all[used++] = (struct label){"le", le};
	all[used] = (struct label){};
	name_sample(&s, e->name, "_bucket", all);
	fprintf(e->out, "%s %llu\n", s.text, (unsigned long long)count);
}

/* What is counted while it is read may be in a bucket and not in the count: buckets make it. */
void exposition__histogram(struct exposition *e, const struct label *labels, const struct hist *h)
{
	struct sample s;
	uint64_t count = 0;
	__u32 bucket = 0;
	char le[32];
	int i;

	for (i = 0; i < BOUNDS; i++) {
		while (bucket < HIST_BUCKETS && hist_low(bucket) <= bound(i))
			count += h->buckets[bucket++];
		snprintf(le, sizeof(le), "%.10g", (double)bound(i) / 1e9);
		write_bucket(e, labels, le, count);
	}
	while (bucket < HIST_BUCKETS)
		count += h->buckets[bucket++];
	write_bucket(e, labels, "+Inf", count);
	name_sample(&s, e->name, "_count", labels);
	fprintf(e->out, "%s %llu\n", s.text, (unsigned long long)count);
	name_sample(&s, e->name, "_sum", labels);
	fputs(s.text, e->out);
	write_seconds(e->out, h->sum);
}

/* The weight of a media range, "text/plain;version=0.0.4;q=0.5": 1 unless it says. */
static double weight(const char *range, size_t length)
{
	char text[256];
	const char *q;

	if (length >= sizeof(text))
		return 0;
	memcpy(text, range, length);
	text[length] = 0;
	q = strcasestr(text, "q=");
	while (q && q > text && !strchr("; \t", q[-1]))
		q = strcasestr(q + 1, "q=");
	return q ? strtod(q + 2, NULL) : 1;
}

/* Of the ranges that name this type, the largest weight; 0 if none does. */
static double preference(const char *accept, const char *type)
{
	size_t length;
	double most = 0, w;

	for (; *accept; accept += length + (accept[length] == ',')) {
		accept += strspn(accept, " \t");
		length = strcspn(accept, ",");
		if (strncasecmp(accept, type, strlen(type)) ||
		    !strchr("; \t,", accept[strlen(type)]))
			continue;
		w = weight(accept, length);
		most = w > most ? w : most;
	}
	return most;
}

bool exposition__wants_open_metrics(const char *accept)
{
	double open = accept ? preference(accept, "application/openmetrics-text") : 0;

	return open > 0 && open >= preference(accept, "text/plain");
}
