// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/sweep/sweep_plan.h"

#include "user/record/record_parts.h"

#include "common/mix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sweep_plan__add(struct sweep_plan *p, const struct load_options *grid)
{
	size_t i, cells = load_options__cells(grid), compared = load_options__compared(grid);
	size_t first = p->count ? p->cells[p->count - 1].group + 1 : 0;
	struct sweep_cell *grown, *cell;

	grown = reallocarray(p->cells, p->count + cells, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	p->cells = grown;
	for (i = 0; i < cells; i++) {
		cell = &p->cells[p->count];
		cell->load = load_options__nth(grid, i);
		cell->group = first + i / compared;
		record__cell_name(&cell->load, cell->name, sizeof(cell->name));
		if (p->as_listed || sweep_plan__find(p, cell->name) < 0)
			p->count++;
	}
	return 0;
}

void sweep_plan__free(struct sweep_plan *p)
{
	free(p->cells);
	p->cells = NULL;
	p->count = 0;
}

/* Below bound, all alike likely: what a multiple of it does not cover is drawn again. */
static size_t draw(uint64_t *state, size_t bound)
{
	uint64_t rest = UINT64_MAX % bound + 1, number;

	do {
		*state += MIX_STEP;
		number = mix(*state);
	} while (rest != bound && number > UINT64_MAX - rest);
	return number % bound;
}

void sweep_plan__order(const struct sweep_plan *p, unsigned int block, size_t *order)
{
	uint64_t state = mix((uint64_t)p->seed << 32 | block);
	size_t i, other, swapped;

	for (i = 0; i < p->count; i++)
		order[i] = i;
	for (i = p->as_listed ? 0 : p->count; i > 1; i--) {
		other = draw(&state, i);
		swapped = order[i - 1];
		order[i - 1] = order[other];
		order[other] = swapped;
	}
}

bool sweep_plan__mine(const struct sweep_plan *p, size_t cell)
{
	return p->cells[cell].group % p->shards == p->shard - 1;
}

size_t sweep_plan__runs(const struct sweep_plan *p)
{
	size_t i, cells = 0;

	for (i = 0; i < p->count; i++)
		cells += sweep_plan__mine(p, i);
	return cells * p->repeats;
}

long sweep_plan__find(const struct sweep_plan *p, const char *name)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		if (!strcmp(p->cells[i].name, name))
			return (long)i;
	return -1;
}
