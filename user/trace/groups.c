// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The groups of sends. What they can be grouped by is also in enum group_by and key__reduce() of
 * bpf/, in analysis/derive/groups.py and in analysis/text/groups.py.
 */
#include "user/trace/groups.h"

#include "common/program.h"
#include "common/units.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The names of the bits of enum group_by. */
static const char *const dimensions[] = {"process", "device", "port", "cgroup"};
_Static_assert(BY_PROCESS == 1 && BY_DEVICE == 2 && BY_PORT == 4 && BY_CGROUP == 8,
	       "names are in this order");
#define DIMENSIONS (sizeof(dimensions) / sizeof(dimensions[0]))

const char *groups__parse(const char *list, unsigned int *by)
{
	char item[UNITS_ITEM_MAX];
	const char *cursor = list;
	int taken;
	size_t i;

	*by = 0;
	while ((taken = units__next(&cursor, item)) > 0) {
		for (i = 0; i < DIMENSIONS && strcmp(item, dimensions[i]); i++)
			;
		if (i == DIMENSIONS)
			break;
		*by |= 1u << i;
	}
	return taken ? "give a list of process, device, port, cgroup" : NULL;
}

const char *group_by_name(enum group_by one)
{
	return dimensions[__builtin_ctz(one)];
}

bool groups__has_cgroup2(void)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	bool found = false;
	char line[4096];

	/* The kernel lists this hierarchy, without a number, if it was mounted. */
	while (file && !found && fgets(line, sizeof(line), file))
		found = !strncmp(line, "0::", 3);
	if (file)
		fclose(file);
	return found;
}

void groups__path(const struct cgroup_path *path, char *text, size_t size)
{
	const char *names = path->names, *end = names + strlen(names), *begin;

	text[0] = '\0';
	if (!path->whole)
		return;
	if (end == names)
		snprintf(text, size, "/");
	/* The last name is the outermost. A slash follows each name. */
	for (; end > names; end = begin) {
		for (begin = end - 1; begin > names && begin[-1] != '/'; begin--)
			;
		text__append(text, size, "/%.*s", (int)(end - 1 - begin), begin);
	}
}

bool group__is_over(const struct group *g, bool crowded)
{
	bool gone = g->pid && kill((pid_t)g->pid, 0) && errno == ESRCH;

	if (crowded)
		return gone || !g->pid;
	return gone && g->completions + g->ignored + g->refused >= g->requests;
}

/* Adds the members from begin to end, each a word, times a factor. Returns whether any is not 0. */
static bool add_words(struct group *to, const struct group *from, __s64 factor, size_t begin,
		      size_t end)
{
	const __u64 *counts = (const __u64 *)from;
	__u64 *sums = (__u64 *)to, any = 0;

	for (size_t i = begin / sizeof(*sums); i < end / sizeof(*sums); i++) {
		sums[i] += (__u64)factor * counts[i];
		any |= sums[i];
	}
	return any;
}

static bool add_counts(struct group *to, const struct group *from, __s64 factor)
{
	bool sends = add_words(to, from, factor, 0, offsetof(struct group, address));

	return add_words(to, from, factor, offsetof(struct group, completions), sizeof(*to)) ||
	       sends;
}

void group__add(struct group *to, const struct group *from)
{
	add_counts(to, from, 1);
}

bool group__subtract(struct group *from, const struct group *what)
{
	return add_counts(from, what, -1);
}
