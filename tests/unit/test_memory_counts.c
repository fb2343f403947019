// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From the names that a machine has to events, and from what perf wrote to bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "user/memory/memory_counts.h"

#define MIB 1048576.0

/* Names with blanks around: "pmu/event", or the event alone. */
static bool has(const void *context, const char *pmu, const char *event)
{
	char name[128];

	snprintf(name, sizeof(name), " %s%s%s ", pmu ? pmu : "", pmu ? "/" : "", event);
	return strstr(context, name);
}

static struct memory_choice choose(const char *names)
{
	struct memory_choice c;

	memory__choose(&c, has, names);
	return c;
}

static const char imc[] = " uncore_imc/cas_count_read uncore_imc/cas_count_write ";

/* Of a quantity, in bytes; -1: not all was counted. */
static double sum(const struct memory_choice *c, const char *text, enum memory_quantity q)
{
	struct memory_counts counts;
	double bytes = 0;
	bool any = false;
	size_t i;

	memory__parse(&counts, c, text);
	for (i = 0; i < c->count; i++) {
		if (c->events[i].event->quantity != q)
			continue;
		if (counts.events[i].status != MEMORY_COUNTED)
			return -1;
		any = true;
		bytes += counts.events[i].bytes;
	}
	return any ? bytes : -1;
}

static void the_first_source_of_a_kind_is_taken(void **state)
{
	struct memory_choice c;

	(void)state;
	c = choose(" uncore_imc/cas_count_read uncore_imc/cas_count_write umc_cas_cmd.rd "
		   "umc_cas_cmd.wr llc_misses.pcie_read llc_misses.pcie_write ");
	assert_string_equal(c.sources[KIND_MEMORY]->name, "memory controllers (uncore_imc)");
	assert_string_equal(c.sources[KIND_IO_MISSES]->name, "cache boxes (uncore_cbox)");
	assert_null(c.sources[KIND_IO_BYTES]);
	assert_int_equal(c.count, 4);
	assert_string_equal(c.events[0].name, "uncore_imc/cas_count_read/");
	assert_string_equal(c.events[2].name, "llc_misses.pcie_read");
}

static void of_a_source_what_is_there_is_asked_for(void **state)
{
	struct memory_choice c = choose(" unc_cha_tor_inserts.io_miss_pcirdcur "
					"unc_cha_tor_inserts.io_miss_itom ");

	(void)state;
	assert_int_equal(c.count, 2);
	c = choose(" cycles instructions ");
	assert_int_equal(c.count, 0);
}

static void every_source_can_be_chosen(void **state)
{
	size_t i, j;

	(void)state;
	for (i = 0; i < memory_source_count; i++) {
		const struct memory_source *s = &memory_sources[i];
		char names[2048] = " ";
		struct memory_choice c;

		for (j = 0; s->events[j].name; j++)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s%s ",
				 s->events[j].pmu ? s->events[j].pmu : "",
				 s->events[j].pmu ? "/" : "", s->events[j].name);
		c = choose(names);
		assert_ptr_equal(c.sources[s->kind], s);
		assert_int_equal(c.count, j);
	}
}

static void units_and_boxes_add_up(void **state)
{
	struct memory_choice c = choose(imc);

	(void)state;
	assert_true(sum(&c, "1.5;MiB;uncore_imc/cas_count_read/;100;100.00;;\n", MEMORY_READ) ==
		    1.5 * MIB);
	assert_true(sum(&c,
			"1;MiB;uncore_imc_0/cas_count_read/;100;100.00;;\n"
			"2;MiB;uncore_imc_11/cas_count_read/;100;100.00;;",
			MEMORY_READ) == 3 * MIB);
	assert_true(sum(&c, "64;Bytes;uncore_imc/cas_count_write/;1;100.00;;\n", MEMORY_WRITE) ==
		    64);
}

static void counts_are_of_lines(void **state)
{
	struct memory_choice c = choose(" umc_cas_cmd.rd umc_cas_cmd.wr ");

	(void)state;
	assert_true(sum(&c, "10;;umc_cas_cmd.rd;1;100.00;;\n", MEMORY_READ) == 640);
	assert_true(sum(&c, "10;;UMC_CAS_CMD.WR;1;100.00;;\n", MEMORY_WRITE) == 640);
	assert_true(sum(&c,
			"10;;amd_umc_0/umc_cas_cmd.rd/;1;100.00;;\n"
			"5;;amd_umc_4/umc_cas_cmd.rd/;1;100.00;;\n"
			"7;;umc_cas_cmd.rdx;1;100.00;;\n7;;xumc_cas_cmd.rd;1;100.00;;\n",
			MEMORY_READ) == 960);
}

static void what_was_not_counted_is_not_zero(void **state)
{
	struct memory_choice c = choose(imc);
	static const char *const texts[] = {
		"",
		"<not supported>;MiB;uncore_imc/cas_count_read/;0;100.00;;\n",
		"<not counted>;MiB;uncore_imc/cas_count_read/;0;0.00;;\n",
		"1;MiB;uncore_imc_0/cas_count_read/;1;100.00;;\n"
		"<not counted>;MiB;uncore_imc_1/cas_count_read/;0;0.00;;\n",
		"<not counted>;MiB;uncore_imc_1/cas_count_read/;0;0.00;;\n"
		"1;MiB;uncore_imc_0/cas_count_read/;1;100.00;;\n",
		"12;furlongs;uncore_imc/cas_count_read/;1;100.00;;\n",
		"12;;uncore_imc/cas_count_read/;1;100.00;;\n", /* the driver names a unit */
		"1,5;MiB;uncore_imc/cas_count_read/;1;100.00;;\n",
		"1;MiB;uncore_imc_free_running_0/cas_count_read/;1;100.00;;\n",
		"1;MiB;uncore_imc_0/cas_count_reads/;1;100.00;;\n",
		"1;MiB;uncore_imc/cas_count_read/",
		"Events enabled\n;;;;;;\n\n;\n",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_true(sum(&c, texts[i], MEMORY_READ) == -1);
}

static void a_source_is_of_the_kind_of_its_quantities(void **state)
{
	const struct memory_event *e;
	size_t i;

	(void)state;
	for (i = 0; i < memory_source_count; i++)
		for (e = memory_sources[i].events; e->name; e++)
			assert_int_equal(memory_quantity_kind(e->quantity), memory_sources[i].kind);
}

static void shares_of_time_are_kept(void **state)
{
	struct memory_choice c = choose(imc);
	struct memory_counts counts;

	(void)state;
	memory__parse(&counts, &c,
		      "1;MiB;uncore_imc_0/cas_count_read/;1;50.00;;\n"
		      "1;MiB;uncore_imc_1/cas_count_read/;1;25.00;;\n"
		      "<not supported>;MiB;uncore_imc_0/cas_count_write/u;0;100.00;;\n");
	assert_int_equal(counts.events[0].status, MEMORY_COUNTED);
	assert_true(counts.events[0].running == 0.25);
	assert_int_equal(counts.events[1].status, MEMORY_NOT_SUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_source_of_a_kind_is_taken),
		cmocka_unit_test(of_a_source_what_is_there_is_asked_for),
		cmocka_unit_test(every_source_can_be_chosen),
		cmocka_unit_test(units_and_boxes_add_up),
		cmocka_unit_test(counts_are_of_lines),
		cmocka_unit_test(what_was_not_counted_is_not_zero),
		cmocka_unit_test(a_source_is_of_the_kind_of_its_quantities),
		cmocka_unit_test(shares_of_time_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
