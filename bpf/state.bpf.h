/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State that all programs share: the gate, the processes to measure, what each thread is doing. */
#pragma once

#include "proto.bpf.h"

#include <bpf/bpf_tracing.h>

#include "abi.h"

#define MSG_ZEROCOPY	 0x4000000
#define MSG_SPLICE_PAGES 0x8000000 /* of sendfile and splice, since Linux 6.5 */

#define MAP(name, kind, flags, entries, key_type, value_type) \
	struct {                                              \
		__uint(type, BPF_MAP_TYPE_##kind);            \
		__uint(map_flags, flags);                     \
		__uint(max_entries, entries);                 \
		__type(key, key_type);                        \
		__type(value, value_type);                    \
	} name SEC(".maps")
#define HASH(name, entries, key_type, value_type) MAP(name, HASH, 0, entries, key_type, value_type)
/* A hash that takes memory as it fills. The analyzer preallocates it on older kernels. */
#define GROWING_HASH(name, entries, key_type, value_type) \
	MAP(name, HASH, BPF_F_NO_PREALLOC, entries, key_type, value_type)
#define PERCPU_ARRAY(name, entries, value_type) \
	MAP(name, PERCPU_ARRAY, 0, entries, __u32, value_type)
/* The first element of a map; of a per-CPU map, the first element of this CPU. */
#define FIRST_OF(map)                               \
	({                                          \
		__u32 first_ = 0;                   \
		bpf_map_lookup_elem(&map, &first_); \
	})

/*
 * The states of threads, indexed by the lower bits of the thread id: this takes a tenth of the
 * instructions of task storage or of a hash.
 */
struct thread threads[THREAD_SLOTS];

/* Slot -> id of its thread; the insertion decides which thread gets the slot. */
HASH(thread_owners, THREAD_SLOTS, __u32, __u32);

/* States of threads, by id, whose slot another thread has. */
GROWING_HASH(more_threads, 65536, __u32, struct thread);
/* While this is 0, more_threads is empty and need not be searched. */
volatile __u32 more_threads_seen;

/* How targets are recognized: set by the analyzer before loading. */
const volatile __u32 target_by = TARGET_PROCESS;
const volatile char target_comm[COMM_MAX] = {};
/* True if stages, counters or a timeline are measured, too. Plain sends check only this. */
const volatile bool full_path = false;
/* True if the process ids of all targets are in tgid_filter. */
const volatile bool tgids_filtered = false;
/* Inode of the analyzer's PID namespace; 0: the initial one, whose ids the helpers return. */
const volatile __u32 pid_namespace = 0;

/* Process id, in the analyzer's PID namespace -> enum role */
HASH(targets, 65536, __u32, __u32);

/*
 * A byte of 0 means that no target's process id ends in these bits, which excludes most other
 * processes without a lookup. An element is a byte, not a bit, because two CPUs may set neighbours
 * at once.
 */
volatile __u8 tgid_filter[TGID_FILTER];

/* The control group, if targets are recognized by it. */
MAP(target_cgroup, CGROUP_ARRAY, 0, 1, __u32, __u32);

PERCPU_ARRAY(totals, 1, struct totals);

/* The histograms of enum span. */
PERCPU_ARRAY(spans, SPANS, struct hist);

static __always_inline void span__add(enum span span, __u64 ns)
{
	__u32 key = span;
	struct hist *h = bpf_map_lookup_elem(&spans, &key);

	if (h)
		hist_put(h, ns);
}

/* enum gate */
volatile __u32 gate;

/* Returns the FNV-1a hash of words. most: the constant bound of count that the verifier needs. */
static __always_inline __u64 hash_words(const __u64 *words, __u32 count, __u32 most)
{
	__u64 hash = 14695981039346656037ULL;
	__u32 i;

	for (i = 0; i < most && i < count; i++)
		hash = (hash ^ words[i]) * 1099511628211ULL;
	return hash;
}

/*
 * Returns the result of a fexit program's function. In ctx it follows the arguments. From 5.17 on a
 * helper finds it, whatever the number of arguments. That number did not change in earlier kernels.
 * volatile keeps the compiler from merging both reads into one, by a pointer that the verifier
 * rejects.
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
 * Forms that verifiers require:
 *
 * A global function is checked once. A static function is checked at each call, for each way that
 * leads to the call. Therefore long loops are global functions, and so are rare parts that several
 * programs call. Before Linux 5.12 global functions take only numbers, and look up their socket
 * again. Each turn of a loop is checked, so a long loop calls a global function that has a short
 * loop. A loop whose bound is computed needs a constant bound, too.
 */
#define GLOBAL __noinline

/* Returns a pointer as a number. Only arithmetic with numbers is allowed by all verifiers. */
static __always_inline __u64 number_of(const void *pointer)
{
	__u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), &pointer);
	return number;
}

/*
 * Always 0, which the verifier does not know. If it knew from which number a loop starts, it would
 * check the loop, or the code after it, once for each way in which the number can change.
 */
volatile __u64 opaque_zero;

/*
 * Returns the same number, which the verifier then does not know. The verifiers of Linux 5.10 and
 * 6.1 have removed a test of a number that was tested before in the same turn of a loop with calls,
 * as if they knew the result.
 */
static __always_inline __u64 opaque(__u64 number)
{
	return number + opaque_zero;
}

/*
 * Adds to a member of totals, atomically: an interrupt on this CPU may add to it, too. If n is a
 * constant 0, clang makes an atomic OR, which Linux 5.10 lacks.
 */
#define COUNT(member, n)                                      \
	({                                                    \
		struct totals *t_ = FIRST_OF(totals);         \
                                                              \
		if (t_)                                       \
			__sync_fetch_and_add(&t_->member, n); \
	})

/*
 * Since Linux 5.15 there is bpf_task_pt_regs(), and the current task as a typed pointer, whose
 * members are read without a helper. The loader evaluates this test, so that an older verifier
 * never sees the helpers that it lacks.
 */
static __always_inline bool has_typed_task(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);
}

/* Returns the thread id and, in the upper half, process id, in the initial PID namespace. */
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

/* Returns whether the current process cannot be a target. For hooks that run for every process. */
static __always_inline bool is_bystander(void)
{
	return tgids_filtered && !tgid_filter[current_tgid() % TGID_FILTER];
}

#define PF_IO_WORKER 0x10

/*
 * io_uring's workers (since Linux 5.12) are threads of the process that never were in user space,
 * so they have no registers of a syscall.
 */
static __always_inline bool is_io_worker(void)
{
	if (has_typed_task())
		return bpf_get_current_task_btf()->flags & PF_IO_WORKER;
	return READ((struct task_struct *)bpf_get_current_task(), flags) & PF_IO_WORKER;
}

/* Returns whether the state is that of the thread with these ids, not of an earlier one. */
static __always_inline bool thread__is_of(const struct thread *thread, __u64 ids)
{
	return thread->tid == (__u32)ids && thread->tgid == ids >> 32;
}

/* Returns the calling thread's state if it is in its slot, as it mostly is; else NULL. */
static __always_inline struct thread *thread__in_slot(void)
{
	__u64 ids = current_ids();
	struct thread *thread = &threads[(__u32)ids % THREAD_SLOTS];

	if (!thread__is_of(thread, ids))
		thread = NULL;
	/*
	 * Hides the pointer from clang, which would otherwise test the ids again; the verifier
	 * wants a test of the pointer.
	 */
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

/* The calling thread's state, or NULL. */
static __always_inline struct thread *thread__peek(void)
{
	struct thread *thread = thread__in_slot();

	return thread || is_bystander() ? thread : thread__beside_slot();
}

/* Creates the calling thread's state. A separate function has its own stack. */
static __noinline void thread__make(__u32 role)
{
	__u32 tid = current_ids(), slot = tid % THREAD_SLOTS;
	struct thread fresh = {.tid = tid, .tgid = current_tgid(), .role = role};
	struct thread *own = &threads[slot];
	__u32 *owner;

	/* own is computed before: the verifier forgets the bound of slot once it is a map's key. */
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

	/* Usually the first letter decides. */
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

#define PID_LEVELS 33 /* MAX_PID_NS_LEVEL, plus the initial namespace */

/*
 * Returns the id of a task's process in the analyzer's PID namespace; 0: it has none there.
 * bpf_get_ns_current_pid_tgid() does not find processes in namespaces below that one.
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

/* The return of the thread's send was not seen. */
static __always_inline void thread__leave_send(struct thread *thread)
{
	if (!thread->send.before)
		COUNT(unreturned, 1);
	thread->send.sock = thread->send.before = 0;
	thread->send.notification = 0;
	thread->send.guessed = thread->send.tracked = 0;
}

/* Returns the thread's state, created if NULL, if its process is a target now; else NULL. */
static __always_inline struct thread *thread__settle(struct thread *thread)
{
	__u32 role = current_role();

	if (!role)
		return NULL;
	/* A process keeps its id while it lives, but may change its name and its control group. */
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

/* Returns the state of the calling thread; NULL unless its process is a target. */
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
