// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests the events of a timeline in the raw line. This file replaces libbpf's ring buffer. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include <json-c/json.h>

#include "user/trace/tracer_private.h"

/* Replaces libbpf's struct. */
struct ring_buffer {
	ring_buffer_sample_fn take;
	void *context;
} ring;

struct ring_buffer *ring_buffer__new(int map, ring_buffer_sample_fn take, void *context,
				     const struct ring_buffer_opts *opts)
{
	(void)map;
	(void)opts;
	ring = (struct ring_buffer){take, context};
	return &ring;
}

int ring_buffer__consume(struct ring_buffer *of)
{
	(void)of;
	return 0;
}

void ring_buffer__free(struct ring_buffer *of)
{
	(void)of;
}

int bpf_map__fd(const struct bpf_map *map)
{
	(void)map;
	return -1;
}

/* An interrupt reserves its place in the ring before the event that it interrupts. */
static void test_first_event_of_the_ring_is_not_the_earliest(void **state)
{
	struct timeline_event softirq = {.time = 1000, .kind = EVENT_SOFTIRQ_BEGIN},
			      send = {.time = 990, .kind = EVENT_SEND};
	struct json_object *raw, *events;
	struct timeline *t;
	int64_t begin;
	char *text;

	assert_int_equal(timeline__open(&t, NULL, 1, 0), 0);
	ring.take(ring.context, &softirq, sizeof(softirq));
	ring.take(ring.context, &send, sizeof(send));
	text = timeline__json(t, 0);
	raw = json_tokener_parse(text);
	begin = json_object_get_int64(json_object_object_get(raw, "begin_ns"));
	events = json_object_object_get(raw, "events");
	for (int i = 0; i < 2; i++) {
		struct json_object *event = json_object_array_get_idx(events, i);
		int64_t time = json_object_get_int64(json_object_array_get_idx(event, 0));

		assert_int_equal(begin + time, i ? send.time : softirq.time);
	}
	json_object_put(raw);
	free(text);
	timeline__free(t);
}

static void take(__u16 kind, __u64 time, __u32 tid, __u32 id)
{
	struct timeline_event e = {.time = time, .kind = kind, .sock = 7, .tid = tid, .id = id};

	e.sends = kind == EVENT_RETURN || kind == EVENT_COMPLETED;
	e.bytes = 10;
	ring.take(ring.context, &e, sizeof(e));
}

/* All calls are fast. The first send completes late, the second within its call, the third soon. */
static void test_a_zerocopy_send_is_slow_if_its_completion_is(void **state)
{
	struct json_object *raw;
	struct timeline *t;
	char *text;

	assert_int_equal(timeline__open(&t, NULL, 10, 1000), 0);
	take(EVENT_SEND, 100, 1, 0);
	take(EVENT_RETURN, 110, 1, 5);
	take(EVENT_SEND, 200, 2, 0);
	take(EVENT_COMPLETED, 205, 2, 6);
	take(EVENT_RETURN, 210, 2, 6);
	take(EVENT_SEND, 300, 1, 0);
	take(EVENT_RETURN, 310, 1, 7);
	take(EVENT_COMPLETED, 320, 0, 7);
	assert_true(timeline__read(t));
	take(EVENT_COMPLETED, 5000, 0, 5);
	text = timeline__json(t, 0);
	raw = json_tokener_parse(text);
	assert_int_equal(json_object_array_length(json_object_object_get(raw, "events")), 3);
	json_object_put(raw);
	free(text);
	timeline__free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_zerocopy_send_is_slow_if_its_completion_is),
		cmocka_unit_test(test_first_event_of_the_ring_is_not_the_earliest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
