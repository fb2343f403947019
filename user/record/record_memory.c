// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The block memory: what --memory counted, system-wide, or an estimate. */
#include "user/record/record_parts.h"
#include "user/record/record_read.h"

#include <stdio.h>
#include <string.h>

#define ESTIMATED "LLC-load-misses"

/* Why a number is not there, as far as one event tells. */
static const char *status_name(const struct memory_count *c)
{
	static const char *const names[] = {"not counted", "counted", "not supported",
					    "not counted"};

	return names[c->status];
}

static json_object *event(const struct memory_asked *asked, const struct memory_count *c)
{
	json_object *o = json_object_new_object();
	bool counted = c->status == MEMORY_COUNTED;

	record__add_string(o, "event", asked->name);
	record__add_string(o, "quantity", memory_quantity_name(asked->event->quantity));
	record__add_double_if(o, "value", counted, c->value);
	record__add_string(o, "unit", c->unit[0] ? c->unit : "count");
	record__add_int_if(o, "bytes", counted, (int64_t)(c->bytes + 0.5));
	record__add_double_if(o, "running", counted, c->running);
	record__add_string(o, "status", status_name(c));
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

/* What of a quantity was counted; false with the reason. */
static bool sum(const struct memory_run *m, enum memory_quantity q, double *bytes,
		const char **reason)
{
	const struct memory_choice *c = memory__choice(m->memory);
	bool asked = false;
	size_t i;

	for (i = 0; i < c->count; i++)
		asked |= c->events[i].event->quantity == q;
	*reason = !asked	? "not supported: this machine shows no such counter"
		  : !m->counted ? m->reason
		  : m->io_reason[0] && memory_quantity_kind(q) != KIND_MEMORY
			  ? m->io_reason
			  : "not counted, events tells which";
	return asked && m->counted && memory__sum(&m->counts, c, q, bytes);
}

static void add(json_object *o, const char *key, json_object *value, const char *reason,
		struct unmeasured *u)
{
	char path[64];

	record__add(o, key, value);
	snprintf(path, sizeof(path), "memory.%s", key);
	if (!value)
		unmeasured__add(u, path, reason);
}

/* A rate or a ratio. */
static void add_number(json_object *o, const char *key, bool known, double value,
		       const char *reason, struct unmeasured *u)
{
	add(o, key, known ? json_object_new_double(value) : NULL, reason, u);
}

/* Bytes or lines: what perf scaled is rounded. */
static void add_count(json_object *o, const char *key, bool known, double value, const char *reason,
		      struct unmeasured *u)
{
	add(o, key, known ? json_object_new_int64((int64_t)(value + 0.5)) : NULL, reason, u);
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
	bool read_known, write_known, known, estimate, ends_only;
	double read, write, both;
	const char *read_reason, *write_reason, *reason, *source;
};

static void count_traffic(struct traffic *t, const struct memory_run *m)
{
	const struct memory_source *source = memory__choice(m->memory)->sources[KIND_MEMORY];

	t->read_known = sum(m, MEMORY_READ, &t->read, &t->read_reason);
	t->write_known = sum(m, MEMORY_WRITE, &t->write, &t->write_reason);
	t->known = sum(m, MEMORY_BOTH, &t->both, &t->reason);
	if (t->read_known && t->write_known) {
		t->both = t->read + t->write;
		t->known = true;
	}
	if (!t->known && source && source->events[0].quantity != MEMORY_BOTH)
		t->reason = t->read_known ? t->write_reason : t->read_reason;
	if (t->known || t->read_known || t->write_known) {
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
			t->reason = t->read_reason = t->write_reason =
				"not supported: this machine shows no counters of its memory "
				"controllers, and no LLC misses to estimate from";
		return;
	}
	t->source = ESTIMATED " x line size";
	t->estimate = t->known = t->read_known = t->ends_only = true;
	t->read = t->both = misses * line;
}

static void add_traffic(json_object *o, const struct run_result *r, struct unmeasured *u)
{
	double seconds = 0, sent = 0;
	struct traffic t = {};

	record__number(r->app, "/elapsed_s", &seconds);
	record__number(r->app, "/bytes", &sent);
	count_traffic(&t, &r->memory);
	estimate_traffic(&t, r);
	record__add_string(o, "scope", t.ends_only ? "sender and receiver" : "system");
	record__add_string(o, "source", t.source);
	record__add(o, "is_estimate", t.source ? json_object_new_boolean(t.estimate) : NULL);
	add_count(o, "read_bytes", t.read_known, t.read, t.read_reason, u);
	add_count(o, "write_bytes", t.write_known, t.write, t.write_reason, u);
	add_count(o, "bytes", t.known, t.both, t.reason, u);
	add_number(o, "read_bytes_per_s", t.read_known && seconds > 0, t.read / seconds,
		   t.read_known ? "the load did not say how long it took" : t.read_reason, u);
	add_number(o, "write_bytes_per_s", t.write_known && seconds > 0, t.write / seconds,
		   t.write_known ? "the load did not say how long it took" : t.write_reason, u);
	add_number(o, "bytes_per_byte", t.known && sent > 0, t.both / sent,
		   t.known ? "nothing was sent" : t.reason, u);
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
	double bytes, read = 0, own = 0;
	bool known, read_known, own_known;
	const char *reason;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		known = sum(&r->memory, rows[i].quantity, &bytes, &reason);
		add_count(o, rows[i].key, known, bytes / rows[i].unit, reason, u);
	}
	read_known = sum(&r->memory, IO_READ_MISSES, &read, &reason);
	own_known = sum(&r->memory, IO_OWN_MISSES, &own, &reason);
	add_count(o, "io_miss_read_bytes", read_known && own_known, read + own, reason, u);
}

json_object *record__memory(const struct run_result *r, struct unmeasured *u)
{
	json_object *o;

	if (!r->memory.memory)
		return NULL;
	o = json_object_new_object();
	add_traffic(o, r, u);
	add_io(o, r, u);
	record__add(o, "events", events(&r->memory));
	return o;
}

void record__warn_memory(const struct run_result *r,
			 void (*add)(void *list, const char *code, const char *text), void *list)
{
	struct traffic t = {};
	char text[256];

	if (!r->memory.memory)
		return;
	count_traffic(&t, &r->memory);
	estimate_traffic(&t, r);
	if (!t.source || !t.estimate)
		return;
	snprintf(text, sizeof(text), "memory: an estimate, %s: %s", t.source,
		 t.ends_only ? "prefetches, write-backs and other programs are not in it, so it "
			       "is too low"
			     : "a cache behind these may have the lines");
	add(list, "memory_estimate", text);
}
