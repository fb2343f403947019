// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/tracer_private.h"

#include "common/json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct profile {
	struct perf_event_attr event;
	size_t count; /* number of links: a CPU that is offline has none */
	struct bpf_link *links[];
};

/* Samples a CPU, unless it is offline. 0 or -errno. */
static int attach_cpu(struct profile *p, const struct bpf_program *program, int cpu)
{
	struct perf_event_attr software = p->event;
	struct bpf_link *link;
	int fd, err;

	software.type = PERF_TYPE_SOFTWARE;
	software.config = PERF_COUNT_SW_CPU_CLOCK;
	fd = counters__open_event(&p->event, -1, cpu, -1);
	if (fd < 0 && p->event.type == PERF_TYPE_HARDWARE && errno != EMFILE && errno != EINVAL) {
		fd = counters__open_event(&software, -1, cpu, -1);
		if (fd >= 0)
			p->event = software;
	}
	if (fd < 0)
		return errno == ENODEV ? 0 : -errno;
	link = bpf_program__attach_perf_event(program, fd);
	if (!link) {
		err = -errno;
		close(fd);
		return err;
	}
	p->links[p->count++] = link;
	return 0;
}

int profile__attach(struct profile **out, const struct bpf_program *program, unsigned int hz,
		    struct failure *f)
{
	int cpu, err = 0, cpus = libbpf_num_possible_cpus();
	struct profile *p =
		cpus < 0 ? NULL : calloc(1, sizeof(*p) + sizeof(*p->links) * (size_t)cpus);

	if (!p)
		return cpus < 0 ? cpus : -ENOMEM;
	p->event = (struct perf_event_attr){.size = sizeof(p->event),
					    .type = PERF_TYPE_HARDWARE,
					    .config = PERF_COUNT_HW_CPU_CYCLES,
					    .freq = 1,
					    .sample_freq = hz};
	for (cpu = 0; cpu < cpus && !err; cpu++)
		err = attach_cpu(p, program, cpu);
	if (!err && !p->count)
		err = -ENODEV;
	if (err)
		profile__detach(p);
	else
		*out = p;
	return failure__set(
		f, STATUS_SYSTEM, err, "--profile=%u: the kernel samples no CPU: %s", hz,
		err == -EINVAL ? "above kernel.perf_event_max_sample_rate" : strerror(-err));
}

void profile__detach(struct profile *p)
{
	while (p && p->count)
		bpf_link__destroy(p->links[--p->count]);
	free(p);
}

struct sampled {
	struct profile_key key;
	struct profile_stack stack;
};

/* Returns all pairs of the map, which the caller frees; NULL: out of memory. */
static struct sampled *read_stacks(const struct bpf_map *map, size_t *count)
{
	struct sampled *all = calloc(PROFILE_STACKS_MAX, sizeof(*all)), *s;
	const struct profile_key *before = NULL;

	*count = 0;
	while (all && *count < PROFILE_STACKS_MAX) {
		s = &all[*count];
		if (bpf_map__get_next_key(map, before, &s->key, sizeof(s->key)))
			break;
		before = &s->key;
		if (bpf_map__lookup_elem(map, &s->key, sizeof(s->key), &s->stack, sizeof(s->stack),
					 0))
			break; /* the gate is closed, so no element is removed */
		(*count)++;
	}
	return all;
}

/*
 * Returns the address of a frame. For a caller it is the address of the call, because the next
 * instruction may belong to another function.
 */
static __u64 frame_address(const struct profile_stack *stack, size_t frame)
{
	return stack->functions[frame] - (frame > 0);
}

/* Returns the addresses of all frames, which the caller frees; NULL: out of memory. */
static struct kernel_address *addresses_of(const struct sampled *all, size_t count, size_t *found)
{
	struct kernel_address *addresses;
	size_t i, frame, n = 0;

	for (i = 0; i < count; i++)
		n += all[i].stack.depth;
	addresses = calloc(n + 1, sizeof(*addresses));
	*found = n;
	for (i = n = 0; addresses && i < count; i++)
		for (frame = 0; frame < all[i].stack.depth; frame++)
			addresses[n++].address = frame_address(&all[i].stack, frame);
	return addresses;
}

static json_object *stack_json(const struct sampled *s, const struct kernel_address *addresses,
			       size_t count)
{
	json_object *o = json_object_new_object(), *frames = json_object_new_array();
	const struct kernel_address *found;

	json__add_count(o, "slot", s->key.slot);
	json__add_count(o, "role", s->key.role);
	json__add_count(o, "samples", s->stack.samples);
	for (size_t i = 0; i < s->stack.depth; i++) {
		found = kernel_address__find(addresses, count, frame_address(&s->stack, i));
		json_object_array_add(frames, json_object_new_int64(found - addresses));
	}
	json__add(o, "frames", frames);
	return o;
}

json_object *profile__json(const struct profile *p, const struct bpf_map *stacks, __u64 lost,
			   const struct features *features)
{
	json_object *o = NULL, *names = json_object_new_array(), *list = json_object_new_array();
	struct kernel_address *addresses = NULL;
	size_t i, count, found = 0;
	struct sampled *all;

	all = read_stacks(stacks, &count);
	if (all)
		addresses = addresses_of(all, count, &found);
	if (addresses && !features__symbolize(features, addresses, &found)) {
		for (i = 0; i < found; i++)
			json_object_array_add(
				names, json_object_new_string(addresses[i].start ? addresses[i].name
										 : "?"));
		for (i = 0; i < count; i++)
			json_object_array_add(list, stack_json(&all[i], addresses, found));
		o = json_object_new_object();
		json__add_string(o, "event",
				 p->event.type == PERF_TYPE_HARDWARE ? "cycles" : "cpu-clock");
		json__add_count(o, "hz", p->event.sample_freq);
		json__add_count(o, "lost", lost);
		json__add(o, "functions", json_object_get(names));
		json__add(o, "stacks", json_object_get(list));
	}
	json_object_put(names);
	json_object_put(list);
	free(addresses);
	free(all);
	return o;
}
