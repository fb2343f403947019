// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where there are no counters of the memory system: an estimate, marked as one, or null and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "user/record/record_parts.h"
#include "user/record/record_read.h"

static char folder[] = "/tmp/sendpath-test-XXXXXX";
static struct memory *memory;

static void write_file(const char *name, const char *text, mode_t mode)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(path, mode), 0);
}

/* A machine with caches of 64-byte lines, and a perf that knows nothing of its uncore. */
static int open_machine(void **state)
{
	char command[512], path[4096], why[256];

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(command, sizeof(command), "mkdir -p %s/devices/system/cpu/cpu0/cache/index3",
		 folder);
	if (system(command))
		return -1;
	write_file("devices/system/cpu/cpu0/cache/index3/coherency_line_size", "64\n", 0644);
	write_file("perf", "#!/bin/sh\necho cycles instructions\n", 0755);
	snprintf(path, sizeof(path), "%s:%s", folder, getenv("PATH"));
	setenv("PATH", path, 1);
	setenv("SENDPATH_SYSFS", folder, 1);
	return memory__open(&memory, why, sizeof(why));
}

static int close_machine(void **state)
{
	char command[512];

	(void)state;
	memory__free(memory);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static struct counter_value misses(enum counter_status status, double value)
{
	return (struct counter_value){
		.event = "LLC-load-misses", .unit = "", .status = status, .value = value};
}

/* The block for a run of which both ends counted so. */
static json_object *block(const struct counter_value *sender, const struct counter_value *receiver,
			  struct unmeasured *u)
{
	static struct run_result r;
	json_object *o;

	memset(&r, 0, sizeof(r));
	r.sender = (struct run_side){.values = sender, .count = 1};
	r.receiver = (struct run_side){.values = receiver, .count = 1};
	r.app = json_tokener_parse("{\"bytes\": 32000, \"elapsed_s\": 2.0}");
	memory__begin(&r.memory, memory);
	memory__count(&r.memory, true);
	memory__count(&r.memory, false);
	memory__end(&r.memory);
	o = record__memory(&r, u);
	json_object_put(r.app);
	return o;
}

static double number(json_object *o, const char *path)
{
	double value = -1;

	record__number(o, path, &value);
	return value;
}

static void misses_of_both_ends_are_an_estimate_of_reads(void **state)
{
	struct counter_value a = misses(COUNTER_COUNTED, 1000), b = misses(COUNTER_COUNTED, 500);
	struct unmeasured u = {json_object_new_array()};
	json_object *o = block(&a, &b, &u);

	(void)state;
	assert_true(json_object_get_boolean(record__at(o, "/is_estimate")));
	assert_string_equal(record__string(o, "/scope"), "sender and receiver");
	assert_true(number(o, "/read_bytes") == 1500 * 64);
	assert_true(number(o, "/read_bytes_per_s") == 750 * 64);
	assert_true(number(o, "/bytes_per_byte") == 3);
	assert_null(record__at(o, "/write_bytes"));
	json_object_put(o);
	json_object_put(u.list);
}

static void without_misses_all_is_null_with_a_reason(void **state)
{
	struct counter_value a = misses(COUNTER_COUNTED, 1000),
			     b = misses(COUNTER_NOT_SUPPORTED, 0);
	struct unmeasured u = {json_object_new_array()};
	json_object *o = block(&a, &b, &u), *one;
	size_t i, reasons = json_object_array_length(u.list);

	(void)state;
	assert_null(record__at(o, "/is_estimate"));
	assert_null(record__at(o, "/read_bytes"));
	assert_null(record__at(o, "/bytes_per_byte"));
	assert_int_equal(reasons, 12);
	for (i = 0; i < reasons; i++) {
		one = json_object_array_get_idx(u.list, i);
		assert_non_null(strstr(record__string(one, "/reason"), "not supported"));
	}
	json_object_put(o);
	json_object_put(u.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(misses_of_both_ends_are_an_estimate_of_reads),
		cmocka_unit_test(without_misses_all_is_null_with_a_reason),
	};

	return cmocka_run_group_tests(tests, open_machine, close_machine);
}
