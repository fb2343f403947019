// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/exporter.h"

#include <stdlib.h>
#include <string.h>

static bool is_named(const struct named_group *n, const char *comm, const char *cgroup)
{
	return !strncmp(n->comm, comm, COMM_MAX) && !strcmp(n->cgroup, cgroup);
}

/* Returns the sums of a name. Adds a new name if there is room; otherwise returns the rest. */
static struct named_group *find_name(struct processes *p, const char *comm, const char *cgroup)
{
	struct named_group *n = p->names, *end = n + p->found;

	while (n < end && !is_named(n, comm, cgroup))
		n++;
	if (n < end)
		return n;
	if (p->count == p->top || p->found == TOP_MAX * 2 ||
	    !strncmp(comm, PROCESSES_OTHER, COMM_MAX))
		return &p->rest;
	p->found++;
	*n = (struct named_group){};
	memcpy(n->comm, comm, COMM_MAX);
	strcpy(n->cgroup, cgroup);
	return n;
}

static void add_group(void *context, const struct group_key *key, const struct group *group)
{
	char cgroup[CGROUP_TEXT_MAX] = "";
	struct processes *p = context;
	struct group last = *group;
	struct named_group *n;

	if (p->by_cgroup)
		tracer__group_path(p->tracer, key, cgroup);
	n = find_name(p, group->comm, cgroup);
	p->seen++;
	if (group__is_over(&last, p->crowded)) {
		if (tracer__take_group(p->tracer, key, &last))
			return;
		group__add(&n->gone, &last);
	}
	group__add(&n->sums, &last);
}

static int by_bytes(const void *a, const void *b)
{
	const struct named_group *x = a, *y = b;

	int order = strncmp(x->comm, y->comm, COMM_MAX);

	if (x->sums.bytes == y->sums.bytes)
		return order ? order : strcmp(x->cgroup, y->cgroup);
	return x->sums.bytes < y->sums.bytes ? 1 : -1;
}

/* Gives the free places to the largest new names; adds the others to the rest. */
static void name_new(struct processes *p)
{
	qsort(p->names + p->count, p->found - p->count, sizeof(p->names[0]), by_bytes);
	for (; p->found > p->top; p->found--) {
		group__add(&p->rest.gone, &p->names[p->found - 1].gone);
		group__add(&p->rest.sums, &p->names[p->found - 1].sums);
	}
	p->count = p->found;
}

int processes__read(struct processes *p, struct tracer *tracer)
{
	int err;

	for (size_t i = 0; i < p->count; i++)
		p->names[i].sums = p->names[i].gone;
	p->rest.sums = p->rest.gone;
	p->tracer = tracer;
	p->crowded = p->seen > p->room / 2;
	p->seen = 0;
	err = tracer__each_group(tracer, add_group, p);
	name_new(p);
	return err;
}
