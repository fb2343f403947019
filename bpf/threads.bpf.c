// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Beginnings and ends of threads and processes. */
#include "stages.bpf.h"

/* Makes the children of a target targets. */
SEC("raw_tp/sched_process_fork")
int BPF_PROG(target_forked, struct task_struct *of, struct task_struct *child)
{
	__u32 parent = current_process_id();
	__u32 tgid = task_process_id(child);
	__u32 *role = bpf_map_lookup_elem(&targets, &parent);

	if (!role || tgid == parent)
		return 0;
	tgid_filter[tgid % TGID_FILTER] = 1;
	if (bpf_map_update_elem(&targets, &tgid, role, BPF_ANY))
		COUNT(lost_processes, 1);
	return 0;
}

static __always_inline void thread__end(struct thread *thread)
{
	__u32 tid = thread->tid, slot = tid % THREAD_SLOTS, *owner;

	if (thread->send.sock)
		thread__leave_send(thread);
	thread->tid = 0;
	bpf_map_delete_elem(&more_threads, &tid);
	owner = bpf_map_lookup_elem(&thread_owners, &slot);
	if (owner && *owner == tid)
		bpf_map_delete_elem(&thread_owners, &slot);
}

/*
 * Ids of an ended thread or process may soon be reused. live is 0 when the last thread has ended.
 */
SEC("raw_tp/sched_process_exit")
int BPF_PROG(thread_gone)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct thread *thread = thread__peek();
	__u32 tid = bpf_get_current_pid_tgid(), tgid;

	if (thread)
		thread__end(thread);
	if (stages)
		bpf_map_delete_elem(&accounts, &tid);
	if (target_by == TARGET_PROCESS && !BPF_CORE_READ(task, signal, live.counter)) {
		tgid = current_process_id();
		bpf_map_delete_elem(&targets, &tgid);
	}
	return 0;
}
