/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A sweep's folder in memory, where a fuzzer writes what it is given. */
#pragma once

#include "user/sweep/sweep_private.h"
#include "user/trace/groups.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/dev/shm/sendpath-fuzz-XXXXXX";
static struct options options;
static struct sweep_plan plan;

static void remove_folder(void)
{
	static const char *const names[] = {"plan.json", "runs.jsonl", ""};
	char path[64];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		remove(path);
	}
}

/* The cells of tests/fuzz/corpus. */
static void make_folder(void)
{
	char why[256];

	options.sweep.out = mkdtemp(folder);
	options.repeat = 2;
	options.by_max = GROUPS_MAX;
	load_options__init(&options.load);
	plan = (struct sweep_plan){.repeats = 2, .shard = 1, .shards = 1, .seed = 1};
	if (!options.sweep.out ||
	    load_options__set(&options.load, "variant", "twocopy,zerocopy", why, sizeof(why)) ||
	    load_options__set(&options.load, "messages", "3", why, sizeof(why)) ||
	    load_options__set(&options.load, "warmup", "0", why, sizeof(why)) ||
	    load_options__resolve(&options.load, why, sizeof(why)) ||
	    sweep_plan__add(&plan, &options.load))
		abort();
	atexit(remove_folder);
}

static void write_file(const char *name, const uint8_t *data, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!file || fwrite(data, 1, size, file) != size || fputc('\n', file) < 0 || fclose(file))
		abort();
}
