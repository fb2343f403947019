/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State that the concerns share: the gate, whose processes are measured, what a
 * thread is doing, which sockets asked for zero-copy. Defined in state.bpf.c.
 */
#pragma once

#include <vmlinux.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "abi.h"

#define MSG_ZEROCOPY	 0x4000000
#define MSG_SPLICE_PAGES 0x8000000 /* of sendfile and splice, since Linux 6.5 */
#define IPPROTO_TCP	 6
#define AF_INET		 2
#define AF_INET6	 10

#define CAUSE_BITS_MAX 8

/* Which causes copied data of a shared ubuf: CAUSE_BIT_* and a counter's index; 0: unused. */
struct cause_bits {
	__u16 bits[CAUSE_BITS_MAX];
} __attribute__((aligned(8)));

/* The same, and what each reference leaves: see reference_gone(). */
struct ubuf_entry {
	struct cause_bits causes;
	__u32 sends; /* 0: none was seen to go */
	__u32 bytes; /* they asked for, where none is of before the window */
	__u32 flagged;
};

#define COUNTED_KEPT 16 /* a power of two */

/* Completions that were counted together: counted.bpf.h. */
struct counted {
	__u32 from, own; /* send ids */
	__u32 sends;	 /* from there on; 0: being written */
	__u32 in_window; /* of these, those that count */
	__u16 flagged;	 /* as copied */
	__u16 charged;	 /* for these causes, or for none yet */
	struct cause_bits bits;
};

/* A socket on which a target asked for zero-copy. */
struct zerocopy_socket {
	__u32 progress; /* the send id up to which completions were looked at */
	__u32 first;	/* the send id it is watched from: earlier ones are of before the window */
	__u32 born;	/* distinguishes it from another socket at the same address */
	__u32 completed_to; /* one past the last send seen to complete */
	__u32 under_way;    /* sends whose id was guessed */
	__u32 shared;	    /* there were several of these at once: no guess is right */
	__u32 assumed;	    /* sends counted before their own notification was read */
	__u32 counted_turn;
	struct counted counted[COUNTED_KEPT];
	struct group_key who; /* whom its completions are charged to: see groups.bpf.h */
	__u64 device;	      /* that its route led to then */
	/* See inflight.bpf.h. */
	__u64 inflight[INFLIGHT_SLOTS];
	__u32 inflight_bytes[INFLIGHT_SLOTS];
	__u64 window_ids[WINDOW_WORDS];
	__s32 waiting; /* so many of them have not completed */
	__u32 closed;  /* forgotten when none waits any more */
};

/*
 * By the lower bits of the thread's id: finding it so takes a tenth of the instructions that task
 * storage or a hash take.
 */
extern struct thread threads[THREAD_SLOTS];

/* Slot -> id of the thread that it is for: its insertion settles that. */
struct thread_owner_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, THREAD_SLOTS);
	__type(key, __u32);
	__type(value, __u32);
};
extern struct thread_owner_map thread_owners SEC(".maps");

/* Threads whose slot is another's, by id. */
struct more_thread_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct thread);
};
extern struct more_thread_map more_threads SEC(".maps");
/* If there never was one, none needs to be looked for. */
extern volatile __u32 more_threads_seen;

/* How targets are known: set by the analyzer before loading. */
extern const volatile __u32 target_by;
extern const volatile char target_comm[COMM_MAX];
/*
 * Is more asked for than counts and times: groups, counters, stages? One look at this
 * keeps the way of a plain send free of looks at each.
 */
extern const volatile bool measures_more;
/* Is each target in target_hints? */
extern const volatile bool targets_hinted;
/* The inode of the analyzer's PID namespace; 0: the initial one, whose ids helpers give. */
extern const volatile __u32 pid_namespace;

/* Process id, in the analyzer's PID namespace -> enum role */
struct target_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
};
extern struct target_map targets SEC(".maps");

/*
 * Where a byte is 0, no process whose id ends in these bits is a target: most others are known by
 * it, without a look-up. Bytes, because two CPUs may set neighbours at once.
 */
extern volatile __u8 target_hints[TARGET_HINTS];

/* The control group, if targets are known by it. */
struct target_cgroup_map {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
};
extern struct target_cgroup_map target_cgroup SEC(".maps");

/* By the address of struct sock. The analyzer allocates it beforehand for older kernels. */
struct socket_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct zerocopy_socket);
};
extern struct socket_map sockets SEC(".maps");

/* A socket that is new: too large for a program's stack. */
struct new_socket_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct zerocopy_socket);
};
extern struct new_socket_map new_socket SEC(".maps");

#define RETIRED 16 /* a power of two */

/* The last closed sockets of a CPU without sends in flight: their counts may still be corrected. */
struct retired {
	__u64 socks[RETIRED];
	__u32 turn;
};

struct retired_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct retired);
};
extern struct retired_map retired SEC(".maps");

struct totals_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct totals);
};
extern struct totals_map totals SEC(".maps");

/* enum gate */
extern volatile __u32 gate;
/* Was there ever a socket to watch? Else what all packets pass has nothing to look at. */
extern volatile __u32 sockets_seen;

/* For hooks that every packet passes; false: no zero-copy send of a target has begun. */
static __always_inline bool sockets_watched(void)
{
	return gate && sockets_seen;
}

static __always_inline bool is_tcp(struct sock *sk)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);

	return (family == AF_INET || family == AF_INET6) &&
	       BPF_CORE_READ(sk, sk_protocol) == IPPROTO_TCP;
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

/* The verifier allows arithmetic with a number, and functions of their own one, no pointer. */
static __always_inline __u64 number_of(const void *pointer)
{
	__u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), &pointer);
	return number;
}

static __always_inline struct totals *totals__get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&totals, &zero);
}

/* One more of a member: atomic, because an interrupt on this CPU may count it, too. */
#define TOTALS_COUNT(member)                                  \
	({                                                    \
		struct totals *t_ = totals__get();            \
                                                              \
		if (t_)                                       \
			__sync_fetch_and_add(&t_->member, 1); \
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

/* Ids in the initial PID namespace. */
static __always_inline __u32 current_tid(void)
{
	if (has_typed_task())
		return bpf_get_current_task_btf()->pid;
	return bpf_get_current_pid_tgid();
}

static __always_inline __u32 current_tgid(void)
{
	if (has_typed_task())
		return bpf_get_current_task_btf()->tgid;
	return bpf_get_current_pid_tgid() >> 32;
}

/* For hooks that every process passes; false: it may be a target. */
static __always_inline bool is_bystander(void)
{
	return targets_hinted && !target_hints[current_tgid() % TARGET_HINTS];
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
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), flags) & PF_IO_WORKER;
}

/* Both, the process's in the upper half: each look at the task costs a call. */
static __always_inline __u64 current_ids(void)
{
	struct task_struct *task;

	if (!has_typed_task())
		return bpf_get_current_pid_tgid();
	task = bpf_get_current_task_btf();
	return (__u64)task->tgid << 32 | (__u32)task->pid;
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

/*
 * Makes the calling thread's state. A function of its own, of a number, in state.bpf.c: the
 * verifier goes through it once a program, and it has a stack of its own.
 */
int thread__make(__u32 role);

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
		return BPF_CORE_READ(task, tgid);
	pid = BPF_CORE_READ(task, group_leader, thread_pid);
	level = BPF_CORE_READ(pid, level);
	id = (void *)pid + bpf_core_field_offset(struct pid, numbers);
	for (i = 0; i < PID_LEVELS && i <= level; i++) {
		if (BPF_CORE_READ(id, ns, ns.inum) == pid_namespace)
			return BPF_CORE_READ(id, nr);
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

/* A process keeps its id as long as it lives; its name and its group it may change. */
static __always_inline bool role_is_lasting(void)
{
	return target_by == TARGET_PROCESS || target_by == TARGET_ALL;
}

/* The send that a thread was in was not seen to return. */
static __always_inline void thread__leave_send(struct thread *thread)
{
	if (!thread->before)
		TOTALS_COUNT(unreturned);
	thread->sock = thread->before = 0;
	thread->notification = thread->inflight = thread->guessed = thread->tracked = 0;
}

/* Is the thread's process a target, now? */
static __always_inline struct thread *thread__settle(struct thread *thread)
{
	__u32 role = current_role();

	if (!role)
		return NULL;
	if (role_is_lasting())
		role |= ROLE_LASTING;
	if (is_io_worker())
		role |= ROLE_IO_WORKER;
	if (measures_more)
		role |= ROLE_MORE;
	if (!thread) {
		thread__make(role);
		thread = thread__peek();
	}
	if (thread)
		return thread;
	TOTALS_COUNT(lost_threads);
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

#define SO_EE_ORIGIN_ZEROCOPY 5

static __always_inline int notification__read(struct sk_buff *skb, struct sock_extended_err *ee)
{
	struct sock_exterr_skb *err = (void *)skb + bpf_core_field_offset(struct sk_buff, cb);

	return bpf_core_read(ee, sizeof(*ee), &err->ee);
}

/* The last zero-copy notification in a socket's error queue. False if there is none. */
static __always_inline bool last_notification(struct sock *sk, struct sock_extended_err *ee)
{
	struct sk_buff_head *queue =
		(void *)sk + bpf_core_field_offset(struct sock, sk_error_queue);
	struct sk_buff *tail = BPF_CORE_READ(queue, prev);

	return (void *)tail != (void *)queue && !notification__read(tail, ee) &&
	       ee->ee_origin == SO_EE_ORIGIN_ZEROCOPY;
}

#define LONG_BEFORE (1U << 20)

/* Up to here sends of before the window are known to be completed; else, long before. */
static __always_inline __u32 completed_before(struct sock *sk, __u32 first)
{
	struct sock_extended_err ee;

	return last_notification(sk, &ee) ? ee.ee_data + 1 : first - LONG_BEFORE;
}

/* Another socket has the memory of one that was closed, and is not closed itself. */
static __always_inline bool is_anothers(const struct zerocopy_socket *s, struct sock *sk,
					__u32 next)
{
	return s->closed && (!next || BPF_CORE_READ(sk, __sk_common.skc_state) != TCP_CLOSE);
}

/*
 * From now on the completions of sk count, beginning with send id next. Later
 * calls change nothing: the entry goes when the socket is closed and waits for nothing.
 */
static __always_inline struct zerocopy_socket *socket__watch(struct sock *sk, __u32 next)
{
	__u64 key = (__u64)sk;
	struct zerocopy_socket *s, *fresh;
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&sockets, &key);
	if (s && !is_anothers(s, sk, next))
		return s;
	if (s)
		bpf_map_delete_elem(&sockets, &key);
	fresh = bpf_map_lookup_elem(&new_socket, &zero);
	if (!fresh)
		return NULL;
	fresh->progress = completed_before(sk, next);
	fresh->first = fresh->completed_to = next;
	fresh->born = (__u32)bpf_ktime_get_ns();
	sockets_seen = 1;
	/* -EEXIST, the loser of a race, is as good; where there is no room, its sends are
	 * untracked. */
	bpf_map_update_elem(&sockets, &key, fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sockets, &key);
}

/*
 * A closed socket has no send in flight. Its last notifications are freed right after: forgotten is
 * an earlier socket of this CPU.
 */
static __always_inline void socket__retire(__u64 key)
{
	struct zerocopy_socket *s;
	struct retired *last;
	__u64 *slot, earlier;
	__u32 zero = 0;

	last = bpf_map_lookup_elem(&retired, &zero);
	if (!last)
		return;
	slot = &last->socks[last->turn++ & (RETIRED - 1)];
	earlier = *slot;
	*slot = key;
	/* A socket may have got the memory of an earlier one. */
	s = earlier == key ? NULL : bpf_map_lookup_elem(&sockets, &earlier);
	if (s && s->closed && s->waiting <= 0)
		bpf_map_delete_elem(&sockets, &earlier);
}
