// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The block memory: what --memory counted, system-wide, or an estimate. */
#include "user/record/record_parts.h"
#include "user/record/record_read.h"

#include <stdio.h>
#include <string.h>

#define ESTIMATED "LLC-load-misses"

static json_object *event(const struct memory_asked *asked, const struct memory_count *c)
{
	static const char *const statuses[] = {"not counted", "counted", "not supported",
					       "not counted"};
	json_object *o = json_object_new_object();
	bool counted = c->status == MEMORY_COUNTED;

	record__add_string(o, "event", asked->name);
	record__add_string(o, "quantity", memory_quantity_name(asked->event->quantity));
	record__add_double_if(o, "value", counted, c->value);
	record__add_string(o, "unit", c->unit[0] ? c->unit : "count");
	record__add_int_if(o, "bytes", counted, (int64_t)(c->bytes + 0.5));
	record__add_double_if(o, "running", counted, c->running);
	record__add_string(o, "status", statuses[c->status]);
	return o;
}

static json_object *events(const struct memory_run *m)
{
	const struct memory_choice *c = memory__choice(m->memory);
	json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; m->counted && i < c->count; i++)
		json_object_array_add(list, event(&c->events[i], &m->counts.events[i]));
	return list;
}

/* What of a quantity was counted, or why it is not known. */
struct amount {
	bool known;
	double value;
	const char *reason;
};

static struct amount sum(const struct memory_run *m, enum memory_quantity q)
{
	struct amount a = {};
	const struct memory_choice *c = memory__choice(m->memory);
	bool asked = false;
	size_t i;

	for (i = 0; i < c->count; i++)
		asked |= c->events[i].event->quantity == q;
	a.reason = !asked	 ? "not supported: this machine shows no such counter"
		   : !m->counted ? m->reason
		   : m->io_reason[0] && memory_quantity_kind(q) != KIND_MEMORY
			   ? m->io_reason
			   : "not counted, events tells which";
	a.known = asked && m->counted && memory__sum(&m->counts, c, q, &a.value);
	return a;
}

/* The reason is why the other number is not known. */
static void add_ratio(json_object *o, const char *key, struct amount a, double by,
		      const char *reason, struct unmeasured *u)
{
	record__add_measured(o, "memory", key,
			     a.known && by > 0 ? json_object_new_double(a.value / by) : NULL,
			     a.known ? reason : a.reason, u);
}

/* Bytes or lines: what perf scaled is rounded. */
static void add_count(json_object *o, const char *key, struct amount a, struct unmeasured *u)
{
	record__add_measured(o, "memory", key,
			     a.known ? json_object_new_int64((int64_t)(a.value + 0.5)) : NULL,
			     a.reason, u);
}

/* Demand misses of both ends, as far as there are two here. */
static bool llc_misses(const struct run_result *r, double *misses)
{
	const struct run_side *sides[] = {&r->sender, &r->receiver};
	bool any = false;
	size_t i, j;

	*misses = 0;
	for (i = 0; i < 2; i++)
		for (j = 0; j < sides[i]->count; j++) {
			const struct counter_value *v = &sides[i]->values[j];

			if (strcmp(v->event, ESTIMATED))
				continue;
			if (v->status != COUNTER_COUNTED)
				return false;
			*misses += v->value;
			any = true;
		}
	return any;
}

/* Read, written and both, with the rates, and by byte sent. */
struct traffic {
	struct amount read, write, both;
	bool estimate, ends_only;
	const char *source;
};

static void count_traffic(struct traffic *t, const struct memory_run *m)
{
	const struct memory_source *source = memory__choice(m->memory)->sources[KIND_MEMORY];

	t->read = sum(m, MEMORY_READ);
	t->write = sum(m, MEMORY_WRITE);
	t->both = sum(m, MEMORY_BOTH);
	if (t->read.known && t->write.known) {
		t->both.value = t->read.value + t->write.value;
		t->both.known = true;
	}
	if (!t->both.known && source && source->events[0].quantity != MEMORY_BOTH)
		t->both.reason = t->read.known ? t->write.reason : t->read.reason;
	if (t->both.known || t->read.known || t->write.known) {
		t->source = source->name;
		t->estimate = source->estimate;
	}
}

/* A lower bound: prefetches, write-backs and everybody else are not in it. */
static void estimate_traffic(struct traffic *t, const struct run_result *r)
{
	unsigned int line = memory__line(r->memory.memory);
	double misses;

	if (t->source)
		return;
	if (!line || !llc_misses(r, &misses)) {
		if (!memory__choice(r->memory.memory)->sources[KIND_MEMORY])
			t->both.reason = t->read.reason = t->write.reason =
				"not supported: this machine shows no counters of its memory "
				"controllers, and no LLC misses to estimate from";
		return;
	}
	t->source = ESTIMATED " x line size";
	t->estimate = t->both.known = t->read.known = t->ends_only = true;
	t->read.value = t->both.value = misses * line;
}

static void add_traffic(json_object *o, const struct run_result *r, struct unmeasured *u)
{
	static const char no_time[] = "the load did not say how long it took";
	double seconds = 0, sent = 0;
	struct traffic t = {};

	record__number(r->app, "/elapsed_s", &seconds);
	record__number(r->app, "/bytes", &sent);
	count_traffic(&t, &r->memory);
	estimate_traffic(&t, r);
	record__add_string(o, "scope", t.ends_only ? "sender and receiver" : "system");
	record__add_string(o, "source", t.source);
	json__add(o, "is_estimate", t.source ? json_object_new_boolean(t.estimate) : NULL);
	add_count(o, "read_bytes", t.read, u);
	add_count(o, "write_bytes", t.write, u);
	add_count(o, "bytes", t.both, u);
	add_ratio(o, "read_bytes_per_s", t.read, seconds, no_time, u);
	add_ratio(o, "write_bytes_per_s", t.write, seconds, no_time, u);
	add_ratio(o, "bytes_per_byte", t.both, sent, "nothing was sent", u);
}

static void add_io(json_object *o, const struct run_result *r, struct unmeasured *u)
{
	static const struct {
		const char *key;
		enum memory_quantity quantity;
		double unit;
	} rows[] = {{"io_read_misses", IO_READ_MISSES, MEMORY_LINE},
		    {"io_write_misses", IO_WRITE_MISSES, MEMORY_LINE},
		    {"io_own_misses", IO_OWN_MISSES, MEMORY_LINE},
		    {"io_in_bytes", IO_IN, 1},
		    {"io_out_bytes", IO_OUT, 1}};
	struct amount a, read;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		a = sum(&r->memory, rows[i].quantity);
		a.value /= rows[i].unit;
		add_count(o, rows[i].key, a, u);
	}
	read = sum(&r->memory, IO_READ_MISSES);
	a = sum(&r->memory, IO_OWN_MISSES);
	a.value += read.value;
	a.known &= read.known;
	add_count(o, "io_miss_read_bytes", a, u);
}

json_object *record__memory(const struct run_result *r, struct unmeasured *u)
{
	json_object *o;

	if (!r->memory.memory)
		return NULL;
	o = json_object_new_object();
	add_traffic(o, r, u);
	add_io(o, r, u);
	json__add(o, "events", events(&r->memory));
	return o;
}
