/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a send cost and what became of it, per syscall and kind: the bodies that all
 * mechanisms lead to, send_begin and send_end.
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

static __always_inline void count_error(__u32 slot, int error)
{
	__u32 key = slot * ERRNO_SLOTS;
	__u64 *count;

	if (error < ERRNO_RESTART)
		key += error;
	else if (is_interrupted(-error))
		key += ERRNO_RESTART;
	count = bpf_map_lookup_elem(&errors, &key);
	if (count)
		(*count)++;
}

static __always_inline bool zerocopy_enabled(struct sock *sk)
{
	__u64 enabled = 1ULL << bpf_core_enum_value(enum sock_flags, SOCK_ZEROCOPY);

	return BPF_CORE_READ(sk, __sk_common.skc_flags) & enabled;
}

/* A flagged send is accepted but not zero-copy if it has no data, or without SO_ZEROCOPY. */
static __always_inline bool zerocopy_ignored(struct sock *sk, long ret)
{
	return !ret || !zerocopy_enabled(sk);
}

/* What is known of a zero-copy send when it returns; of another one, nothing. */
struct zerocopy_return {
	__u64 notification;	   /* of io_uring; else 0 */
	struct zerocopy_socket *s; /* where that is 0, and the socket is watched */
	bool ignored;
};

static __always_inline struct zerocopy_return zerocopy_return(struct sock *sk, __u32 flags,
							      __u64 notification, long ret)
{
	struct zerocopy_return z = {};
	__u64 key = (__u64)sk;

	if (!(flags & MSG_ZEROCOPY))
		return z;
	z.notification = notification;
	z.s = notification ? NULL : bpf_map_lookup_elem(&sockets, &key);
	z.ignored = ret >= 0 && (notification ? !ret : zerocopy_ignored(sk, ret));
	return z;
}

/* Whom a send is charged to, if that was settled when it began. */
static __always_inline const struct group_key *send_owner(const struct zerocopy_return *z)
{
	struct notification *n;

	if (!z->notification)
		return z->s && z->s->who.netns ? &z->s->who : NULL;
	n = bpf_map_lookup_elem(&notifications, &z->notification);
	return n ? &n->who : NULL;
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

/*
 * One send returned. ns is 0 where its start was not seen, or it is not in the sample. Returns
 * where it was counted.
 */
static __always_inline struct call_slot *count_send(struct sock *sk, enum call_kind kind,
						    __u32 flags, __u64 size,
						    const struct zerocopy_return *z, long ret,
						    __u64 ns)
{
	bool zerocopy = flags & MSG_ZEROCOPY;
	__u32 slot = CALL_SLOT(kind, zerocopy);
	struct call_slot *s = bpf_map_lookup_elem(&calls, &slot);

	if (zerocopy || measures_more)
		groups__count_send(sk, send_owner(z), flags, ret, ns, z->ignored);
	if (z->notification)
		notification__end(z->notification, ret);
	if (!s)
		return NULL;
	if (ns)
		hist_put(&s->wall, ns);
	if (ret < 0) {
		s->failed++;
		if (is_interrupted(ret))
			s->interrupted++;
		count_error(slot, -ret);
		if (zerocopy && !z->notification && ret == -ENOBUFS)
			count_refusal(sk, size);
		return s;
	}
	if (z->ignored)
		s->ignored++;
	count_accepted(s, ret);
	return s;
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

/* A zero-copy send returned. */
static __always_inline void zerocopy_returned(struct thread *thread,
					      const struct zerocopy_return *z, long ret)
{
	bool lost = !thread->tracked && !z->notification && !z->ignored && ret > 0;
	bool unsized = thread->inflight && ret > (long)thread->size;
	struct totals *t = lost || unsized ? totals__get() : NULL;

	if (z->s && thread->tracked && ret <= 0)
		id__taken_back(thread, z->s);
	if (t && unsized)
		t->unsized++; /* it has more parts than were read */
	if (t && lost)
		__sync_fetch_and_add(&t->untracked, 1);
	if (z->s && thread->guessed)
		__sync_fetch_and_add(&z->s->under_way, -1);
	thread->notification = thread->inflight = thread->guessed = thread->tracked = 0;
}

/* Any send returned. */
static __always_inline void send_end(struct thread *thread, struct sock *sk, long ret)
{
	struct zerocopy_return z;
	struct call_slot *s;
	__u64 ns = 0;

	if (thread->plain_slot) {
		thread->kind = thread->plain_slot / 2;
		thread->flags = 0;
		thread->timed = thread->start != 0;
	}
	if (thread->timed)
		ns = bpf_ktime_get_ns() - thread->start;
	if (measures_more) {
		account__end(CALL_SLOT(thread->kind, thread->flags & MSG_ZEROCOPY),
			     thread->flags & MSG_SPLICE_PAGES, ret);
		counters__end(thread);
	}
	thread->sock = 0;
	thread->returned = (__u64)sk;
	z = zerocopy_return(sk, thread->flags, thread->notification, ret);
	if (thread->flags & MSG_ZEROCOPY)
		zerocopy_returned(thread, &z, ret);
	s = count_send(sk, thread->kind, thread->flags, thread->size, &z, ret, ns);
	if (measures_more && s)
		counters__add(s, thread);
}

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
 * taken one already: reading it is not for free, so that others leave it alone.
 */
static __always_inline void message_begin(struct thread *thread, struct sock *sk,
					  struct msghdr *msg, enum call_kind kind, __u32 flags,
					  __u64 size, __u32 taken, enum stage outside)
{
	if (measures_more && entry_is_hooked(kind))
		account__enter();
	if (flags & MSG_ZEROCOPY) {
		thread->notification = notification__begin(msg, sk);
		if (thread->notification)
			kind = CALL_IO_URING_ZC;
		else
			socket__set_owner(zerocopy_begin(sk, next_id(sk) - taken), sk);
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
	id__known(thread, s, id);
	if (s->shared)
		t->unfollowed++;
	else
		inflight__begin_send(thread, s, id);
}
