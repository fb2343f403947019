// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests metrics as text: unsafe names, counters that never fall, buckets, the format. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "user/exporter/exposition.h"

static struct exposition e;
static const struct family bytes = {METRIC_COUNTER, "a_bytes", "bytes", "What.", {"to", "by"}};

static void begin(bool open_metrics)
{
	assert_true(exposition__begin(&e, open_metrics));
}

static const char *written(void)
{
	static char copy[65536];
	char *text = exposition__end(&e);

	assert_non_null(text);
	assert_true(strlen(text) < sizeof(copy));
	strcpy(copy, text);
	free(text);
	return copy;
}

static void test_both_formats(void **state)
{
	static const struct family seconds = {METRIC_GAUGE, "g_seconds", "seconds", "When.", {}};

	begin(true);
	exposition__family(&e, &bytes, NULL);
	exposition__number(&e, LABELS("lo", "x"), 7);
	exposition__family(&e, &seconds, NULL);
	exposition__number(&e, LABELS(), 1500000001);
	assert_string_equal(written(), "# HELP a_bytes What.\n# TYPE a_bytes counter\n"
				       "# UNIT a_bytes bytes\na_bytes_total{to=\"lo\",by=\"x\"} 7\n"
				       "# HELP g_seconds When.\n# TYPE g_seconds gauge\n"
				       "# UNIT g_seconds seconds\ng_seconds 1.500000001\n# EOF\n");
	begin(false);
	exposition__family(&e, &bytes, NULL);
	exposition__number(&e, LABELS("lo", "x"), 7);
	assert_string_equal(written(), "# HELP a_bytes_total What.\n# TYPE a_bytes_total counter\n"
				       "a_bytes_total{to=\"lo\",by=\"x\"} 7\n");
}

static void test_why_there_is_none(void **state)
{
	static const struct family f = {METRIC_GAUGE, "g", "", "What.", {}};

	begin(false);
	exposition__family(&e, &f, "no \"hook\"\n\\here");
	assert_string_equal(written(),
			    "# HELP g What. Not measured: no 'hook'??here\n# TYPE g gauge\n");
}

static void test_any_bytes_are_a_name(void **state)
{
	static const struct family f = {METRIC_GAUGE, "g", "", "", {"comm"}};

	begin(true);
	exposition__family(&e, &f, NULL);
	exposition__number(&e, LABELS("a\"b\\\n\x1b[31m\xff\xc3\xa9 }"), 1);
	exposition__number(&e, LABELS(""), 2);
	assert_non_null(strstr(
		written(), "g{comm=\"a\\\"b\\\\x5c\\\\x0a\\\\x1b[31m\\\\xff\\\\xc3\\\\xa9 }\"} 1\n"
			   "g 2\n"));
}

static void count(enum metric_kind kind, const char *name, uint64_t n, const char *line)
{
	const struct family f = {kind, name, "", "", {"x"}};

	begin(false);
	exposition__family(&e, &f, NULL);
	exposition__number(&e, LABELS("y"), n);
	assert_non_null(strstr(written(), line));
}

static void test_counters_never_fall(void **state)
{
	count(METRIC_COUNTER, "c", 5, "c_total{x=\"y\"} 5\n");
	count(METRIC_COUNTER, "d", 1, "d_total{x=\"y\"} 1\n");
	count(METRIC_COUNTER, "c", 4, "c_total{x=\"y\"} 5\n");
	count(METRIC_COUNTER, "c", 6, "c_total{x=\"y\"} 6\n");
	count(METRIC_COUNTER, "c", -3ULL, "c_total{x=\"y\"} 6\n");
	count(METRIC_GAUGE, "c", 6, "c{x=\"y\"} 6\n");
	count(METRIC_GAUGE, "c", 3, "c{x=\"y\"} 3\n");
}

static void test_more_series_than_are_remembered(void **state)
{
	static const struct family f = {METRIC_COUNTER, "many", "", "", {"name"}};
	char name[16];
	int i;

	begin(false);
	exposition__family(&e, &f, NULL);
	for (i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		exposition__number(&e, LABELS(name), (uint64_t)i);
	}
	free(exposition__end(&e)); /* the text is not needed */
	count(METRIC_COUNTER, "many", 3, "many_total{x=\"y\"} 3\n");
}

/* Returns the count of the histogram bucket whose bound is le. */
static unsigned long long bucket(const char *all, const char *le)
{
	char name[64];
	const char *at;

	snprintf(name, sizeof(name), "h_bucket{k=\"v\",le=\"%s\"} ", le);
	at = strstr(all, name);
	assert_non_null(at);
	return strtoull(at + strlen(name), NULL, 10);
}

static void test_every_time_is_in_its_bucket(void **state)
{
	static const uint64_t times[] = {0, 511, 512, 767, 768, 1023, 1024, 8589934591, 8589934592};
	static const struct family f = {METRIC_HISTOGRAM, "h", "seconds", "", {"k"}};
	struct hist h = {};
	const char *all;
	size_t i;

	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		hist_add(&h, times[i]);
	begin(true);
	exposition__family(&e, &f, NULL);
	exposition__histogram(&e, LABELS("v"), &h);
	all = written();
	assert_int_equal(bucket(all, "5.11e-07"), 2);
	assert_int_equal(bucket(all, "7.67e-07"), 4);
	assert_int_equal(bucket(all, "1.023e-06"), 6);
	assert_int_equal(bucket(all, "1.535e-06"), 7);
	assert_int_equal(bucket(all, "8.589934591"), 8);
	assert_int_equal(bucket(all, "+Inf"), 9);
	assert_non_null(strstr(all, "h_count{k=\"v\"} 9\nh_sum{k=\"v\"} 17.179873788\n"));
}

static void test_what_a_client_prefers(void **state)
{
	static const char prometheus[] =
		"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		"version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
	static const char *const plain[] = {"",
					    "*/*",
					    "text/plain",
					    "application/openmetrics-textual",
					    "application/openmetrics-text;q=0",
					    "application/openmetrics-text;q=0.3, text/plain",
					    "text/plain;version=0.0.4;q=0.5, */*",
					    ",,;q=",
					    "application/openmetrics-text;q=x"};
	char long_one[600];
	size_t i;

	assert_true(exposition__wants_open_metrics(prometheus));
	assert_true(exposition__wants_open_metrics("Application/OpenMetrics-Text"));
	assert_true(exposition__wants_open_metrics(
		"text/plain; q=0.5,\tapplication/openmetrics-text ;q=0.6"));
	assert_false(exposition__wants_open_metrics(NULL));
	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		assert_false(exposition__wants_open_metrics(plain[i]));
	memset(long_one, ';', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = 0;
	memcpy(long_one, "application/openmetrics-text", 28);
	assert_true(exposition__wants_open_metrics(long_one));
	memcpy(long_one + sizeof(long_one) - 5, ";q=0", 4);
	assert_false(exposition__wants_open_metrics(long_one));
}

static int set_up(void **state)
{
	e = (struct exposition){};
	return 0;
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_both_formats),
		TEST(test_why_there_is_none),
		TEST(test_any_bytes_are_a_name),
		TEST(test_counters_never_fall),
		TEST(test_more_series_than_are_remembered),
		TEST(test_every_time_is_in_its_bucket),
		TEST(test_what_a_client_prefers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
