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

/* What a thread is doing; lives as long as the thread. */
struct thread {
	__u64 start;			   /* ns; of the send under way */
	__u64 sock;			   /* its socket; 0: no send under way */
	__u64 notification;		   /* of io_uring, which completes it; 0: none */
	__u64 size;			   /* bytes asked for, where known */
	__u32 flags;			   /* its MSG_ flags */
	__u16 kind;			   /* enum call_kind */
	__u16 role;			   /* enum role */
	__u64 counters[CALL_COUNTERS_MAX]; /* what they said when the send began, */
	__u64 switches;			   /* how often the thread had left a CPU then, */
	__u32 cpu;			   /* and which one it was on */
	__u32 counters_read;
	__u64 inflight; /* its slot of the in-flight ring, if it is followed */
	__u64 reading;	/* ns; when it began to read an error queue; 0: it does not */
	__u64 copying;	/* ns; the same of a receiver's copy */
	__u32 id;	/* of a zero-copy send, */
	__u8 tracked;	/* if it is known, */
	__u8 guessed;	/* and guessed */
	__u8 has_sent;	/* an earlier send of it was seen in this window */
	__u8 before;	/* the send under way began before the window */
};

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
	/* See inflight.bpf.h. */
	__u64 inflight[INFLIGHT_SLOTS];
	__u32 inflight_bytes[INFLIGHT_SLOTS];
	__u64 window_ids[WINDOW_WORDS];
	__s32 waiting; /* so many of them have not completed */
	__u32 closed;  /* forgotten when none waits any more */
};

struct thread_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
};
extern struct thread_map threads SEC(".maps");

/* The same by thread id, for kernels without task storage: one of the two exists. */
struct thread_id_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct thread);
};
extern struct thread_id_map threads_by_id SEC(".maps");

/* How targets are known: set by the analyzer before loading. */
extern const volatile __u32 target_by;
extern const volatile char target_comm[COMM_MAX];
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

static __always_inline struct totals *totals__get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&totals, &zero);
}

/*
 * Linux 5.15 has all of task storage in tracing programs, the current task as a
 * typed pointer, and bpf_task_pt_regs(). The loader settles this, so that the
 * verifier of an older kernel never sees the helpers that it lacks.
 */
static __always_inline bool has_task_state(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);
}

/* The calling thread's state if it has one: for hooks that every task passes. */
static __always_inline struct thread *thread__peek(void)
{
	__u32 tid = bpf_get_current_pid_tgid();

	if (has_task_state())
		return bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL, 0);
	return bpf_map_lookup_elem(&threads_by_id, &tid);
}

static __always_inline struct thread *thread__make(__u32 role)
{
	struct thread fresh = {.role = role};
	__u32 tid = bpf_get_current_pid_tgid();

	if (has_task_state())
		return bpf_task_storage_get(&threads, bpf_get_current_task_btf(), &fresh,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);
	bpf_map_update_elem(&threads_by_id, &tid, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&threads_by_id, &tid);
}

static __always_inline bool has_target_name(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	char comm[COMM_MAX];
	int i;

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
		return bpf_get_current_pid_tgid() >> 32;
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

/* NULL unless the thread's process is a target. */
static __always_inline struct thread *thread__get(void)
{
	struct thread *thread = thread__peek();
	struct totals *t;
	__u32 role;

	if (thread && role_is_lasting())
		return thread;
	role = current_role();
	if (!role)
		return NULL;
	if (!thread)
		thread = thread__make(role);
	if (thread)
		return thread;
	t = totals__get();
	if (t)
		__sync_fetch_and_add(&t->lost_threads, 1);
	return NULL;
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
