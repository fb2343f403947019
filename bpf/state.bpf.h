/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State that the concerns share: the gate, whose processes are measured, what a thread is doing. */
#pragma once

#include "read.bpf.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

#include "abi.h"

#define MSG_ZEROCOPY	 0x4000000
#define MSG_SPLICE_PAGES 0x8000000 /* of sendfile and splice, since Linux 6.5 */
#define IPPROTO_TCP	 6
#define AF_INET		 2
#define AF_INET6	 10

#define MAP(name, kind, flags, entries, key_type, value_type) \
	struct {                                              \
		__uint(type, BPF_MAP_TYPE_##kind);            \
		__uint(map_flags, flags);                     \
		__uint(max_entries, entries);                 \
		__type(key, key_type);                        \
		__type(value, value_type);                    \
	} name SEC(".maps")
#define HASH(name, entries, key_type, value_type) MAP(name, HASH, 0, entries, key_type, value_type)
/* Takes memory as it fills. The analyzer allocates it beforehand for older kernels. */
#define GROWING_HASH(name, entries, key_type, value_type) \
	MAP(name, HASH, BPF_F_NO_PREALLOC, entries, key_type, value_type)
#define PERCPU_ARRAY(name, entries, value_type) \
	MAP(name, PERCPU_ARRAY, 0, entries, __u32, value_type)
/* The first element, in a map of one a CPU this CPU's. */
#define FIRST_OF(map)                               \
	({                                          \
		__u32 first_ = 0;                   \
		bpf_map_lookup_elem(&map, &first_); \
	})

/*
 * By the lower bits of the thread's id: finding it so takes a tenth of the instructions that task
 * storage or a hash take.
 */
struct thread threads[THREAD_SLOTS];

/* Slot -> id of the thread that it is for: its insertion settles that. */
HASH(thread_owners, THREAD_SLOTS, __u32, __u32);

/* Threads whose slot is another's, by id. */
GROWING_HASH(more_threads, 65536, __u32, struct thread);
/* If there never was one, none needs to be looked for. */
volatile __u32 more_threads_seen;

/* How targets are known: set by the analyzer before loading. */
const volatile __u32 target_by = TARGET_PROCESS;
const volatile char target_comm[COMM_MAX] = {};
/*
 * Is more asked for than counts and times: counters, stages? One look at this keeps the way of a
 * plain send free of looks at each.
 */
const volatile bool full_path = false;
/* Is each target in tgid_filter? */
const volatile bool tgids_filtered = false;
/* The inode of the analyzer's PID namespace; 0: the initial one, whose ids helpers give. */
const volatile __u32 pid_namespace = 0;

/* Process id, in the analyzer's PID namespace -> enum role */
HASH(targets, 65536, __u32, __u32);

/*
 * Where a byte is 0, no process whose id ends in these bits is a target: most others are known by
 * it, without a look-up. Bytes, because two CPUs may set neighbours at once.
 */
volatile __u8 tgid_filter[TGID_FILTER];

/* The control group, if targets are known by it. */
MAP(target_cgroup, CGROUP_ARRAY, 0, 1, __u32, __u32);

PERCPU_ARRAY(totals, 1, struct totals);

/* enum gate */
volatile __u32 gate;

static __always_inline bool is_tcp(struct sock *sk)
{
	__u16 family = READ(sk, __sk_common.skc_family);

	return (family == AF_INET || family == AF_INET6) && READ(sk, sk_protocol) == IPPROTO_TCP;
}

/* FNV-1a, by words; most: as the verifier knows no bound of count. */
static __always_inline __u64 hash_words(const __u64 *words, __u32 count, __u32 most)
{
	__u64 hash = 14695981039346656037ULL;
	__u32 i;

	for (i = 0; i < most && i < count; i++)
		hash = (hash ^ words[i]) * 1099511628211ULL;
	return hash;
}

/*
 * What the function of a fexit program returned: it lies behind the arguments. From
 * 5.17 on a helper finds it whatever their number, which was never another before.
 * volatile keeps the compiler from one load for both, by a pointer that the verifier
 * does not accept.
 */
static __always_inline __u64 function_result(unsigned long long *ctx, int arguments)
{
	__u64 result = 0;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_func_ret))
		return *(volatile __u64 *)&ctx[arguments];
	bpf_get_func_ret(ctx, &result);
	return result;
}

/*
 * The verifier of every kernel allows arithmetic with a number and not with a pointer, and before
 * Linux 5.12 global functions take only numbers.
 */
static __always_inline __u64 number_of(const void *pointer)
{
	__u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), &pointer);
	return number;
}

/*
 * 0, which the verifier cannot know. Sums that start from a known 0 make it go through a loop once
 * for each way by which they can become another number.
 */
volatile __u64 opaque_zero;

/* Adds to a member of totals: atomic, because an interrupt on this CPU may add to it, too. */
#define COUNT(member, n)                                      \
	({                                                    \
		struct totals *t_ = FIRST_OF(totals);         \
                                                              \
		if (t_)                                       \
			__sync_fetch_and_add(&t_->member, n); \
	})

/*
 * Linux 5.15 has bpf_task_pt_regs(), and the current task as a typed pointer, whose members are
 * read without a helper. The loader settles this, so that the verifier of an older kernel never
 * sees the helpers that it lacks.
 */
static __always_inline bool has_typed_task(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);
}

/* In the initial PID namespace: the thread's id, and the process's in the upper half. */
static __always_inline __u64 current_ids(void)
{
	struct task_struct *task;

	if (!has_typed_task())
		return bpf_get_current_pid_tgid();
	task = bpf_get_current_task_btf();
	return (__u64)task->tgid << 32 | (__u32)task->pid;
}

static __always_inline __u32 current_tgid(void)
{
	return current_ids() >> 32;
}

/* For hooks that every process passes; false: it may be a target. */
static __always_inline bool is_bystander(void)
{
	return tgids_filtered && !tgid_filter[current_tgid() % TGID_FILTER];
}

#define PF_IO_WORKER 0x10

/*
 * io_uring's workers (Linux 5.12) are threads of the process that never were in user
 * space: what stands for their registers is none.
 */
static __always_inline bool is_io_worker(void)
{
	if (has_typed_task())
		return bpf_get_current_task_btf()->flags & PF_IO_WORKER;
	return READ((struct task_struct *)bpf_get_current_task(), flags) & PF_IO_WORKER;
}

/* Is this the state of that thread, and not of an earlier owner of its id? */
static __always_inline bool thread__is_of(const struct thread *thread, __u64 ids)
{
	return thread->tid == (__u32)ids && thread->tgid == ids >> 32;
}

/* The calling thread's state, if it is in its slot: mostly that is all it takes. */
static __always_inline struct thread *thread__in_slot(void)
{
	__u64 ids = current_ids();
	struct thread *thread = &threads[(__u32)ids % THREAD_SLOTS];

	if (!thread__is_of(thread, ids))
		thread = NULL;
	/* Opaque to clang, which would else test the ids again: the verifier wants the pointer
	 * tested. */
	__asm__ volatile("" : "+r"(thread));
	return thread;
}

static __always_inline struct thread *thread__beside_slot(void)
{
	__u64 ids = more_threads_seen ? current_ids() : 0;
	struct thread *thread = NULL;
	__u32 tid = ids;

	if (ids)
		thread = bpf_map_lookup_elem(&more_threads, &tid);
	return thread && thread__is_of(thread, ids) ? thread : NULL;
}

/* The calling thread's state if it has one. */
static __always_inline struct thread *thread__peek(void)
{
	struct thread *thread = thread__in_slot();

	return thread || is_bystander() ? thread : thread__beside_slot();
}

/* Makes the calling thread's state: a function of its own has a stack of its own. */
static __noinline void thread__make(__u32 role)
{
	__u32 tid = current_ids(), slot = tid % THREAD_SLOTS;
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
}

static __always_inline bool has_target_name(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	char comm[COMM_MAX];
	int i;

	/* Mostly the first letter settles it. */
	if (has_typed_task() && bpf_get_current_task_btf()->group_leader->comm[0] != target_comm[0])
		return false;
	BPF_CORE_READ_STR_INTO(&comm, task, group_leader, comm);
	for (i = 0; i < COMM_MAX; i++) {
		if (comm[i] != target_comm[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

#define PID_LEVELS 33 /* MAX_PID_NS_LEVEL, and the initial namespace */

/*
 * The id of a task's process as the analyzer's PID namespace has it; 0: none there.
 * bpf_get_ns_current_pid_tgid() knows nothing of processes in namespaces below that one.
 */
static __always_inline __u32 task_process_id(struct task_struct *task)
{
	struct pid *pid;
	struct upid *id;
	__u32 i, level;

	if (!pid_namespace)
		return READ(task, tgid);
	pid = READ(task, group_leader, thread_pid);
	level = READ(pid, level);
	id = (void *)pid + bpf_core_field_offset(struct pid, numbers);
	for (i = 0; i < PID_LEVELS && i <= level; i++) {
		if (READ(id, ns, ns.inum) == pid_namespace)
			return READ(id, nr);
		id = (void *)id + bpf_core_type_size(struct upid);
	}
	return 0;
}

static __always_inline __u32 current_process_id(void)
{
	if (!pid_namespace)
		return current_tgid();
	return task_process_id((void *)bpf_get_current_task());
}

static __always_inline __u32 current_role(void)
{
	__u32 tgid, *role;

	switch (target_by) {
	case TARGET_ALL:
		return ROLE_BOTH;
	case TARGET_COMM:
		return has_target_name() ? ROLE_BOTH : ROLE_NONE;
	case TARGET_CGROUP:
		return bpf_current_task_under_cgroup(&target_cgroup, 0) == 1 ? ROLE_BOTH
									     : ROLE_NONE;
	default:
		tgid = current_process_id();
		role = bpf_map_lookup_elem(&targets, &tgid);
		return role ? *role : ROLE_NONE;
	}
}

/* The send that a thread was in was not seen to return. */
static __always_inline void thread__leave_send(struct thread *thread)
{
	if (!thread->before)
		COUNT(unreturned, 1);
	thread->sock = thread->before = 0;
	thread->notification = 0;
	thread->followed = thread->guessed = thread->tracked = 0;
}

/* Is the thread's process a target, now? */
static __always_inline struct thread *thread__settle(struct thread *thread)
{
	__u32 role = current_role();

	if (!role)
		return NULL;
	/* A process keeps its id as long as it lives; its name and its group it may change. */
	if (target_by == TARGET_PROCESS || target_by == TARGET_ALL)
		role |= ROLE_LASTING;
	if (is_io_worker())
		role |= ROLE_IO_WORKER;
	if (full_path)
		role |= ROLE_FULL_PATH;
	if (!thread) {
		thread__make(role);
		thread = thread__peek();
	}
	if (thread)
		return thread;
	COUNT(lost_threads, 1);
	return NULL;
}

/* NULL unless the thread's process is a target. */
static __always_inline struct thread *thread__get(void)
{
	struct thread *thread = thread__in_slot();

	if (thread && thread->role & ROLE_LASTING)
		return thread;
	if (is_bystander())
		return NULL;
	if (!thread)
		thread = thread__beside_slot();
	return thread && thread->role & ROLE_LASTING ? thread : thread__settle(thread);
}
