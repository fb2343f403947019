// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/processes.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Sums of one name. */
struct named {
	char comm[COMM_MAX];
	struct group gone; /* of groups that were removed */
	struct group live; /* of those that are there */
};

struct processes {
	size_t top, count, room;
	size_t seen; /* groups, by this reading */
	bool crowded;
	struct named rest;
	struct named new_names[TOP_MAX]; /* that this reading met first */
	size_t new_count;
	struct tracer *tracer; /* while it reads */
	struct named names[TOP_MAX];
};

struct processes *processes__new(size_t top, size_t room)
{
	struct processes *p = calloc(1, sizeof(*p));

	if (p) {
		p->top = top;
		p->room = room;
	}
	return p;
}

void processes__free(struct processes *p)
{
	free(p);
}

static struct named *find_name(struct named *names, size_t count, const char *comm)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strncmp(names[i].comm, comm, COMM_MAX))
			return &names[i];
	return NULL;
}

/* Where to count it: names that are new are found here, too, while there is room for names. */
static struct named *named(struct processes *p, const char *comm)
{
	struct named *n = find_name(p->names, p->count, comm);

	if (!n && p->count < p->top && strncmp(comm, PROCESSES_OTHER, COMM_MAX)) {
		n = find_name(p->new_names, p->new_count, comm);
		if (!n && p->new_count < TOP_MAX) {
			n = &p->new_names[p->new_count++];
			*n = (struct named){};
			memcpy(n->comm, comm, COMM_MAX);
		}
	}
	return n ? n : &p->rest;
}

/*
 * Its process has gone, and all its sends are complete. Where there is hardly room for new ones
 * this does not wait for completions, which the rest counts then; and of a process that has no id
 * here, nobody knows whether it lives: it gets a new group.
 */
static bool is_over(const struct processes *p, const struct group *g)
{
	bool gone = g->pid && kill((pid_t)g->pid, 0) && errno == ESRCH;

	if (p->crowded)
		return gone || !g->pid;
	return gone && g->completions + g->ignored + g->refused >= g->requests;
}

static int see(void *context, const struct group_row *row)
{
	struct processes *p = context;
	struct named *n = named(p, row->group.comm);
	struct group last;

	p->seen++;
	if (!is_over(p, &row->group))
		group__add(&n->live, &row->group);
	else if (!tracer__take_group(p->tracer, &row->key, &last))
		group__add(&n->gone, &last);
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	__u64 of_x = x->gone.bytes + x->live.bytes, of_y = y->gone.bytes + y->live.bytes;

	return of_x == of_y ? strncmp(x->comm, y->comm, COMM_MAX) : of_x < of_y ? 1 : -1;
}

/* The largest get what room there is for names. That of the others is the rest's for ever. */
static void name_new(struct processes *p)
{
	size_t i;

	qsort(p->new_names, p->new_count, sizeof(p->new_names[0]), by_bytes);
	for (i = 0; i < p->new_count; i++) {
		if (p->count < p->top) {
			p->names[p->count++] = p->new_names[i];
			continue;
		}
		group__add(&p->rest.gone, &p->new_names[i].gone);
		group__add(&p->rest.live, &p->new_names[i].live);
	}
}

int processes__read(struct processes *p, struct tracer *tracer, const struct group *rest)
{
	size_t i;
	int err;

	for (i = 0; i < p->count; i++)
		p->names[i].live = (struct group){};
	p->rest.live = *rest;
	p->tracer = tracer;
	p->new_count = 0;
	p->crowded = p->seen > p->room / 2;
	p->seen = 0;
	err = tracer__each_group(tracer, see, p);
	name_new(p);
	return err;
}

const char *processes__get(const struct processes *p, size_t i, struct group *sums)
{
	const struct named *n = i < p->count ? &p->names[i] : &p->rest;

	if (i > p->count)
		return NULL;
	*sums = n->gone;
	group__add(sums, &n->live);
	return i < p->count ? n->comm : PROCESSES_OTHER;
}
