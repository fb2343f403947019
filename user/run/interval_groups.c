// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/interval_groups.h"

#include "user/system/front.h"
#include "user/trace/tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROW_MAX	  8192 /* bytes of a group's JSON, at most: each byte of its path may take six */
#define ROWS_ROOM (FRONT_OFFER_MAX - 2 * ROW_MAX)

void interval_groups__begin(struct interval_groups *g)
{
	g->sent.count = 0;
	g->rest_sent = (struct group_counts){};
}

/*
 * Removes groups of ended processes. A group that changed stays, because it may change again.
 * Counts that a removed group gained after it was read are added to the rest of the next line. The
 * last group moves to the place of the removed group.
 */
static void remove_ended(struct interval_groups *g, struct tracer *tracer)
{
	struct group_list *list = &g->sent;
	struct group last;

	for (size_t i = list->count; i-- > 0;) {
		if (list->of[i].changed || !group__is_over(&list->of[i].counts, true) ||
		    tracer__take_group(tracer, &list->of[i].key, &last))
			continue;
		if (group__subtract(&last, &list->of[i].counts))
			group__subtract(&g->rest_sent.counts, &last);
		list->of[i] = list->of[--list->count];
	}
}

void interval_groups__sent(struct interval_groups *g, struct tracer *tracer)
{
	struct group_list before = g->sent;

	g->sent = g->now;
	g->now = before;
	g->rest_sent = g->rest_now;
	if (g->sent.count > g->room / 2)
		remove_ended(g, tracer);
}

void interval_groups__free(struct interval_groups *g)
{
	free(g->now.of);
	free(g->sent.of);
}

static void append_group(void *context, const struct group_key *key, const struct group *group)
{
	struct interval_groups *g = context;
	struct group_list *now = &g->now;
	size_t room = now->room ? 2 * now->room : 256;
	struct group_counts *more = now->of;

	if (now->count == now->room) {
		more = reallocarray(now->of, room, sizeof(*more));
		if (!more) {
			g->err = -ENOMEM;
			return;
		}
		now->of = more;
		now->room = room;
	}
	more[now->count++] = (struct group_counts){.key = *key, .counts = *group};
}

static int by_key(const void *a, const void *b)
{
	const struct group_counts *x = a, *y = b;

	return memcmp(&x->key, &y->key, sizeof(x->key));
}

/* Largest first. */
static int by_change(const void *a, const void *b)
{
	const struct group_counts *x = a, *y = b;

	if (x->change.bytes != y->change.bytes)
		return x->change.bytes < y->change.bytes ? 1 : -1;
	if (x->change.sends != y->change.sends)
		return x->change.sends < y->change.sends ? 1 : -1;
	return by_key(a, b);
}

/* Leaves out the receiver: it is that of the group's first send, not of the change. */
static void set_change(struct group_counts *one, const struct group_counts *before)
{
	static const struct group none;

	one->change = one->counts;
	one->change.family = one->change.addresses = 0;
	memset(one->change.address, 0, sizeof(one->change.address));
	one->changed = group__subtract(&one->change, before ? &before->counts : &none);
}

/* Both lists are ordered by key. */
static void set_changes(struct group_list *now, const struct group_list *sent)
{
	const struct group_counts *before = sent->of, *end = before + sent->count;
	struct group_counts *one;

	for (one = now->of; one < now->of + now->count; one++) {
		while (before < end && by_key(before, one) < 0)
			before++;
		set_change(one, before < end && !by_key(before, one) ? before : NULL);
	}
}

static void sort_groups(struct group_list *list, int (*order)(const void *, const void *))
{
	if (list->count)
		qsort(list->of, list->count, sizeof(*list->of), order);
}

static int read_groups(struct interval_groups *g, struct tracer *tracer)
{
	int err;

	g->now.count = 0;
	g->err = 0;
	err = tracer__each_group(tracer, append_group, g);
	if (err || g->err)
		return err ? err : g->err;
	g->rest_now = (struct group_counts){.counts = *tracer__groups_rest(tracer)};
	set_change(&g->rest_now, &g->rest_sent);
	sort_groups(&g->now, by_key);
	sort_groups(&g->sent, by_key);
	set_changes(&g->now, &g->sent);
	sort_groups(&g->now, by_change);
	return 0;
}

static void write_groups(const struct interval_groups *g, struct tracer *tracer, FILE *out)
{
	struct group_counts rest = g->rest_now, *one;
	const char *separator = "";

	fprintf(out, "{\"groups\":[");
	for (one = g->now.of; one < g->now.of + g->now.count; one++) {
		if (one->changed && ftell(out) > ROWS_ROOM) {
			group__add(&rest.change, &one->change);
		} else if (one->changed) {
			fprintf(out, "%s", separator);
			tracer__write_group(tracer, &one->key, &one->change, out);
			separator = ",";
		}
	}
	fprintf(out, "],\"rest\":");
	tracer__write_group(tracer, &rest.key, &rest.change, out);
	fputc('}', out);
}

char *interval_groups__read(struct interval_groups *g, struct tracer *tracer)
{
	char *text = NULL;
	size_t size;
	FILE *out = read_groups(g, tracer) ? NULL : open_memstream(&text, &size);

	if (!out)
		return NULL;
	write_groups(g, tracer, out);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}
