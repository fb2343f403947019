// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/options/options.h"
#include "user/options/options_table.h"

#include "common/program.h"
#include "common/units.h"

#include <string.h>

static void take_shard(struct sweep_options *o, const char *value, struct argp_state *state)
{
	const char *slash = strchr(value, '/');
	unsigned long long shard = 0, shards = 0;
	char first[16] = "";

	if (slash && slash - value < (long)sizeof(first))
		memcpy(first, value, (size_t)(slash - value));
	if (!slash || units__count(first, &shard) || units__count(slash + 1, &shards) || !shard ||
	    shard > shards || shards > SHARDS_MAX)
		program__refuse(state, "--shard %s: give I/N, from 1/N to N/N, such as 2/3", value);
	o->shard = (unsigned int)shard;
	o->shards = (unsigned int)shards;
}

static void take_order(struct sweep_options *o, const char *value, struct argp_state *state)
{
	unsigned long long number;

	if (units__count(value, &number) || number > UINT32_MAX)
		program__refuse(state, "--order-seed %s: give a whole number from 0 to 4294967295",
				value);
	o->order = (uint32_t)number;
	o->order_given = true;
}

void options__take_sweep(struct options *o, int key, const char *value, struct argp_state *state)
{
	char names[128];

	if (!o->sweep.given)
		program__refuse(state, "--%s: belongs to sweep: analyze sweep --out DIR",
				options__name(key));
	if (key == OPT_GRID && !grids__find(value))
		program__refuse(state, "--grid %s: unknown; there are %s", value,
				grids__names(names, sizeof(names)));
	if (key == OPT_OUT && !value[0])
		program__refuse(state, "--out: give the name of a folder");
	if (key == OPT_GRID)
		o->sweep.grid = value;
	else if (key == OPT_OUT)
		o->sweep.out = value;
	else if (key == OPT_ORDER_SEED)
		take_order(&o->sweep, value, state);
	else if (key == OPT_SHARD)
		take_shard(&o->sweep, value, state);
	else
		o->sweep.retry = true;
}

void options__check_sweep(const struct options *o, struct argp_state *state)
{
	if (!o->sweep.out)
		program__refuse(state,
				"--out is missing: name a folder for the records of the sweep");
	if (o->target.given)
		program__refuse(state, "sweep runs loads: it goes with no program to observe");
	if (o->json)
		program__refuse(state, "--json %s: a sweep writes its records to --out", o->json);
	if (o->interval > 0)
		program__refuse(state, "--interval: a sweep has a line of its own, leave it out");
}
