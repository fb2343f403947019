// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The maps and variables that the concerns share, and when a socket is forgotten. */
#include "groups.bpf.h"
#include "inflight.bpf.h"
#include "passing.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct thread threads[THREAD_SLOTS];
struct thread_owner_map thread_owners SEC(".maps");
struct more_thread_map more_threads SEC(".maps");
volatile __u32 more_threads_seen;
struct target_map targets SEC(".maps");
volatile __u8 target_hints[TARGET_HINTS];
struct target_cgroup_map target_cgroup SEC(".maps");
struct socket_map sockets SEC(".maps");
struct totals_map totals SEC(".maps");
struct ubuf_map ubufs SEC(".maps");
struct cause_index_map cause_index SEC(".maps");
struct cause_info_map cause_infos SEC(".maps");
struct cause_counter_map cause_counters SEC(".maps");
struct passing_map passing SEC(".maps");
const volatile __u64 ptype_all_address = 0;
const volatile __u64 net_hotdata_address = 0;
struct new_socket_map new_socket SEC(".maps");
struct retired_map retired SEC(".maps");
struct span_map spans SEC(".maps");
struct pinned_map pinned SEC(".maps");
struct pinned_peak_map pinned_peaks SEC(".maps");
const volatile __u32 page_shift = 12;
const volatile bool ids_guessed = false;
volatile __u32 gate;
volatile __u32 sockets_seen;
const volatile __u32 target_by = TARGET_PROCESS;
const volatile char target_comm[COMM_MAX] = {};
const volatile __u32 pid_namespace = 0;
const volatile bool targets_hinted = false;
const volatile bool measures_more = false;
const volatile __u32 group_by = 0;
struct group_map groups SEC(".maps");
struct group_map peers SEC(".maps");
struct group groups_rest, peers_rest;

__noinline int thread__make(__u32 role)
{
	__u32 tid = current_tid(), slot = tid % THREAD_SLOTS;
	struct thread fresh = {.tid = tid, .tgid = current_tgid(), .role = role};
	struct thread *own = &threads[slot];
	__u32 *owner;

	/* Found here: the verifier forgets what it knows of a key. */
	__asm__ volatile("" : "+r"(own));
	bpf_map_update_elem(&thread_owners, &slot, &tid, BPF_NOEXIST);
	owner = bpf_map_lookup_elem(&thread_owners, &slot);
	if (owner && *owner == tid) {
		*own = fresh;
	} else {
		more_threads_seen = 1;
		bpf_map_update_elem(&more_threads, &tid, &fresh, BPF_ANY);
	}
	return 0;
}

/*
 * args: sk, old state, new state. What waits in a closed socket may complete later:
 * tcp_disconnect(), for SO_LINGER 0 too, purges the queue after this. One that connects is no
 * longer that socket but another, whose memory it is now; perhaps of a process that is not
 * measured.
 */
SEC("raw_tp/inet_sock_set_state")
int socket_closed(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 key = ctx->args[0];
	struct zerocopy_socket *s = sockets_seen ? bpf_map_lookup_elem(&sockets, &key) : NULL;

	if (!s)
		return 0;
	if ((int)ctx->args[2] != TCP_CLOSE) {
		if (s->closed)
			bpf_map_delete_elem(&sockets, &key);
		return 0;
	}
	s->closed = 1;
	if (s->waiting <= 0)
		socket__retire(key);
	return 0;
}

/* Its id may soon be another's. */
SEC("raw_tp/sched_process_exit")
int thread_gone(struct bpf_raw_tracepoint_args *ctx)
{
	struct thread *thread = thread__peek();
	__u32 tid, slot, *owner;

	if (!thread)
		return 0;
	tid = thread->tid;
	slot = tid % THREAD_SLOTS;
	if (thread->sock)
		thread__leave_send(thread);
	thread->tid = 0;
	bpf_map_delete_elem(&more_threads, &tid);
	owner = bpf_map_lookup_elem(&thread_owners, &slot);
	if (owner && *owner == tid)
		bpf_map_delete_elem(&thread_owners, &slot);
	return 0;
}

/* args: parent, child. The children of a target are targets. */
SEC("raw_tp/sched_process_fork")
int target_forked(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	__u32 parent = current_process_id();
	__u32 tgid = task_process_id(child);
	__u32 *role = bpf_map_lookup_elem(&targets, &parent);

	if (!role || tgid == parent)
		return 0;
	target_hints[tgid % TARGET_HINTS] = 1;
	if (bpf_map_update_elem(&targets, &tgid, role, BPF_ANY))
		TOTALS_COUNT(lost_processes);
	return 0;
}

/* Its id may soon be another's. live is 0 when the last thread has gone. */
SEC("raw_tp/sched_process_exit")
int target_gone(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 tgid = current_process_id();

	if (!BPF_CORE_READ(task, signal, live.counter))
		bpf_map_delete_elem(&targets, &tgid);
	return 0;
}
