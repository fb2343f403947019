// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/causes.h"
#include "user/kernel/types.h"
#include "user/system/files.h"
#include "user/trace/tracer_private.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Prepares a program. A tracing program is loaded for one function. A kprobe's program is loaded
 * for the way in which it will be attached, by the function graph tracer or by perf. 0 or -errno.
 */
static int plan_program(struct sendpath *skel, const char *name, const char *symbol, bool by_graph)
{
	struct bpf_program *program = bpf_object__find_program_by_name(skel->obj, name);

	if (!program)
		return -ENOENT;
	bpf_program__set_autoload(program, true);
	if (by_graph)
		return bpf_program__set_expected_attach_type(program, BPF_TRACE_KPROBE_MULTI);
	if (bpf_program__type(program) != BPF_PROG_TYPE_TRACING)
		return 0;
	return bpf_program__set_attach_target(program, 0, symbol);
}

static int load_only_planned(struct sendpath *skel, const struct plan *plan)
{
	const struct plan_entry *entry;
	struct bpf_program *program;
	const char *name, *symbol;
	size_t i;
	enum hook_id id;
	int err = 0;

	bpf_object__for_each_program (program, skel->obj)
		bpf_program__set_autoload(program, false);
	for (id = 0; id < HOOK_COUNT; id++) {
		entry = &plan->entries[id];
		for (i = 0; !err && (name = plan_entry__program(entry, i, &symbol)); i++)
			err = plan_program(skel, name, symbol, entry->option->by_graph);
	}
	return err;
}

/* Preallocates the maps into which programs insert, as older kernels require. */
static int allocate_beforehand(struct sendpath *skel)
{
	const struct {
		struct bpf_map *map;
		__u32 entries; /* 0: as the programs declare it */
	} maps[] = {
		{skel->maps.groups, 0},
		{skel->maps.notifications, 0},
		{skel->maps.shared, 0},
		{skel->maps.sockets, SOCKETS_PREALLOCATED},
		{skel->maps.more_slots, SENDS_PREALLOCATED},
		{skel->maps.peers, ENTRIES_PREALLOCATED},
		{skel->maps.group_paths, ENTRIES_PREALLOCATED},
		{skel->maps.accounts, ENTRIES_PREALLOCATED},
		{skel->maps.more_threads, ENTRIES_PREALLOCATED},
	};
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(maps) / sizeof(maps[0]) && !err; i++) {
		bpf_map__set_map_flags(maps[i].map, 0);
		if (maps[i].entries < bpf_map__max_entries(maps[i].map) && maps[i].entries)
			err = bpf_map__set_max_entries(maps[i].map, maps[i].entries);
	}
	return err;
}

/* Fits the maps to the kernel and the plan. */
static int fit_maps(struct sendpath *skel, const struct plan *plan, const struct features *features)
{
	bool zerocopy = plan->entries[HOOK_COMPLETION].status != HOOK_DISABLED;
	int cpus = libbpf_num_possible_cpus();
	int err = 0;

	bpf_program__set_autoload(skel->progs.thread_gone, true);
	bpf_program__set_autoload(skel->progs.socket_state,
				  zerocopy || skel->rodata->times_by_tracepoint);
	bpf_program__set_autoload(skel->progs.socket_gone, zerocopy);
	bpf_program__set_autoload(skel->progs.socket_gone_again, zerocopy);
	bpf_program__set_autoload(skel->progs.sockets_checked,
				  zerocopy &&
					  features__function(features, "bpf_for_each_map_elem"));
	bpf_program__set_autoload(skel->progs.notifications_checked,
				  plan->entries[HOOK_URING].option);
	/* Only zero-copy sends use this map, which is preallocated on older kernels. */
	if (!zerocopy)
		bpf_map__set_max_entries(skel->maps.more_slots, 1);
	if (!features__type(features, "io_notif_data"))
		bpf_map__set_max_entries(skel->maps.notifications, 1);
	/*
	 * "bpf: Relax the requirement to use preallocated hash maps in tracing progs" (6.1) needs
	 * this allocator. Older kernels warn of such a map with a stack dump in their log.
	 */
	if (!features__type(features, "bpf_mem_alloc"))
		err = allocate_beforehand(skel);
	if (err)
		return err;
	return cpus < 0 ? cpus
			: bpf_map__set_max_entries(skel->maps.call_events,
						   (__u32)cpus * CALL_COUNTERS_MAX);
}

static void set_sees_coalesced(struct sendpath *skel)
{
	skel->rodata->sees_coalesced =
		bpf_program__autoload(skel->progs.notification_freed) ||
		bpf_program__autoload(skel->progs.notification_freed_in_stack);
}

static void set_ranges(struct address_range *to, const char *const *names, size_t count,
		       const struct features *features)
{
	struct address_range range;
	size_t i;

	for (i = 0; i < count; i++)
		if (features__code(features, names[i], &range))
			to[i] = range;
}

/* Sets the addresses and features that the programs of the plan read. */
static void set_addresses(struct sendpath *skel, const struct features *features,
			  const struct plan *plan)
{
	static const char *const merging[COALESCE_RANGES] = {
		"__msg_zerocopy_callback", "msg_zerocopy_complete", "msg_zerocopy_callback"};
	static const char *const reading[READ_RANGES] = {"ip_recv_error", "ipv6_recv_error",
							 "inet_recv_error"};
	const struct hook_option *completion = plan->entries[HOOK_COMPLETION].option;
	const struct hook_option *error_queue = plan->entries[HOOK_ERROR_QUEUE].option;
	const struct hook_option *id = plan->entries[HOOK_SEND_ID].option;
	struct address_range range;

	if (features__code(features, "sock_ofree", &range))
		skel->rodata->sock_ofree_address = range.from;
	if (features__code(features, "tcp_sendmsg", &range))
		skel->rodata->proto_send_address = range.from;
	skel->rodata->counted_in_queue = completion && completion->by_queue;
	if (skel->rodata->counted_in_queue)
		set_ranges((struct address_range *)skel->rodata->coalesce_ranges, merging,
			   COALESCE_RANGES, features);
	set_ranges((struct address_range *)skel->rodata->read_ranges, reading, READ_RANGES,
		   features);
	skel->rodata->counts_reported = error_queue && error_queue->by_queue;
	skel->rodata->ids_guessed = !id || id->guesses;
	skel->rodata->reads_typed = features__function(features, "bpf_rdonly_cast");
	skel->rodata->page_shift = (__u32)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
}

__u32 tracer__optmem_max(void)
{
	long optmem_max = 0;

	files__number("/proc/sys/net/core/optmem_max", &optmem_max);
	return (__u32)optmem_max;
}

/* Sets the addresses and limits by which programs find causes and refusals. */
static void set_causes(struct sendpath *skel, const struct features *features)
{
	struct call_site call_sites[CALL_SITES_MAX] = {};
	size_t count = causes__call_sites(call_sites, CALL_SITES_MAX, features__codes, features);

	memcpy((void *)skel->rodata->call_sites, call_sites, sizeof(call_sites));
	skel->rodata->call_site_count = (__u32)count;
	skel->rodata->ptype_all_address = features__variable(features, "ptype_all");
	skel->rodata->net_hotdata_address = features__variable(features, "net_hotdata");
	/*
	 * Kernels that have this function also have "net: move skb_orphan_frags_rx() to the local
	 * delivery"; Linux 6.18 has only that commit.
	 */
	skel->rodata->forwards_uncopied = features__code(features, "deliver_skb", NULL);
	skel->rodata->optmem_max = tracer__optmem_max();
}

/* Switches on the parts of shared programs that the plan needs. */
static void set_parts(struct sendpath *skel, const struct plan *plan)
{
	const struct hook_option *send = plan->entries[HOOK_SEND].option;
	const struct hook_option *copy = plan->entries[HOOK_SKB_COPY].option;

	skel->rodata->times_by_tracepoint = send && send->counts_at_end;
	skel->rodata->follows_completions = plan->entries[HOOK_COMPLETION].option;
	skel->rodata->follows_path = copy;
	skel->rodata->infers_copies = copy && copy->by_path;
	skel->rodata->counts_packets = plan->entries[HOOK_PACKET].option;
	skel->rodata->sees_exit = plan->entries[HOOK_DEVICE_EXIT].option;
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

/* Links each program once, though several hooks may name it. 0 or -errno. */
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
	const char *name, *symbol;
	size_t i;
	int err;

	for (i = 0; (name = plan_entry__program(entry, i, &symbol)); i++) {
		err = attach_program(t, name, symbol);
		if (!err)
			continue;
		snprintf(entry->reason, sizeof(entry->reason), "attaching to %s failed: %s", symbol,
			 strerror(-err));
		entry->option = NULL;
		entry->status = HOOK_UNAVAILABLE;
		return err;
	}
	return 0;
}

/* Sets how the programs recognize targets, and whether they follow a command's children. */
static void set_target(struct sendpath *skel, const struct target *target)
{
	bpf_program__set_autoload(skel->progs.target_forked, target && target->command);
	bpf_map__set_autocreate(skel->maps.target_cgroup, target && target->by == TARGET_CGROUP);
	skel->rodata->pid_namespace = target__pid_namespace();
	skel->rodata->sends_connect = target;
	if (target)
		skel->rodata->target_by = target->by;
	/* The filter needs ids of the initial PID namespace. */
	skel->rodata->tgids_filtered =
		skel->rodata->target_by == TARGET_PROCESS && !skel->rodata->pid_namespace;
	if (target && target->by == TARGET_COMM)
		snprintf((char *)skel->rodata->target_comm, COMM_MAX, "%s", target->named);
}

/* Sets the groups. Without --by or receivers, the verifier removes their code. */
static int set_groups(struct sendpath *skel, const struct tracer_setup *setup)
{
	int err;

	skel->rodata->by_receiver = setup->receivers;
	/* A window without end would see too many devices, so causes are counted by device name. */
	skel->rodata->causes_by_name = !setup->receivers;
	bpf_map__set_autocreate(skel->maps.peers, setup->receivers);
	skel->rodata->group_by = setup->by;
	bpf_map__set_autocreate(skel->maps.groups, setup->by);
	bpf_map__set_autocreate(skel->maps.group_paths, setup->by & BY_CGROUP);
	bpf_map__set_autocreate(skel->maps.new_path, setup->by & BY_CGROUP);
	if (!setup->by)
		return 0;
	err = bpf_map__set_max_entries(skel->maps.groups, setup->by_max);
	return err ? err : bpf_map__set_max_entries(skel->maps.group_paths, setup->by_max);
}

unsigned int tracer__stage_shares(unsigned int cpus)
{
	return cpus < STAGE_SHARES_MAX ? cpus : STAGE_SHARES_MAX;
}

/* Sets the stages. Without --stages, the verifier removes the code that divides sends. */
static int set_stages(struct sendpath *skel, const struct plan *plan,
		      const struct tracer_setup *setup)
{
	bool hooked = setup->stages;
	enum hook_id id;

	for (id = 0; id < HOOK_COUNT; id++)
		hooked |= hook__get(id)->stages_only && plan->entries[id].option;
	skel->rodata->stages = setup->stages;
	skel->rodata->copy_is_hooked = plan->entries[HOOK_STAGE_COPY].option;
	if (setup->sample > 1)
		skel->rodata->sampled_below = (__u32)((1ULL << 32) / setup->sample);
	bpf_map__set_autocreate(skel->maps.accounts, hooked);
	bpf_map__set_autocreate(skel->maps.dividing, hooked);
	bpf_map__set_autocreate(skel->maps.stage_slots, hooked);
	skel->rodata->stage_shares = tracer__stage_shares((unsigned int)libbpf_num_possible_cpus());
	return bpf_map__set_max_entries(
		skel->maps.stage_slots,
		CALL_SLOTS * (1 + (__u32)counter_events__count(setup->call_counters)) *
			skel->rodata->stage_shares);
}

/* Sets the samples. Their programs only read data of the other programs. */
static void set_profile(struct sendpath *skel, unsigned int hz)
{
	bpf_program__set_autoload(skel->progs.profile_sample, hz);
	bpf_program__set_autoload(skel->progs.profile_switched, hz);
	bpf_map__set_autocreate(skel->maps.profile_left, hz);
	bpf_map__set_autocreate(skel->maps.new_left_stack, hz);
	bpf_map__set_autocreate(skel->maps.profile_stacks, hz);
	bpf_map__set_autocreate(skel->maps.new_profile_stack, hz);
}

/* Makes the attached programs send events. */
static void set_timeline(struct sendpath *skel, const struct tracer_setup *setup)
{
	skel->rodata->timeline = setup->timeline;
	skel->rodata->timeline_sends = setup->slower_ns ? 0 : setup->timeline;
	bpf_map__set_autocreate(skel->maps.timeline_ring, setup->timeline);
	bpf_map__set_autocreate(skel->maps.timeline_lost, setup->timeline);
	bpf_map__set_autocreate(skel->maps.timeline_chosen, setup->timeline);
}

/* types: a file for the types that programs read; below 0: libbpf reads the kernel's. */
static int load_by_types(struct tracer *t, const struct plan *plan,
			 const struct tracer_setup *setup, int types)
{
	char path[32];
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = types < 0 ? NULL : path);
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", types);
	t->skel = sendpath__open_opts(&opts);
	if (!t->skel)
		return -errno;
	err = load_only_planned(t->skel, plan);
	set_parts(t->skel, plan);
	if (!err)
		err = fit_maps(t->skel, plan, setup->features);
	if (!err)
		err = set_groups(t->skel, setup);
	if (!err)
		err = set_stages(t->skel, plan, setup);
	if (err)
		return err;
	set_profile(t->skel, setup->profile);
	set_timeline(t->skel, setup);
	set_addresses(t->skel, setup->features, plan);
	set_causes(t->skel, setup->features);
	set_sees_coalesced(t->skel);
	set_target(t->skel, setup->target);
	t->skel->rodata->call_counters = (__u32)counter_events__count(setup->call_counters);
	t->skel->rodata->full_path =
		setup->stages || setup->timeline || t->skel->rodata->call_counters;
	if (types >= 0)
		err = types__write_needed(types, bpf_object__btf(t->skel->obj));
	return err ? err : sendpath__load(t->skel);
}

static int load(struct tracer *t, const struct plan *plan, const struct tracer_setup *setup)
{
	int types = memfd_create("types", MFD_CLOEXEC);
	int err = load_by_types(t, plan, setup, types);

	if (err == -EFBIG) {
		sendpath__destroy(t->skel);
		err = load_by_types(t, plan, setup, -1);
	}
	if (types >= 0)
		close(types);
	return err;
}

static int set_cgroup(struct tracer *t, const char *path, struct failure *f)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	__u32 zero = 0;

	if (fd < 0 ||
	    bpf_map_update_elem(bpf_map__fd(t->skel->maps.target_cgroup), &zero, &fd, BPF_ANY)) {
		err = -errno;
		failure__set(f, STATUS_SYSTEM, err, "--cgroup %s: %s", path,
			     fd < 0 ? strerror(-err)
				    : "is not in a control group hierarchy of version 2");
	}
	if (fd >= 0)
		close(fd);
	return err;
}

/* Attaches the programs, besides hooks, that keep the state of threads, processes and sockets. */
static int attach_keepers(struct tracer *t, struct failure *f)
{
	static const char *const keepers[] = {"thread_gone",	   "target_forked",
					      "socket_state",	   "socket_gone",
					      "socket_gone_again", "profile_switched"};
	const struct bpf_program *program;
	int err = 0;
	size_t i;

	for (i = 0; i < sizeof(keepers) / sizeof(keepers[0]) && !err; i++) {
		program = bpf_object__find_program_by_name(t->skel->obj, keepers[i]);
		err = bpf_program__autoload(program) ? attach_program(t, keepers[i], NULL) : 0;
		failure__set(f, STATUS_SYSTEM, err, "attaching %s failed: %m", keepers[i]);
	}
	return err;
}

/*
 * Returns whether a hook is attached after the others. On Linux 5.10 (not 6.1) stacks end at a
 * return address that a return probe has replaced, and probes of a function run in the reverse
 * order of attaching. The hooks that read the stacks of copies must therefore run before those that
 * time them.
 */
static bool attaches_last(enum hook_id id)
{
	return id >= HOOK_SKB_COPY && id <= HOOK_SKB_COW;
}

static int attach_hooks(struct tracer *t, struct plan *plan, struct failure *f)
{
	int i, err;

	for (i = 0; i < 2 * HOOK_COUNT; i++) {
		enum hook_id id = (enum hook_id)(i % HOOK_COUNT);

		if (!plan->entries[id].option || attaches_last(id) != (i >= HOOK_COUNT))
			continue;
		err = attach_hook(t, &plan->entries[id]);
		if (err && id == HOOK_SEND)
			return failure__set(f, STATUS_SYSTEM, err, "%s", plan->entries[id].reason);
		t->options[id] = plan->entries[id].option;
	}
	return 0;
}

static int count_cost(struct tracer *t, struct failure *f)
{
	t->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (t->stats_fd >= 0)
		return 0;
	return failure__set(f, STATUS_SYSTEM, -errno,
			    "--cost: the kernel does not count run time: %m");
}

static int load_tracer(struct tracer *t, const struct plan *plan, const struct tracer_setup *setup,
		       struct failure *f)
{
	int err;

	t->stats_fd = -1;
	t->planned = *plan;
	t->setup = *setup;
	err = load(t, plan, setup);
	failure__set(f, STATUS_SYSTEM, err,
		     "the kernel refused the programs: %m (--verbose shows why)");
	if (!err && setup->target && setup->target->by == TARGET_CGROUP)
		err = set_cgroup(t, setup->target->named, f);
	if (!err && setup->cost)
		err = count_cost(t, f);
	if (!err && setup->timeline)
		err = timeline__open(&t->timeline, t->skel->maps.timeline_ring, setup->timeline,
				     setup->slower_ns);
	return err;
}

int tracer__attach_programs(struct tracer *t, struct plan *plan, struct failure *f)
{
	const struct counter_events *counters = t->setup.call_counters;
	int err = 0;

	if (counter_events__count(counters))
		err = call_counters__open(&t->call_counters, counters,
					  bpf_map__fd(t->skel->maps.call_events), f);
	if (!err)
		err = attach_keepers(t, f);
	if (!err)
		err = attach_hooks(t, plan, f);
	if (!err && t->setup.profile)
		err = profile__attach(&t->profile, t->skel->progs.profile_sample, t->setup.profile,
				      f);
	t->attached_as = *plan;
	return err;
}

void tracer__detach_programs(struct tracer *t)
{
	/*
	 * The last link is removed first: if the first of two programs at a tracepoint is removed
	 * before the second, the kernel waits for a grace period.
	 */
	while (t->attached_count)
		bpf_link__destroy(t->attached[--t->attached_count].link);
	profile__detach(t->profile);
	t->profile = NULL;
	/* Open counters would take hardware counters from another tracer. */
	call_counters__free(t->call_counters);
	t->call_counters = NULL;
}

int tracer__attach(struct tracer **out, struct plan *plan, const struct tracer_setup *setup,
		   struct failure *f)
{
	struct tracer *t = calloc(1, sizeof(*t));
	int err;

	*out = NULL;
	if (!t)
		return -ENOMEM;
	err = load_tracer(t, plan, setup, f);
	if (!err)
		err = tracer__attach_programs(t, plan, f);
	if (err)
		tracer__free(t);
	else
		*out = t;
	return err;
}

int tracer__add_target(struct tracer *t, pid_t tgid, enum role role)
{
	__u32 key = tgid, value = role;

	t->skel->bss->tgid_filter[key % TGID_FILTER] = 1;
	return bpf_map__update_elem(t->skel->maps.targets, &key, sizeof(key), &value, sizeof(value),
				    BPF_ANY);
}

size_t tracer__targets(struct tracer *t, pid_t *tgids, size_t room)
{
	struct bpf_map *map = t->skel->maps.targets;
	__u32 key, *before = NULL;
	size_t count = 0;

	while (!bpf_map__get_next_key(map, before, &key, sizeof(key))) {
		if (count < room)
			tgids[count] = (pid_t)key;
		count++;
		before = &key;
	}
	return count;
}

void tracer__remove_target(struct tracer *t, pid_t tgid)
{
	__u32 key = tgid;

	bpf_map__delete_elem(t->skel->maps.targets, &key, sizeof(key), 0);
}

void tracer__free(struct tracer *t)
{
	if (!t)
		return;
	tracer__detach_programs(t);
	if (t->stats_fd >= 0)
		close(t->stats_fd);
	timeline__free(t->timeline);
	sendpath__destroy(t->skel);
	free(t);
}
