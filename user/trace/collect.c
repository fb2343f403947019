// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sets the gate, and reads the counts of the time while it was open, summed over the CPUs. */
#include "user/trace/tracer_private.h"

#include "common/hist_stats.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int program_info(const struct tracer *t, const char *name, struct bpf_prog_info *info)
{
	struct bpf_program *program = bpf_object__find_program_by_name(t->skel->obj, name);
	__u32 length = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return bpf_obj_get_info_by_fd(bpf_program__fd(program), info, &length) ? -errno : 0;
}

static const struct bpf_link *attached(const struct tracer *t, const char *name)
{
	for (size_t i = 0; i < t->attached_count; i++)
		if (!strcmp(t->attached[i].program, name))
			return t->attached[i].link;
	return NULL;
}

/*
 * struct bpf_link_info of a kprobe since Linux 6.7 ("bpf: Add missed value to kprobe_multi link
 * info", "... kprobe perf link info"), which older headers lack.
 */
struct probe_info {
	__u32 type; /* type of the link */
	__u32 id, program, unused;
	union {
		struct {
			__u64 addresses;
			__u32 count, flags;
			__u64 missed;
		} multi;
		struct {
			__u32 type, unused;
			__u64 name;
			__u32 name_length, offset;
			__u64 address, missed;
		} perf;
	};
};
#define LINK_PERF_EVENT	  7
#define LINK_KPROBE_MULTI 8

/*
 * Reads how often the kernel skipped a kprobe, which then ran no program. A kernel that counts this
 * also counts skipped programs ("bpf: Count missed stats in trace_call_bpf"); other kernels have a
 * shorter struct, or no such links. tracefs' kprobe_profile does not list probes of perf. Returns
 * 0, or -errno if the number is unknown.
 */
static int probe_missed(const struct bpf_link *link, __u64 *missed)
{
	struct probe_info info = {};
	__u32 length = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &length))
		return -errno;
	if (length < sizeof(info) ||
	    (info.type != LINK_PERF_EVENT && info.type != LINK_KPROBE_MULTI))
		return -ENOTSUP;
	*missed = info.type == LINK_KPROBE_MULTI ? info.multi.missed : info.perf.missed;
	return 0;
}

/* The ending of the name of a program that does the work of a skipped one (see hooks.c). */
#define AGAIN "_again"

static bool is_kprobe(const struct tracer *t, const char *name)
{
	return bpf_program__type(bpf_object__find_program_by_name(t->skel->obj, name)) ==
	       BPF_PROG_TYPE_KPROBE;
}

/*
 * Reads how often the kernel skipped the program and also, if there is one, the program that then
 * does its work. 0 or -errno.
 */
static int program_missed(const struct tracer *t, const char *name, __u64 *missed)
{
	struct bpf_prog_info info;
	char again[BPF_OBJ_NAME_LEN * 2];
	int err = program_info(t, name, &info);

	if (err)
		return err;
	*missed = info.recursion_misses;
	snprintf(again, sizeof(again), "%s" AGAIN, name);
	if (!attached(t, again))
		return 0;
	err = program_info(t, again, &info);
	if (!err && info.recursion_misses < *missed)
		*missed = info.recursion_misses;
	return err;
}

static bool makes_up(const char *name)
{
	size_t length = strlen(name), end = strlen(AGAIN);

	return length > end && !strcmp(name + length - end, AGAIN);
}

/* Adds skipped runs. The second program of a send is at its end, the others at its beginning. */
static int add_missed(const struct tracer *t, enum hook_id id, const char *const *names,
		      struct program_stats *out)
{
	const char *sees_coalesced = t->options[id]->sees_coalesced;
	const struct bpf_link *link;
	const char *const *name;
	__u64 missed, probe;
	int err;

	for (name = names; *name && (link = attached(t, *name)); name++) {
		if (makes_up(*name))
			continue;
		err = program_missed(t, *name, &missed);
		if (err)
			return err;
		probe = 0;
		if (is_kprobe(t, *name) && probe_missed(link, &probe))
			out->missed_unknown[id] = true;
		out->missed[id] += missed + probe;
		if (id == HOOK_SEND)
			*(name == names + 1 ? &out->missed_ends : &out->missed_begins) +=
				missed + probe;
		if (sees_coalesced && !strcmp(*name, sees_coalesced))
			out->missed_coalesced = missed;
	}
	return 0;
}

static int read_program_stats(const struct tracer *t, struct program_stats *out)
{
	struct bpf_prog_info info;
	int err = 0;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < t->attached_count; i++) {
		err = program_info(t, t->attached[i].program, &info);
		if (err)
			return err;
		out->ns += info.run_time_ns;
		out->runs += info.run_cnt;
	}
	if (t->profile && !program_info(t, "profile_sample", &info)) {
		out->ns += info.run_time_ns;
		out->runs += info.run_cnt;
	}
	for (enum hook_id id = 0; id < HOOK_COUNT && !err; id++) {
		if (!t->options[id])
			continue;
		err = add_missed(t, id, t->options[id]->programs, out);
		if (!err)
			err = add_missed(t, id, t->options[id]->also_programs, out);
	}
	return err;
}

void tracer__set_port(struct tracer *t, unsigned int port, bool sender_listens)
{
	t->skel->bss->load_port = port;
	t->skel->bss->sender_listens = sender_listens;
}

void tracer__gate(struct tracer *t, enum gate gate)
{
	/* If a program is unreadable, the reading of the window reports it. */
	if (gate == GATE_OPEN)
		read_program_stats(t, &t->opened);
	if (gate == GATE_OPEN && t->timeline)
		timeline__clear(t->timeline);
	/* This store comes before the next sends of the workers, which are parked. */
	__atomic_store_n(&t->skel->bss->gate, gate, __ATOMIC_SEQ_CST);
}

int tracer__gate_settled(struct tracer *t, enum gate gate)
{
	tracer__gate(t, gate);
	/*
	 * Waits for RCU readers, which include running programs. On a kernel that refuses this
	 * (nohz_full), a program on another CPU may still use the old gate for some instructions.
	 */
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) ? -errno : 0;
}

static int read_calls(struct tracer *t, struct window_counts *out)
{
	int err = 0;

	for (__u32 slot = 0; slot < CALL_SLOTS && !err; slot++) {
		err = tracer__sum(t, "calls", slot, &out->calls[slot]);
		hist__settle(&out->calls[slot].wall);
	}
	return err;
}

static int read_causes(struct tracer *t, struct window_counts *out)
{
	struct cause_count *cause;
	int err;

	err = tracer__sum(t, "cause_counters", CAUSE_COUNTER_NONE, &out->unseen);
	if (!err)
		err = tracer__sum(t, "cause_counters", CAUSE_COUNTER_FULL, &out->unnamed);
	for (__u32 index = CAUSE_COUNTERS_RESERVED; index < CAUSE_COUNTERS_MAX && !err; index++) {
		cause = &out->causes[out->cause_count];
		if (bpf_map__lookup_elem(t->skel->maps.cause_infos, &index, sizeof(index),
					 &cause->info, sizeof(cause->info), 0))
			continue; /* not in use */
		err = tracer__sum(t, "cause_counters", index, &cause->sums);
		out->cause_count++;
	}
	return err;
}

/* Reads the errors of io_uring's requests to send zero-copy. */
static int read_requests(struct tracer *t, struct window_counts *out)
{
	struct uring_requests one;
	int err = 0;

	for (__u32 operation = URING_SEND_ZC; operation < URING_OPERATIONS && !err; operation++) {
		err = tracer__sum(t, "uring_requests", operation, &one);
		for (size_t i = 0; i < ERRNO_SLOTS && !err; i++)
			out->uring_errors[i] += one.errors[i];
	}
	return err;
}

static __u64 is_in_send(const struct thread *thread)
{
	return thread->tid && thread->send.sock && !thread->send.before;
}

__u64 tracer__in_sends(struct tracer *t)
{
	struct bpf_map *more = t->skel->maps.more_threads;
	struct thread thread;
	__u32 i, tid, *before = NULL;
	__u64 in_sends = 0;

	for (i = 0; i < THREAD_SLOTS; i++)
		in_sends += is_in_send(&t->skel->bss->threads[i]);
	while (t->skel->bss->more_threads_seen &&
	       !bpf_map__get_next_key(more, before, &tid, sizeof(tid))) {
		if (!bpf_map__lookup_elem(more, &tid, sizeof(tid), &thread, sizeof(thread), 0))
			in_sends += is_in_send(&thread);
		before = &tid;
	}
	return in_sends;
}

/* A completion needs a watched socket, or a notification of io_uring. */
bool tracer__may_count(struct tracer *t)
{
	return t->skel->rodata->stages || t->skel->bss->notifications_seen || tracer__in_sends(t) ||
	       t->skel->bss->sockets_kept;
}

/* Reads the programs' statistics since the gate opened. */
static int read_programs(struct tracer *t, struct program_stats *out)
{
	int err = read_program_stats(t, out);

	if (err)
		return err;
	for (enum hook_id id = 0; id < HOOK_COUNT; id++)
		out->missed[id] -= t->opened.missed[id];
	out->missed_begins -= t->opened.missed_begins;
	out->missed_ends -= t->opened.missed_ends;
	out->missed_coalesced -= t->opened.missed_coalesced;
	out->ns -= t->opened.ns;
	out->runs -= t->opened.runs;
	return 0;
}

__u64 tracer__map_bytes(const struct tracer *t)
{
	unsigned long long bytes, sum = 0;
	struct bpf_map *map;
	char path[64], line[128];
	FILE *info;

	bpf_object__for_each_map (map, t->skel->obj) {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
		info = fopen(path, "re");
		while (info && fgets(line, sizeof(line), info))
			if (sscanf(line, "memlock: %llu", &bytes) == 1)
				sum += bytes;
		if (info)
			fclose(info);
	}
	return sum;
}

unsigned int tracer__sockets_most(const struct tracer *t)
{
	return bpf_map__max_entries(t->skel->maps.sockets);
}

/* Runs a program that walks a map, if it is loaded. */
static void check(const struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	if (bpf_program__fd(program) >= 0)
		bpf_prog_test_run_opts(bpf_program__fd(program), &opts);
}

int tracer__read(struct tracer *t, struct window_counts *out, enum counted what)
{
	int err;

	memset(out, 0, sizeof(*out));
	/* Reads the sends in progress before the calls: some then count twice, and none never. */
	if (what == ALL_COUNTS) {
		/* Both end entries whose end no program saw. The first also counts error queues. */
		check(t->skel->progs.sockets_checked);
		check(t->skel->progs.notifications_checked);
		out->in_sends = tracer__in_sends(t);
	}
	err = read_calls(t, out);
	if (!err)
		err = tracer__sum(t, "totals", 0, &out->totals);
	if (err || what != ALL_COUNTS)
		return err;
	err = read_causes(t, out);
	if (!err)
		err = read_requests(t, out);
	for (__u32 span = 0; span < SPANS && !err; span++) {
		err = tracer__sum(t, "spans", span, &out->spans[span]);
		hist__settle(&out->spans[span]);
	}
	out->pinned = t->skel->bss->pinned;
	out->uring_pinned = t->skel->bss->uring_pinned;
	out->groups_rest = t->skel->bss->groups_rest;
	return err ? err : read_programs(t, &out->programs);
}

int tracer__profile(const struct tracer *t, json_object **out)
{
	if (!t->profile)
		return 0;
	*out = profile__json(t->profile, t->skel->maps.profile_stacks, t->skel->bss->profile_lost,
			     t->setup.features);
	return *out ? 0 : -EIO;
}

int tracer__read_timeline(struct tracer *t, int most)
{
	if (!t || !t->timeline)
		return most;
	t->skel->bss->timeline_done = !timeline__read(t->timeline);
	return most < TIMELINE_MS ? most : TIMELINE_MS;
}

bool tracer__timeline_is_full(const struct tracer *t)
{
	__u32 most = t->skel->rodata->timeline_sends;

	return t->timeline &&
	       (most ? t->skel->bss->timeline_part.sends >= most : t->skel->bss->timeline_done);
}

int tracer__timeline(struct tracer *t, char **out)
{
	__u64 lost = 0;
	int err;

	if (!t->timeline)
		return 0;
	tracer__read_timeline(t, 0);
	err = tracer__sum(t, "timeline_lost", 0, &lost);
	if (!err)
		*out = timeline__json(t->timeline, lost);
	return err ? err : *out ? 0 : -ENOMEM;
}

#define BATCH 4096

struct batch {
	struct group_key keys[BATCH];
	struct group values[BATCH];
};

/* The kernel iterates over buckets, and may miss an element that is added at the same time. */
int tracer__each_group(struct tracer *t, group_visit see, void *context)
{
	struct batch *batch = malloc(sizeof(*batch));
	int map = bpf_map__fd(t->skel->maps.groups), err = batch ? 0 : -ENOMEM;
	__u32 position, *from = NULL, count, i;

	while (!err) {
		count = BATCH;
		err = bpf_map_lookup_batch(map, from, &position, batch->keys, batch->values, &count,
					   NULL);
		from = &position;
		for (i = 0; i < count && (!err || err == -ENOENT); i++)
			see(context, &batch->keys[i], &batch->values[i]);
	}
	free(batch);
	return err == -ENOENT ? 0 : err; /* -ENOENT: the end of the map */
}

const struct group *tracer__groups_rest(const struct tracer *t)
{
	return &t->skel->bss->groups_rest;
}

void tracer__group_path(struct tracer *t, const struct group_key *key, char text[CGROUP_TEXT_MAX])
{
	struct cgroup_path path;

	text[0] = '\0';
	if (!bpf_map_lookup_elem(bpf_map__fd(t->skel->maps.group_paths), key, &path))
		groups__path(&path, text, CGROUP_TEXT_MAX);
}

/* Since 5.14 hash maps have one operation that reads and deletes; before, it takes two. */
int tracer__take_group(struct tracer *t, const struct group_key *key, struct group *out)
{
	int map = bpf_map__fd(t->skel->maps.groups), paths = bpf_map__fd(t->skel->maps.group_paths);
	int err;

	/* The path is deleted first: a program that creates the group again writes it again. */
	if (paths >= 0)
		bpf_map_delete_elem(paths, key);
	err = bpf_map_lookup_and_delete_elem(map, key, out);
	if (!err || err == -ENOENT)
		return err;
	err = bpf_map_lookup_elem(map, key, out);
	return err ? err : bpf_map_delete_elem(map, key);
}
