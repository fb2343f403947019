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

/* Whom a send is charged to, if that was settled when it began. */
static __always_inline const struct group_key *send_owner(struct sock *sk, __u32 flags,
							  __u64 notification)
{
	struct notification *n;

	if (!(flags & MSG_ZEROCOPY))
		return NULL;
	if (!notification)
		return socket__owner(sk);
	n = bpf_map_lookup_elem(&notifications, &notification);
	return n ? &n->who : NULL;
}

/*
 * One send returned. notification is 0 unless io_uring made one for it, ns where its
 * start was not seen. Returns where it was counted.
 */
static __always_inline struct call_slot *count_send(struct sock *sk, enum call_kind kind,
						    __u32 flags, __u64 size, __u64 notification,
						    long ret, __u64 ns)
{
	bool zerocopy = flags & MSG_ZEROCOPY;
	__u32 slot = CALL_SLOT(kind, zerocopy);
	struct call_slot *s = bpf_map_lookup_elem(&calls, &slot);
	struct sized_sends *of_size;
	bool ignored = zerocopy && ret >= 0 && (notification ? !ret : zerocopy_ignored(sk, ret));

	groups__count_send(sk, send_owner(sk, flags, notification), flags, ret, ns, ignored);
	if (notification)
		notification__end(notification, ret);
	if (!s)
		return NULL;
	if (ns)
		hist_add(&s->wall, ns);
	if (ret < 0) {
		s->failed++;
		if (is_interrupted(ret))
			s->interrupted++;
		count_error(slot, -ret);
		if (zerocopy && !notification && ret == -ENOBUFS)
			count_refusal(sk, size);
		return s;
	}
	if (ignored)
		s->ignored++;
	/* The mask changes nothing; it tells the verifier. */
	of_size = &s->sizes[size_class(ret) & (SIZE_CLASSES - 1)];
	of_size->sends++;
	of_size->bytes += ret;
	return s;
}

/* The syscalls whose beginning a hook can see. */
static __always_inline bool entry_is_hooked(enum call_kind kind)
{
	return kind == CALL_SENDTO || kind == CALL_SENDMSG || kind == CALL_WRITE ||
	       kind == CALL_WRITEV;
}

/* outside: see account__begin(). */
static __always_inline void send_begin(struct thread *thread, struct sock *sk, enum call_kind kind,
				       __u32 flags, __u64 size, enum stage outside)
{
	struct totals *t = totals__get();

	if (t)
		t->begun++;
	thread->sock = (__u64)sk;
	thread->before = 0;
	thread->flags = flags;
	thread->kind = kind;
	thread->size = size;
	thread->inflight = thread->tracked = 0;
	counters__begin(thread);
	thread->start = bpf_ktime_get_ns();
	account__begin(outside);
}

/* A zero-copy send returned. */
static __always_inline void zerocopy_returned(struct thread *thread, struct sock *sk, long ret)
{
	__u64 key = (__u64)sk;
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &key);
	struct totals *t = totals__get();

	if (s && thread->tracked && ret <= 0)
		id__taken_back(thread, s);
	if (thread->inflight && ret > (long)thread->size && t)
		t->unsized++; /* it has more parts than were read */
	if (!thread->tracked && !thread->notification && !zerocopy_ignored(sk, ret) && ret > 0 && t)
		__sync_fetch_and_add(&t->untracked, 1);
	if (s && thread->guessed)
		__sync_fetch_and_add(&s->under_way, -1);
	thread->inflight = thread->guessed = thread->tracked = 0;
}

static __always_inline void send_end(struct thread *thread, struct sock *sk, long ret, __u64 now)
{
	struct totals *t = totals__get();
	struct call_slot *s;

	account__end(CALL_SLOT(thread->kind, thread->flags & MSG_ZEROCOPY),
		     thread->flags & MSG_SPLICE_PAGES, ret);
	counters__end(thread);
	if (t)
		t->ended++;
	thread->sock = 0;
	if (thread->flags & MSG_ZEROCOPY)
		zerocopy_returned(thread, sk, ret);
	s = count_send(sk, thread->kind, thread->flags, thread->size, thread->notification, ret,
		       now - thread->start);
	if (s)
		counters__add(s, thread);
}

/* The next zero-copy send of a socket gets this id. */
static __always_inline __u32 next_id(struct sock *sk)
{
	return BPF_CORE_READ(sk, sk_zckey.counter);
}

/* A message begins to be sent; if by an error queue, its completion will have this id. */
static __always_inline void message_begin(struct thread *thread, struct sock *sk,
					  struct msghdr *msg, __u64 size, __u32 id,
					  enum stage outside)
{
	__u32 flags = BPF_CORE_READ(msg, msg_flags);
	enum call_kind kind = current_call();

	if (entry_is_hooked(kind))
		account__enter();
	thread->notification = flags & MSG_ZEROCOPY ? notification__begin(msg, sk) : 0;
	if (thread->notification)
		kind = CALL_IO_URING_ZC;
	else if (flags & MSG_ZEROCOPY)
		socket__set_owner(zerocopy_begin(sk, id), sk);
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
