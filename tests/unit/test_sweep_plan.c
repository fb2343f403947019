// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a sweep runs: every cell once a block, in an order of the seed's, in shards that add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/options/options_table.h"
#include "user/sweep/sweep_plan.h"

#define CELLS_MAX 512

/* "--size=1K" to load_options__set(). */
static void set(struct load_options *o, const char *word)
{
	size_t length = strcspn(word, "=");
	char name[32] = "", why[256];

	strncpy(name, word + 2, length - 2);
	assert_int_equal(load_options__set(o, name, word + length + 1, why, sizeof(why)), 0);
}

static struct sweep_plan plan_of(const char *name)
{
	struct sweep_plan p = {.repeats = 3, .shard = 1, .shards = 1, .seed = 7};
	const struct named_grid *grid = grids__find(name);
	struct load_options o;
	size_t part, i;
	char why[256];

	assert_non_null(grid);
	for (part = 0; part < named_grid__parts(grid); part++) {
		load_options__init(&o);
		for (i = 0; i < GRID_WORDS && grid->parts[part][i]; i++)
			set(&o, grid->parts[part][i]);
		assert_int_equal(load_options__resolve(&o, why, sizeof(why)), 0);
		assert_int_equal(sweep_plan__add(&p, &o), 0);
	}
	return p;
}

static void named_grids_have_their_cells(void **state)
{
	static const struct {
		const char *name;
		size_t cells;
	} expected[] = {{"copies", 48}, {"sizes", 72}, {"servers", 9}, {"records", 128}};
	struct sweep_plan p;
	size_t i;

	(void)state;
	assert_int_equal(named_grid_count, sizeof(expected) / sizeof(expected[0]));
	for (i = 0; i < named_grid_count; i++) {
		p = plan_of(expected[i].name);
		assert_int_equal(p.count, expected[i].cells);
		assert_int_equal(sweep_plan__runs(&p), 3 * expected[i].cells);
		sweep_plan__free(&p);
	}
	assert_null(grids__find("none"));
}

static void cells_are_told_apart_by_name(void **state)
{
	size_t g, i;

	(void)state;
	for (g = 0; g < named_grid_count; g++) {
		struct sweep_plan p = plan_of(named_grids[g].name);

		for (i = 0; i < p.count; i++)
			assert_int_equal(sweep_plan__find(&p, p.cells[i].name), i);
		assert_int_equal(sweep_plan__find(&p, "another"), -1);
		sweep_plan__free(&p);
	}
}

static void what_is_there_is_not_added_again(void **state)
{
	struct sweep_plan p = plan_of("copies");
	struct load_options o;
	char why[256];

	(void)state;
	load_options__init(&o);
	set(&o, "--variant=onecopy,null");
	set(&o, "--size=4K");
	assert_int_equal(load_options__resolve(&o, why, sizeof(why)), 0);
	assert_int_equal(sweep_plan__add(&p, &o), 0);
	assert_int_equal(p.count, 49);
	assert_string_equal(p.cells[48].load.variant, "null");
	sweep_plan__free(&p);
}

static void a_block_has_every_cell_once(void **state)
{
	struct sweep_plan p = plan_of("sizes");
	size_t order[CELLS_MAX], i;
	unsigned int block;

	(void)state;
	for (block = 1; block <= 50; block++) {
		bool seen[CELLS_MAX] = {};

		sweep_plan__order(&p, block, order);
		for (i = 0; i < p.count; i++) {
			assert_true(order[i] < p.count);
			assert_false(seen[order[i]]);
			seen[order[i]] = true;
		}
	}
	sweep_plan__free(&p);
}

static void the_seed_and_the_block_tell_the_order(void **state)
{
	struct sweep_plan p = plan_of("copies"), other = p;
	size_t a[CELLS_MAX], b[CELLS_MAX], bytes = p.count * sizeof(*a);

	(void)state;
	sweep_plan__order(&p, 1, a);
	sweep_plan__order(&p, 1, b);
	assert_memory_equal(a, b, bytes);
	sweep_plan__order(&p, 2, b);
	assert_memory_not_equal(a, b, bytes);
	other.seed++;
	sweep_plan__order(&other, 1, b);
	assert_memory_not_equal(a, b, bytes);
	sweep_plan__free(&p);
}

/* Each of 9 cells comes first in about a ninth of the blocks. */
static void every_cell_comes_first_alike(void **state)
{
	struct sweep_plan p = plan_of("servers");
	size_t order[CELLS_MAX], first[9] = {}, i;
	unsigned int block;

	(void)state;
	assert_int_equal(p.count, 9);
	for (block = 1; block <= 9000; block++) {
		sweep_plan__order(&p, block, order);
		first[order[0]]++;
	}
	for (i = 0; i < 9; i++) /* 1000, and six standard deviations of 29.8 */
		assert_in_range(first[i], 821, 1179);
	sweep_plan__free(&p);
}

static void shards_are_a_partition_that_divides_no_group(void **state)
{
	unsigned int shards, shard;
	size_t g, i, j;

	(void)state;
	for (g = 0; g < named_grid_count; g++) {
		struct sweep_plan p = plan_of(named_grids[g].name);

		for (shards = 1; shards <= 7; shards++) {
			size_t runs = 0;
			int owner[CELLS_MAX] = {};

			p.shards = shards;
			for (shard = 1; shard <= shards; shard++) {
				p.shard = shard;
				runs += sweep_plan__runs(&p);
				for (i = 0; i < p.count; i++) {
					if (!sweep_plan__mine(&p, i))
						continue;
					assert_int_equal(owner[i], 0);
					owner[i] = (int)shard;
				}
			}
			assert_int_equal(runs, p.count * p.repeats);
			for (i = 0; i < p.count; i++)
				for (j = 0; j < i; j++)
					if (p.cells[i].group == p.cells[j].group)
						assert_int_equal(owner[i], owner[j]);
		}
		sweep_plan__free(&p);
	}
}

static void a_group_differs_in_what_is_compared_alone(void **state)
{
	struct sweep_plan p = plan_of("copies");
	size_t i;

	(void)state;
	for (i = 0; i < p.count; i++) {
		const struct load *load = &p.cells[i].load, *first = &p.cells[i - i % 3].load;

		assert_int_equal(p.cells[i].group, i / 3);
		assert_int_equal(load->message_bytes, first->message_bytes);
		assert_int_equal(load->threads, first->threads);
	}
	sweep_plan__free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_grids_have_their_cells),
		cmocka_unit_test(cells_are_told_apart_by_name),
		cmocka_unit_test(what_is_there_is_not_added_again),
		cmocka_unit_test(a_block_has_every_cell_once),
		cmocka_unit_test(the_seed_and_the_block_tell_the_order),
		cmocka_unit_test(every_cell_comes_first_alike),
		cmocka_unit_test(shards_are_a_partition_that_divides_no_group),
		cmocka_unit_test(a_group_differs_in_what_is_compared_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
