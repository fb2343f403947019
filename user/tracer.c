// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tracer.h"

#include "call_counters.h"

#include "loadgen/hist_stats.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sendpath.skel.h"

#define PROGRAMS_MAX 32

struct program_stats {
	__u64 missed[HOOK_COUNT]; /* skipped runs of the hook's programs */
	__u64 missed_begins, missed_ends, missed_merges;
	__u64 ns, runs; /* of all of them, where their cost is counted */
};

struct tracer {
	struct sendpath *skel;
	struct {
		const char *program; /* the plan's string: outlives us */
		struct bpf_link *link;
	} attached[PROGRAMS_MAX];
	size_t attached_count;
	const struct hook_way *ways[HOOK_COUNT]; /* NULL: not attached */
	struct call_counters *call_counters;	 /* NULL: none */
	int stats_fd;				 /* -1 unless cost is counted */
	struct program_stats opened;		 /* what the counters said when the gate opened */
};

/* A tracing program is loaded for a certain function. 0 or -errno. */
static int plan_program(struct sendpath *skel, const char *name, const char *symbol)
{
	struct bpf_program *program = bpf_object__find_program_by_name(skel->obj, name);

	if (!program)
		return -ENOENT;
	bpf_program__set_autoload(program, true);
	if (bpf_program__type(program) != BPF_PROG_TYPE_TRACING)
		return 0;
	return bpf_program__set_attach_target(program, 0, symbol);
}

static int load_only_planned(struct sendpath *skel, const struct plan *plan)
{
	const struct plan_entry *entry;
	struct bpf_program *program;
	const char *const *name;
	enum hook_id id;
	int err = 0;

	bpf_object__for_each_program (program, skel->obj)
		bpf_program__set_autoload(program, false);
	for (id = 0; id < HOOK_COUNT; id++) {
		entry = &plan->entries[id];
		for (name = entry->way ? entry->way->programs : NULL; name && *name && !err; name++)
			err = plan_program(skel, *name, entry->symbol);
	}
	return err;
}

/* Which maps are made, and how, is up to what the kernel can do. */
static int fit_maps(struct sendpath *skel, const struct features *features)
{
	bool task_state = features__task_state(features);
	int cpus = libbpf_num_possible_cpus();

	bpf_map__set_autocreate(skel->maps.threads, task_state);
	bpf_map__set_autocreate(skel->maps.threads_by_id, !task_state);
	bpf_program__set_autoload(skel->progs.thread_gone, !task_state);
	if (!features__safe_allocation(features))
		bpf_map__set_map_flags(skel->maps.sockets, 0);
	return cpus < 0 ? cpus
			: bpf_map__set_max_entries(skel->maps.call_events,
						   (__u32)cpus * CALL_COUNTERS_MAX);
}

/* Where a merged notification is freed, for the program that looks for it. */
static void set_addresses(struct sendpath *skel, const struct features *features)
{
	static const char *const merging[MERGE_RANGES] = {
		"__msg_zerocopy_callback", "msg_zerocopy_complete", "msg_zerocopy_callback"};
	struct address_range range;
	size_t i;

	if (features__code(features, "sock_ofree", &range))
		skel->rodata->sock_ofree_address = range.from;
	for (i = 0; i < MERGE_RANGES; i++)
		if (features__code(features, merging[i], &range))
			skel->rodata->merge_ranges[i] = range;
}

static struct bpf_link *attach_to(const struct bpf_program *program, const char *symbol)
{
	const char *section = bpf_program__section_name(program);
	bool at_return = !strncmp(section, "kretprobe", 9);
	LIBBPF_OPTS(bpf_kprobe_multi_opts, opts, .syms = &symbol, .cnt = 1, .retprobe = at_return);

	if (bpf_program__type(program) != BPF_PROG_TYPE_KPROBE)
		return bpf_program__attach(program);
	if (bpf_program__expected_attach_type(program) == BPF_TRACE_KPROBE_MULTI)
		return bpf_program__attach_kprobe_multi_opts(program, NULL, &opts);
	return bpf_program__attach_kprobe(program, at_return, symbol);
}

/* One link a program, though several hooks may name it. 0 or -errno. */
static int attach_program(struct tracer *t, const char *name, const char *symbol)
{
	struct bpf_program *program = bpf_object__find_program_by_name(t->skel->obj, name);
	struct bpf_link *link;
	size_t i;

	for (i = 0; i < t->attached_count; i++)
		if (!strcmp(t->attached[i].program, name))
			return 0;
	if (!program || t->attached_count == PROGRAMS_MAX)
		return -ENOENT;
	link = attach_to(program, symbol);
	if (!link)
		return -errno;
	t->attached[t->attached_count].program = name;
	t->attached[t->attached_count++].link = link;
	return 0;
}

static int attach_hook(struct tracer *t, struct plan_entry *entry)
{
	const char *const *name;
	int err;

	for (name = entry->way->programs; *name; name++) {
		err = attach_program(t, *name, entry->symbol);
		if (!err)
			continue;
		snprintf(entry->reason, sizeof(entry->reason), "attaching to %s failed: %s",
			 entry->symbol, strerror(-err));
		entry->way = NULL;
		entry->status = HOOK_UNAVAILABLE;
		return err;
	}
	return 0;
}

/* Before 5.11 the kernel charges maps to RLIMIT_MEMLOCK (commit d5299b67dd59). */
static void raise_memlock(void)
{
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

	setrlimit(RLIMIT_MEMLOCK, &all);
}

static int load(struct tracer *t, const struct plan *plan, const struct tracer_setup *setup)
{
	struct rlimit before;
	int err;

	t->skel = sendpath__open();
	if (!t->skel)
		return -errno;
	err = load_only_planned(t->skel, plan);
	if (!err)
		err = fit_maps(t->skel, setup->features);
	if (err)
		return err;
	set_addresses(t->skel, setup->features);
	t->skel->rodata->call_counters = (__u32)counter_events__count(setup->call_counters);
	getrlimit(RLIMIT_MEMLOCK, &before);
	raise_memlock();
	err = sendpath__load(t->skel);
	/* The load generator inherits the user's limit, not ours. */
	setrlimit(RLIMIT_MEMLOCK, &before);
	return err;
}

static int attach_hooks(struct tracer *t, struct plan *plan, const struct features *features,
			char *reason, size_t size)
{
	enum hook_id id;
	int err;

	if (!features__task_state(features)) {
		err = attach_program(t, "thread_gone", NULL);
		if (err) {
			snprintf(reason, size, "attaching to sched_process_exit failed: %s",
				 strerror(-err));
			return err;
		}
	}
	for (id = 0; id < HOOK_COUNT; id++) {
		if (!plan->entries[id].way)
			continue;
		err = attach_hook(t, &plan->entries[id]);
		if (err && id == HOOK_SEND) {
			snprintf(reason, size, "%s", plan->entries[id].reason);
			return err;
		}
		t->ways[id] = plan->entries[id].way;
	}
	return 0;
}

static int count_cost(struct tracer *t, char *reason, size_t size)
{
	t->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (t->stats_fd >= 0)
		return 0;
	snprintf(reason, size, "--cost: the kernel does not count run time: %s", strerror(errno));
	return -errno;
}

int tracer__attach(struct tracer **out, struct plan *plan, const struct tracer_setup *setup,
		   char *reason, size_t size)
{
	struct tracer *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->stats_fd = -1;
	err = load(t, plan, setup);
	if (err)
		snprintf(reason, size, "the kernel refused the programs: %s (--verbose tells more)",
			 strerror(-err));
	if (!err && counter_events__count(setup->call_counters))
		err = call_counters__open(&t->call_counters, setup->call_counters,
					  bpf_map__fd(t->skel->maps.call_events), reason, size);
	if (!err)
		err = attach_hooks(t, plan, setup->features, reason, size);
	if (!err && setup->cost)
		err = count_cost(t, reason, size);
	if (err)
		tracer__free(t);
	else
		*out = t;
	return err;
}

int tracer__add_target(struct tracer *t, pid_t tgid, enum role role)
{
	__u32 key = tgid, value = role;

	return bpf_map__update_elem(t->skel->maps.targets, &key, sizeof(key), &value, sizeof(value),
				    BPF_ANY);
}

static int program_info(const struct tracer *t, const char *name, struct bpf_prog_info *info)
{
	struct bpf_program *program = bpf_object__find_program_by_name(t->skel->obj, name);
	__u32 length = sizeof(*info);

	memset(info, 0, sizeof(*info));
	if (!program || bpf_obj_get_info_by_fd(bpf_program__fd(program), info, &length))
		return program ? -errno : -ENOENT;
	return 0;
}

static int read_program_stats(const struct tracer *t, struct program_stats *out)
{
	struct bpf_prog_info info;
	const char *const *name;
	enum hook_id id;
	size_t i;
	int err;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < t->attached_count; i++) {
		err = program_info(t, t->attached[i].program, &info);
		if (err)
			return err;
		out->ns += info.run_time_ns;
		out->runs += info.run_cnt;
	}
	for (id = 0; id < HOOK_COUNT; id++) {
		for (name = t->ways[id] ? t->ways[id]->programs : NULL; name && *name; name++) {
			err = program_info(t, *name, &info);
			if (err)
				return err;
			out->missed[id] += info.recursion_misses;
			if (id == HOOK_SEND && name == t->ways[id]->programs)
				out->missed_begins = info.recursion_misses;
			else if (id == HOOK_SEND)
				out->missed_ends = info.recursion_misses;
			if (!strcmp(*name, "notification_freed"))
				out->missed_merges = info.recursion_misses;
		}
	}
	return 0;
}

void tracer__gate(struct tracer *t, bool open)
{
	/* Attached but unreadable programs show when the window is read. */
	if (open)
		read_program_stats(t, &t->opened);
	/* The workers are parked: what they do next must see it. */
	__atomic_store_n(&t->skel->bss->gate, open, __ATOMIC_SEQ_CST);
}

static void add_call(struct call_slot *to, const struct call_slot *from)
{
	size_t i;

	to->counted += from->counted;
	to->left_out += from->left_out;
	for (i = 0; i < CALL_COUNTERS_MAX; i++)
		to->counters[i] += from->counters[i];
	to->sends += from->sends;
	to->failed += from->failed;
	to->bytes += from->bytes;
	to->ignored += from->ignored;
	hist__merge(&to->wall, &from->wall);
}

/* Structs of nothing but __u64. */
static void add_words(__u64 *to, const __u64 *from, size_t words)
{
	while (words--)
		*to++ += *from++;
}

static int read_calls(struct tracer *t, struct measured *out, void *buffer, int cpus)
{
	struct call_slot *values = buffer;
	__u32 slot;
	int cpu, err;

	for (slot = 0; slot < CALL_SLOTS; slot++) {
		err = bpf_map__lookup_elem(t->skel->maps.calls, &slot, sizeof(slot), buffer,
					   sizeof(*values) * cpus, 0);
		if (err)
			return err;
		for (cpu = 0; cpu < cpus; cpu++)
			add_call(&out->calls[slot], &values[cpu]);
	}
	return 0;
}

/* Only slots with failures are read: the rest of the array is zero. */
static int read_errors(struct tracer *t, struct measured *out, __u64 *values, int cpus)
{
	__u32 slot, error, key;
	int cpu, err;

	for (slot = 0; slot < CALL_SLOTS; slot++) {
		for (error = 0; error < ERRNO_SLOTS && out->calls[slot].failed; error++) {
			key = slot * ERRNO_SLOTS + error;
			err = bpf_map__lookup_elem(t->skel->maps.errors, &key, sizeof(key), values,
						   sizeof(*values) * cpus, 0);
			if (err)
				return err;
			for (cpu = 0; cpu < cpus; cpu++)
				out->errors[slot][error] += values[cpu];
		}
	}
	return 0;
}

static int read_totals(struct tracer *t, struct measured *out, struct totals *values, int cpus)
{
	__u32 zero = 0;
	int cpu, err;

	err = bpf_map__lookup_elem(t->skel->maps.totals, &zero, sizeof(zero), values,
				   sizeof(*values) * cpus, 0);
	for (cpu = 0; cpu < cpus && !err; cpu++)
		add_words((__u64 *)&out->totals, (const __u64 *)&values[cpu],
			  sizeof(*values) / sizeof(__u64));
	return err;
}

int tracer__read(struct tracer *t, struct measured *out)
{
	int cpus = libbpf_num_possible_cpus();
	size_t size = sizeof(struct call_slot) * (cpus > 0 ? cpus : 1);
	struct program_stats now;
	enum hook_id id;
	void *buffer;
	int err;

	if (cpus < 0)
		return cpus;
	buffer = malloc(size);
	if (!buffer)
		return -ENOMEM;
	memset(out, 0, sizeof(*out));
	err = read_calls(t, out, buffer, cpus);
	if (!err)
		err = read_errors(t, out, buffer, cpus);
	if (!err)
		err = read_totals(t, out, buffer, cpus);
	if (!err)
		err = read_program_stats(t, &now);
	free(buffer);
	if (err)
		return err;
	for (id = 0; id < HOOK_COUNT; id++)
		out->missed[id] = now.missed[id] - t->opened.missed[id];
	out->missed_begins = now.missed_begins - t->opened.missed_begins;
	out->missed_ends = now.missed_ends - t->opened.missed_ends;
	out->missed_merges = now.missed_merges - t->opened.missed_merges;
	out->bpf_ns = now.ns - t->opened.ns;
	out->bpf_runs = now.runs - t->opened.runs;
	return 0;
}

void tracer__free(struct tracer *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->attached_count; i++)
		bpf_link__destroy(t->attached[i].link);
	if (t->stats_fd >= 0)
		close(t->stats_fd);
	call_counters__free(t->call_counters);
	sendpath__destroy(t->skel);
	free(t);
}
