/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a send cost and what became of it, per syscall and kind: the bodies that all
 * mechanisms lead to.
 */
#pragma once

#include "causes.bpf.h"
#include "counters.bpf.h"
#include "groups.bpf.h"
#include "inflight.bpf.h"
#include "refusals.bpf.h"
#include "stages.bpf.h"
#include "syscalls.bpf.h"
#include "uring.bpf.h"

struct call_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CALL_SLOTS);
	__type(key, __u32);
	__type(value, struct call_slot);
};
extern struct call_map calls SEC(".maps");

struct error_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CALL_SLOTS *ERRNO_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
};
extern struct error_map errors SEC(".maps");

/* A random number below this one has a send timed, and divided; all are where it is 0. */
extern const volatile __u32 sampled_below;

/* The calling thread, if its sends count. */
static __always_inline struct thread *sender__get(void)
{
	struct thread *thread = gate == GATE_OPEN ? thread__get() : NULL;

	return thread && thread->role & ROLE_SENDER ? thread : NULL;
}

static __always_inline bool zerocopy_enabled(struct sock *sk)
{
	__u64 enabled = 1ULL << bpf_core_enum_value(enum sock_flags, SOCK_ZEROCOPY);

	return BPF_CORE_READ(sk, __sk_common.skc_flags) & enabled;
}

/* TCP took a send. */
static __always_inline void count_accepted(struct call_slot *s, __u32 ret)
{
	struct sized_sends *of_size;

	/* The mask changes nothing; it tells the verifier. */
	of_size = &s->sizes[size_class(ret) & (SIZE_CLASSES - 1)];
	of_size->sends++;
	of_size->bytes += ret;
}

/* The syscalls whose beginning a hook can see. */
static __always_inline bool entry_is_hooked(enum call_kind kind)
{
	return kind == CALL_SENDTO || kind == CALL_SENDMSG || kind == CALL_WRITE ||
	       kind == CALL_WRITEV;
}

static __always_inline bool is_sampled(void)
{
	return !sampled_below || bpf_get_prandom_u32() < sampled_below;
}

/* outside: see account__begin(). */
static __always_inline void send_begin(struct thread *thread, struct sock *sk, enum call_kind kind,
				       __u32 flags, __u64 size, enum stage outside)
{
	if (thread->sock)
		thread__leave_send(thread);
	thread->sock = (__u64)sk;
	thread->flags = flags;
	thread->kind = kind;
	thread->size = size;
	thread->plain_slot = 0;
	thread->timed = is_sampled();
	if (measures_more)
		counters__begin(thread);
	/* Completions of zero-copy sends are timed, all of them. */
	if (thread->timed || flags & MSG_ZEROCOPY)
		thread->start = bpf_ktime_get_ns();
	if (measures_more)
		account__begin(outside, thread->timed);
}

/* The thread may be in a send, which returned. */
static __always_inline struct thread *thread__returning(void)
{
	struct thread *thread = thread__in_slot();

	return thread ? thread : thread__beside_slot();
}

/*
 * Functions of their own, of numbers, in sends.bpf.c: the verifier goes through them once a
 * program. The calling thread is in the send that returned.
 */
int send_end(__s64 ret);
/* A send of which nothing is known but its return. */
int count_untimed(__u64 sock, __s32 ret);
/* A zero-copy send begins, with this id. */
int zerocopy_begin(__u64 sock, __u32 id);

/* Is no more measured of the thread's sends than counts and times? */
static __always_inline bool is_plain(const struct thread *thread)
{
	return (thread->role & ~ROLE_RECEIVER) == (ROLE_SENDER | ROLE_LASTING);
}

/*
 * The short way of most sends: plain ones without MSG_ZEROCOPY that TCP takes. What these need not
 * look at stays out of it.
 */
static __always_inline void plain_begin(struct thread *thread, struct sock *sk, enum call_kind kind)
{
	thread->sock = (__u64)sk;
	thread->plain_slot = 1 + CALL_SLOT(kind, false);
	thread->start = is_sampled() ? bpf_ktime_get_ns() : 0;
}

/* False: the send is to end by send_end(). */
static __always_inline bool plain_end(struct thread *thread, int ret)
{
	__u64 now = thread->start ? bpf_ktime_get_ns() : 0;
	__u32 slot = thread->plain_slot - 1;
	struct call_slot *s;

	if (slot == -1U || ret < 0)
		return false;
	s = bpf_map_lookup_elem(&calls, &slot);
	if (s) {
		if (now)
			hist_put(&s->wall, now - thread->start);
		count_accepted(s, ret);
	}
	thread->returned = thread->sock;
	thread->sock = 0;
	return true;
}

/* The next zero-copy send of a socket gets this id. */
static __always_inline __u32 next_id(struct sock *sk)
{
	return BPF_CORE_READ(sk, sk_zckey.counter);
}

/*
 * A message begins to be sent. If it asks for zero-copy it will have the socket's next id, or has
 * taken one already: reading it is not for free, so that others leave it alone. sock: sk as a
 * number, for a message that asks for zero-copy.
 */
static __always_inline void message_begin(struct thread *thread, struct sock *sk, __u64 sock,
					  struct msghdr *msg, enum call_kind kind, __u32 flags,
					  __u64 size, __u32 taken, enum stage outside)
{
	if (measures_more && entry_is_hooked(kind))
		account__enter();
	if (flags & MSG_ZEROCOPY) {
		thread->notification = notification__begin(msg, sock);
		if (thread->notification)
			kind = CALL_IO_URING_ZC;
		else
			zerocopy_begin(sock, next_id(sk) - taken);
	}
	send_begin(thread, sk, kind, flags, size, outside);
}

/*
 * The send that this thread is in got the socket's last id. The socket is locked: no
 * other send can have got one since.
 */
static __always_inline void follow_send(struct thread *thread, struct sock *sk)
{
	__u64 key = (__u64)sk;
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &key);
	__u32 id = next_id(sk) - 1;

	if (!s)
		return;
	id__known(thread, s, id);
	inflight__begin_send(thread, s, id);
}

#define GUESSES 8

/*
 * Before its socket is locked a send has no id: it is to get the socket's next one. That
 * is so unless another thread's send comes in between, which began before this one
 * returned: together they have these ids, but from then on none of that socket is timed.
 */
static __always_inline void follow_guessed_send(struct thread *thread, struct sock *sk)
{
	__u64 key = (__u64)sk;
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &key);
	struct totals *t = totals__get();
	__u32 id = next_id(sk);
	int i;

	if (!s || !t)
		return;
	__sync_fetch_and_add(&s->under_way, 1);
	thread->guessed = 1;
	if (*(volatile __u32 *)&s->under_way > 1)
		s->shared = 1;
	for (i = 0; i < GUESSES && window__has(s, id); i++)
		id++;
	/* More at once than that: the send is untracked. */
	if (window__has(s, id))
		return;
	id__known(thread, s, id);
	if (s->shared)
		t->unfollowed++;
	else
		inflight__begin_send(thread, s, id);
}
