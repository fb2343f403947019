// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests reading the kernel's symbol table, with files that have its format. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/kernel/causes.h"
#include "user/kernel/kallsyms.h"

#define SYMBOLS_MAX 96

static int compare_names(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int read_text(const char *text, struct kernel_symbol *symbols, size_t count)
{
	FILE *table = tmpfile();
	int err;

	assert_non_null(table);
	fputs(text, table);
	err = kallsyms__read(table, symbols, count);
	fclose(table);
	return err;
}

static void test_a_function_ends_where_the_next_begins(void **state)
{
	struct kernel_symbol s[] = {{.name = "absent"}, {.name = "second"}};

	assert_int_equal(read_text("ffffffff81000010 T first\n"
				   "ffffffff81000020 t second\n"
				   "ffffffff81000030 t second.cold\n"
				   "ffffffff81000050 T third\n"
				   "ffffffff81000090 d fourth\n",
				   s, 2),
			 0);
	assert_true(s[1].found);
	assert_int_equal(s[1].code.from, 0xffffffff81000020);
	assert_int_equal(s[1].code.to, 0xffffffff81000030);
	assert_string_equal(s[1].variant, "");
	assert_false(s[0].found);
	assert_int_equal(s[0].code.from, 0);
}

static void test_a_line_without_an_address_names_nothing(void **state)
{
	struct kernel_symbol s[] = {{.name = "second"}};

	assert_int_equal(read_text("first T second\n"
				   " T second\n"
				   "ffffffff81000010T second\n",
				   s, 1),
			 0);
	assert_false(s[0].found);
}

/* A module's symbols are not sorted. */
static void test_a_function_of_a_module_ends_where_the_nearest_begins(void **state)
{
	struct kernel_symbol s[] = {{.name = "second"}};

	assert_int_equal(read_text("ffffffff81000020 t kernel\n"
				   "ffffffffc0000030 t before\t[m]\n"
				   "ffffffffc0000020 t second\t[m]\n"
				   "ffffffffc0000050 t third\t[m]\n"
				   "ffffffffc0000040 t other\t[m]\n"
				   "ffffffffc0000010 t first\t[m]\n",
				   s, 1),
			 0);
	assert_int_equal(s[0].code.from, 0xffffffffc0000020);
	assert_int_equal(s[0].code.to, 0xffffffffc0000030);
}

static void test_a_variable_is_found_where_one_is_requested(void **state)
{
	struct kernel_symbol s[] = {{.name = "other"}, {.name = "taps", .data = true}};

	assert_int_equal(read_text("10 t taps\n20 D taps\n30 d other\n40 T end\n", s, 2), 0);
	assert_true(s[1].found);
	assert_int_equal(s[1].code.from, 0x20);
	assert_false(s[0].found);
}

static void test_an_address_lies_in_the_nearest_function(void **state)
{
	struct kernel_address a[] = {{.address = 0x25},
				     {.address = 0x5},
				     {.address = 0x20},
				     {.address = 0x2f},
				     {.address = 0x20}};
	size_t count = 5;
	FILE *table = tmpfile();

	assert_non_null(table);
	fputs("10 T first\n20 t second\n24 d data\n30 T third [m]\n", table);
	assert_int_equal(kallsyms__nearest(table, a, &count), 0);
	assert_int_equal(count, 4);
	assert_int_equal(kernel_address__find(a, count, 0x5)->start, 0);
	assert_string_equal(kernel_address__find(a, count, 0x20)->name, "second");
	assert_string_equal(kernel_address__find(a, count, 0x25)->name, "second");
	assert_string_equal(kernel_address__find(a, count, 0x2f)->name, "second");
	fclose(table);
}

static void test_variants_are_found_and_cold_parts_are_not(void **state)
{
	struct kernel_symbol s[] = {{.name = "cold"}, {.name = "gone"}, {.name = "split"}};

	assert_int_equal(read_text("10 t split\n20 t split.part.0\n30 t split.constprop.0\n"
				   "40 t gone.isra.0\n50 t cold\n60 t cold.cold\n"
				   "70 t __pfx_gone\n80 t gone_too\n",
				   s, 3),
			 0);
	assert_true(s[2].found);
	assert_string_equal(s[2].variant, "split.part.0");
	assert_false(s[1].found);
	assert_string_equal(s[1].variant, "gone.isra.0");
	assert_true(s[0].found);
	assert_string_equal(s[0].variant, "");
}

static void test_hidden_addresses_leave_the_name(void **state)
{
	struct kernel_symbol s[] = {{.name = "tcp_sendmsg"}};

	assert_int_equal(read_text("0000000000000000 T tcp_sendmsg\n0000000000000000 T b\n", s, 1),
			 0);
	assert_true(s[0].found);
	assert_int_equal(s[0].code.from, 0);
}

static void test_modules_and_odd_lines(void **state)
{
	struct kernel_symbol s[] = {{.name = "tun_net_xmit"}};

	assert_int_equal(read_text("\nnot a line\nffffffffc0000010 t tun_net_xmit\t[tun]\n"
				   "ffffffffc0000020\n",
				   s, 1),
			 0);
	assert_true(s[0].found);
	assert_int_equal(s[0].code.from, 0xffffffffc0000010);
}

static void test_a_missing_table_is_an_error(void **state)
{
	static char buffer[KALLSYMS_BUFFER];

	assert_null(kallsyms__open("/no/such/file", buffer));
	assert_int_equal(errno, ENOENT);
}

/* Names the functions of causes. This kernel has some only as compiler's variants. */
static size_t name_symbols(struct kernel_symbol *symbols)
{
	const struct cause_site *site;
	size_t count = 0;

	symbols[count++] = (struct kernel_symbol){.name = "init_net", .data = true};
	symbols[count++] = (struct kernel_symbol){.name = "tcp_sendmsg"};
	for (site = cause_sites; site->function; site++) {
		symbols[count] = (struct kernel_symbol){.name = site->function};
		count += !lfind(&symbols[count], symbols, &count, sizeof(*symbols), compare_names);
	}
	return count;
}

static void assert_same_range(const struct address_range *a, const struct address_range *b)
{
	assert_int_equal(a->from, b->from);
	assert_int_equal(a->to, b->to);
}

/* Reads the symbol table of the running kernel. */
static void test_a_look_up_finds_what_the_table_has(void **state)
{
	static struct kernel_symbol looked_up[SYMBOLS_MAX], read[SYMBOLS_MAX];
	static char buffer[KALLSYMS_BUFFER];
	size_t i, count = name_symbols(looked_up);
	FILE *table = kallsyms__open(KALLSYMS, buffer);
	int err = kallsyms__look_up(looked_up, count);

	name_symbols(read);
	assert_non_null(table);
	assert_int_equal(kallsyms__read(table, read, count), 0);
	fclose(table);
	if (err) {
		print_message("this kernel looks up no symbols: %s\n", strerror(-err));
		skip();
	}
	qsort(looked_up, count, sizeof(*looked_up), compare_names);
	qsort(read, count, sizeof(*read), compare_names);
	for (i = 0; i < count; i++) {
		assert_string_equal(looked_up[i].name, read[i].name);
		assert_int_equal(looked_up[i].found, read[i].found);
		assert_same_range(&looked_up[i].code, &read[i].code);
		assert_string_equal(looked_up[i].variant, read[i].variant);
		assert_same_range(&looked_up[i].variant_code, &read[i].variant_code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line_without_an_address_names_nothing),
		cmocka_unit_test(test_a_function_ends_where_the_next_begins),
		cmocka_unit_test(test_a_function_of_a_module_ends_where_the_nearest_begins),
		cmocka_unit_test(test_a_variable_is_found_where_one_is_requested),
		cmocka_unit_test(test_an_address_lies_in_the_nearest_function),
		cmocka_unit_test(test_variants_are_found_and_cold_parts_are_not),
		cmocka_unit_test(test_hidden_addresses_leave_the_name),
		cmocka_unit_test(test_modules_and_odd_lines),
		cmocka_unit_test(test_a_missing_table_is_an_error),
		cmocka_unit_test(test_a_look_up_finds_what_the_table_has),
	};

	return cmocka_run_group_tests_name("kallsyms", tests, NULL, NULL);
}
