// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* To add a grid: a row here, and one in the manual. */
#include "user/options/options_table.h"

#include <stdio.h>
#include <string.h>

/* From 1 to 32 records, as sizes of a message. */
#define RECORDS_OF_128                                                               \
	"128,256,384,512,640,768,896,1K,1152,1280,1408,1536,1664,1792,1920,2K,2176," \
	"2304,2432,2560,2688,2816,2944,3K,3200,3328,3456,3584,3712,3840,3968,4K"
#define RECORDS_OF_1K                                                             \
	"1K,2K,3K,4K,5K,6K,7K,8K,9K,10K,11K,12K,13K,14K,15K,16K,17K,18K,19K,20K," \
	"21K,22K,23K,24K,25K,26K,27K,28K,29K,30K,31K,32K"

const struct named_grid named_grids[] = {
	{"copies", {{"--variant=all", "--size=256,1K,4K,16K", "--threads=1,2,4,8"}}},
	{"sizes", {{"--variant=all", "--size=1K,4K,16K,64K,256K,1M", "--threads=1,2,4,8"}}},
	{"servers",
	 {{"--workload=procinfo", "--server-model=iterative,threaded,select",
	   "--connections=10,50,100"}}},
	{"records",
	 {{"--variant=twocopy,zerocopy", "--field-size=128", "--size=" RECORDS_OF_128,
	   "--working-set=256M", "--pick=random"},
	  {"--variant=twocopy,zerocopy", "--field-size=1K", "--size=" RECORDS_OF_1K,
	   "--working-set=256M", "--pick=random"}}},
};
const size_t named_grid_count = sizeof(named_grids) / sizeof(named_grids[0]);

const struct named_grid *grids__find(const char *name)
{
	size_t i;

	for (i = 0; i < named_grid_count; i++)
		if (!strcmp(named_grids[i].name, name))
			return &named_grids[i];
	return NULL;
}

const char *grids__names(char *text, size_t room)
{
	size_t i, used = 0;

	text[0] = 0;
	for (i = 0; i < named_grid_count && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%s", i ? ", " : "",
					 named_grids[i].name);
	return text;
}

size_t named_grid__parts(const struct named_grid *grid)
{
	size_t count = 1;

	while (count < GRID_PARTS && grid->parts[count][0])
		count++;
	return count;
}
