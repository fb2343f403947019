// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/tracer_private.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KEPT_MAX  (256 << 10) /* events */
#define OPEN_MAX  1024	      /* sends in progress */
#define AWAIT_MAX 4096	      /* zero-copy sends at once that have returned, but not completed */

/* The beginning and end of a send. */
struct timed_send {
	struct timeline_event begin, end; /* until the send returns, end.time is the greatest */
};

struct timeline {
	struct ring_buffer *ring;
	unsigned int sends;
	__u64 slower_ns;
	size_t count, open_count, await_count, slow_count;
	size_t kept;	/* events that the most recent keep_slow() kept */
	__u64 left_out; /* events without room here */
	struct timed_send open[OPEN_MAX], await[AWAIT_MAX], *slow;
	struct timeline_event events[KEPT_MAX];
};

/* Returns whether the event belongs to the send. Sequence numbers and ids wrap around. */
static bool is_of(const struct timeline_event *e, const struct timed_send *s)
{
	if (e->kind == EVENT_RECEIVED)
		return e->ports == s->begin.ports &&
		       (__s32)(e->seq - s->begin.seq) < s->end.bytes &&
		       (__s32)(s->begin.seq - e->seq) < e->bytes;
	if (e->time < s->begin.time)
		return false;
	if (e->sends && e->kind != EVENT_RETURN)
		return e->sock == s->begin.sock && (!s->end.sends || s->end.id - e->id < e->sends);
	return (e->kind == EVENT_SWITCH_IN ? e->to : e->tid) == s->begin.tid &&
	       e->time <= s->end.time;
}

static bool is_of_any(const struct timeline_event *e, const struct timed_send *all, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_of(e, &all[i]))
			return true;
	return false;
}

/* Keeps the events of slow sends and of sends that may become slow. */
static void keep_slow(struct timeline *t)
{
	struct timeline_event *e;
	size_t i, kept = 0;

	for (i = 0; i < t->count; i++) {
		e = &t->events[i];
		if (is_of_any(e, t->slow, t->slow_count) || is_of_any(e, t->open, t->open_count) ||
		    is_of_any(e, t->await, t->await_count))
			t->events[kept++] = *e;
	}
	t->count = t->kept = kept;
}

/* Returns whether the send is slow if it lasts until this time. */
static bool is_slow(const struct timeline *t, const struct timed_send *s, __u64 time)
{
	return time - s->begin.time > t->slower_ns && t->slow_count < t->sends;
}

/* Ends the wait for the zero-copy sends whose completion the event reports. Keeps slow ones. */
static void complete(struct timeline *t, const struct timeline_event *e)
{
	size_t i, left = 0;

	for (i = 0; i < t->await_count; i++) {
		if (!is_of(e, &t->await[i]))
			t->await[left++] = t->await[i];
		else if (is_slow(t, &t->await[i], e->time))
			t->slow[t->slow_count++] = t->await[i];
	}
	t->await_count = left;
}

/* Returns whether an event since the beginning of the send reports its completion. */
static bool has_completed(const struct timeline *t, const struct timed_send *s)
{
	const struct timeline_event *e = t->events + t->count;

	while (e > t->events && (--e)->time >= s->begin.time)
		if (e->kind == EVENT_COMPLETED && is_of(e, s))
			return true;
	return false;
}

/* Follows the begin or end of a send. A thread is in one send at a time. */
static void follow(struct timeline *t, const struct timeline_event *e)
{
	struct timed_send *s = t->open;

	while (s < t->open + t->open_count && s->begin.tid != e->tid)
		s++;
	if (e->kind == EVENT_SEND) {
		if (s == t->open + OPEN_MAX)
			return;
		*s = (struct timed_send){*e, {.time = UINT64_MAX, .bytes = e->bytes}};
		t->open_count += s == t->open + t->open_count;
		return;
	}
	if (s == t->open + t->open_count)
		return;
	s->end = *e;
	if (is_slow(t, s, e->time))
		t->slow[t->slow_count++] = *s;
	else if (e->sends && t->await_count < AWAIT_MAX && !has_completed(t, s))
		t->await[t->await_count++] = *s;
	*s = t->open[--t->open_count];
}

static int take_event(void *context, void *data, size_t size)
{
	const struct timeline_event *e = data;
	struct timeline *t = context;

	if (size < sizeof(*e))
		return 0;
	if (t->slower_ns && (e->kind == EVENT_SEND || e->kind == EVENT_RETURN))
		follow(t, e);
	else if (t->slower_ns && e->kind == EVENT_COMPLETED)
		complete(t, e);
	/* If most of the kept events belong to slow sends, this is not done at each event. */
	if (t->count == KEPT_MAX && t->slower_ns && t->count - t->kept > KEPT_MAX / 8)
		keep_slow(t);
	if (t->count == KEPT_MAX)
		t->left_out++;
	else
		t->events[t->count++] = *e;
	return 0;
}

int timeline__open(struct timeline **out, const struct bpf_map *ring, unsigned int sends,
		   __u64 slower_ns)
{
	struct timeline *t = calloc(1, sizeof(*t));
	int err = -ENOMEM;

	*out = NULL;
	if (!t)
		return err;
	t->sends = sends;
	t->slower_ns = slower_ns;
	t->slow = calloc(sends, sizeof(*t->slow));
	if (t->slow) {
		errno = 0;
		t->ring = ring_buffer__new(bpf_map__fd(ring), take_event, t, NULL);
		err = t->ring ? 0 : -errno;
	}
	if (err)
		timeline__free(t);
	else
		*out = t;
	return err;
}

void timeline__free(struct timeline *t)
{
	if (!t)
		return;
	ring_buffer__free(t->ring);
	free(t->slow);
	free(t);
}

void timeline__clear(struct timeline *t)
{
	ring_buffer__consume(t->ring);
	t->count = t->kept = t->open_count = t->await_count = t->slow_count = 0;
	t->left_out = 0;
}

bool timeline__read(struct timeline *t)
{
	ring_buffer__consume(t->ring);
	return !t->slower_ns || t->slow_count < t->sends;
}

/*
 * Writes events as analysis/derive/timeline.py names them; times are ns after the first event. If
 * an interrupt comes after a program has read the clock for an event, and before the event has its
 * place in the ring, the interrupt's events precede it with later times.
 */
static void write_events(FILE *out, const struct timeline *t)
{
	for (const struct timeline_event *e = t->events; e < t->events + t->count; e++)
		fprintf(out, "%s[%lld,%u,%llu,%u,%u,%u,%u,%lld,%u,%u]", e > t->events ? "," : "",
			(__s64)(e->time - t->events[0].time), e->kind, e->sock, e->cpu, e->tid,
			e->id, e->sends, e->bytes, e->detail, e->lost);
}

/* Writes ids and names of threads, some of them repeatedly. */
static void write_names(FILE *out, const struct timeline *t)
{
	const struct timeline_event *e, *last = NULL;

	for (e = t->events; e < t->events + t->count; e++) {
		if (last && last->tid == e->tid)
			continue;
		fprintf(out, "%s[%u,", last ? "," : "", e->tid);
		dump__text(out, e->comm, sizeof(e->comm));
		fputc(']', out);
		last = e;
	}
}

char *timeline__json(struct timeline *t, __u64 lost)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (t->slower_ns)
		keep_slow(t);
	fprintf(out,
		"{\"sends\":%u,\"slower_than_ns\":%llu,\"lost\":%llu,\"left_out\":%llu,"
		"\"begin_ns\":%llu,\"events\":[",
		t->sends, t->slower_ns, lost, t->left_out, t->count ? t->events[0].time : 0);
	write_events(out, t);
	fprintf(out, "],\"threads\":[");
	write_names(out, t);
	fprintf(out, "]}");
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
