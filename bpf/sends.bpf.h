/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts what a send cost and how it ended. The programs of all mechanisms call this. */
#pragma once

#include "causes.bpf.h"
#include "counters.bpf.h"
#include "refusals.bpf.h"
#include "shapes.bpf.h"
#include "stages.bpf.h"
#include "syscalls.bpf.h"
#include "timeline.bpf.h"
#include "uring.bpf.h"

PERCPU_ARRAY(calls, CALL_SLOTS, struct call_slot);

/* A send is timed, and divided into stages, if a random number is below this. 0: all sends are. */
const volatile __u32 sampled_below = 0;

/* Returns whether the thread's sends count until it ends. */
static __always_inline bool is_lasting_sender(const struct thread *thread)
{
	return (thread->role & (ROLE_SENDER | ROLE_LASTING)) == (ROLE_SENDER | ROLE_LASTING);
}

/* Returns the state of the calling thread if its sends count, else NULL. */
static __always_inline struct thread *sender__get(void)
{
	struct thread *thread = gate == GATE_OPEN ? thread__get() : NULL;

	return thread && thread->role & ROLE_SENDER ? thread : NULL;
}

/* Returns the state of the calling thread, or NULL. For hooks of returns, perhaps from a send. */
static __always_inline struct thread *thread__returning(void)
{
	struct thread *thread = thread__in_slot();

	return thread ? thread : thread__beside_slot();
}

static __always_inline bool is_sampled(void)
{
	return !sampled_below || bpf_get_prandom_u32() < sampled_below;
}

/* A zero-copy send begins, and gets an id. */

/*
 * Sets the owner of the socket's completions. The route may have changed. While the kernel looks
 * for a new route, the owner keeps its device.
 */
GLOBAL int zsock__set_owner(__u64 sock, __u64 device)
{
	struct sock *sk = (struct sock *)sock;
	struct zsock *s = zsock__find(sock);
	struct group_key who;

	if (!s)
		return 0;
	s->device = device;
	key__of(&who, sk, (struct net_device *)device, BY_ALL);
	if (!who.ifindex && s->owner.netns == who.netns)
		who.ifindex = s->owner.ifindex;
	if (who.tgid != s->owner.tgid || who.cgroup != s->owner.cgroup ||
	    who.ifindex != s->owner.ifindex || who.netns != s->owner.netns)
		s->owner = who;
	groups__make_room(&who, sk);
	return 0;
}

/*
 * Notes the cause of a send that tcp_sendmsg_locked() copies immediately and flags as copied,
 * because sk_route_caps lacks NETIF_F_SG. A Fast Open send has no route yet: its first packet
 * decides the cause.
 */
GLOBAL int copied_at_once(__u64 sock, __u32 id)
{
	struct sock *sk = (struct sock *)sock;
	struct zsock *s = zsock__find(sock);
	struct send_key send = {.sock = sock, .id = id};

	if (!s)
		return 0;
	send.generation = s->generation;
	if (socket_state_of(sk) == STATE_UNCONNECTED)
		note__set_last_device(&send, cause_counter__index_of(CAUSE_FAST_OPEN, NULL));
	else
		note__add_bits(&send, cause_counter__index_of(CAUSE_ROUTE, route_device(sk)) |
					      CAUSE_BIT_ASSUMED);
	return 0;
}

/*
 * Gives the thread's send the slot of its id. If that id is a guess and already taken, the send
 * gets the next id and its slot. Returns false if there is no room.
 */
static __noinline bool send__begin(struct zsock *s, struct send_key *send, struct thread *thread)
{
	bool begun = slot__begin(send, thread->send.start, thread->send.size);

	if (!begun && ids_guessed) {
		send->id++;
		begun = slot__begin(send, thread->send.start, thread->send.size);
	}
	if (begun)
		pinned__charge(&pinned, FIRST_OF(pinned_peaks), thread->send.size);
	else
		__sync_fetch_and_add(&s->waiting, -1);
	return begun;
}

/*
 * Counts how the thread's send follows the earlier sends of its socket. s->waiting includes the
 * send itself. A separate function has its own stack.
 */
static __noinline void zsock__pace(struct zsock *s, const struct thread *thread, struct sock *sk)
{
	last_send__begin(&s->last, sk, s->waiting - 1,
			 thread->zerocopy_sock == s->sock ? thread->zerocopy_ns : RETURNED_BY,
			 thread->send.start, thread->send.size, SHAPES_MSG_ZEROCOPY);
}

/*
 * The thread's send got this id. The socket is locked, so no other send gets an id meanwhile,
 * unless ids are guessed.
 */
static __always_inline void id__given(struct zsock *s, struct thread *thread, struct sock *sk,
				      __u32 id)
{
	struct send_key send = {s->sock, s->generation, id};
	struct net_device *device = route_device(sk);

	/* Without room, the send counts as untracked when it returns. */
	if (!id__take(s, id))
		return;
	if (!send__begin(s, &send, thread))
		return;
	zsock__pace(s, thread, sk);
	thread->send.id = send.id;
	thread->send.tracked = 1;
	thread->zerocopy_sock = s->sock;
	timeline__give_id(thread);
	if (s->order_unknown)
		COUNT(untimed, 1);
	if (route_copies(sk))
		copied_at_once(s->sock, send.id);
	/* A send by the same process and route as the socket's last one has the same owner. */
	if (!device || s->device != (__u64)device || s->owner.tgid != current_tgid() ||
	    (group_by & BY_CGROUP && s->owner.cgroup != bpf_get_current_cgroup_id()))
		zsock__set_owner(s->sock, number_of(device));
	thread->send.owner = s->owner;
}

/* True if a hook sees completions. If false, the loader removes the code for them. */
const volatile bool follows_completions = true;

/* Returns whether the send is zero-copy and gets a send id. Sends by io_uring have none. */
static __always_inline bool has_send_id(const struct thread *thread, struct sock *sk)
{
	return thread->send.flags & MSG_ZEROCOPY && follows_completions &&
	       !thread->send.notification && zerocopy_enabled(sk);
}

/* The thread's send got the socket's last id. */
static __always_inline void follow_send(struct thread *thread, struct sock *sk)
{
	__u32 id = next_id(sk) - 1;
	struct zsock *s = zsock__get(sk, id);

	if (s)
		id__given(s, thread, sk, id);
}

/*
 * Before its socket is locked, a send has no id, so the socket's next id is assumed. The guess is
 * wrong if another thread's send gets that id first. The two sends then have these two ids, but
 * their order is unknown, so from then on no send of the socket is timed.
 */
static __noinline void follow_guessed_send(struct thread *thread, struct sock *sk)
{
	__u32 id = next_id(sk);
	struct zsock *s = zsock__get(sk, id);

	if (!s)
		return;
	__sync_fetch_and_add(&s->unreturned, 1);
	thread->send.guessed = 1;
	if (*(volatile __u32 *)&s->unreturned > 1)
		s->order_unknown = 1;
	id__given(s, thread, sk, id_before(id, s->next) ? s->next : id);
}

/*
 * The send failed: the kernel took its id back and may have given it to another send. If ids are
 * guessed, the socket's last id is given back, whichever send guessed it.
 */
static __always_inline void id__taken_back(struct zsock *s, struct thread *thread)
{
	struct send_key send = {s->sock, s->generation, thread->send.id};
	__u64 bytes = thread->send.size;

	id__give_back(s);
	if (ids_guessed) {
		send.id = s->next;
		bytes = slot__abandon(&send, 0);
	} else {
		slot__abandon(&send, thread->send.start);
	}
	if (bytes)
		pinned__free(&pinned, bytes);
	last_send__fail(&s->last);
}

/* Any send begins. outside: see account__begin(). */
static __always_inline void send_begin(struct thread *thread, struct sock *sk, enum call_kind kind,
				       __u32 flags, __u64 size, enum stage outside)
{
	if (thread->send.sock)
		thread__leave_send(thread);
	thread->send.sock = (__u64)sk;
	thread->send.flags = flags;
	thread->send.kind = kind;
	thread->send.size = size;
	thread->send.plain_slot = 0;
	thread->send.timed = is_sampled();
	if (full_path) {
		counters__begin(thread);
		timeline__begin(thread, sk, size);
	}
	/* All zero-copy sends have a start, because all their completions are timed. */
	if (thread->send.timed || flags & MSG_ZEROCOPY)
		thread->send.start = bpf_ktime_get_ns();
	if (full_path)
		account__begin(outside, thread->send.timed);
}

/* Returns whether the syscall makes exactly one send, whose beginning a hook can see. */
static __always_inline bool sends_once(enum call_kind kind)
{
	return kind == CALL_SENDTO || kind == CALL_SENDMSG || kind == CALL_WRITE ||
	       kind == CALL_WRITEV;
}

/* The send of a message begins. */
static __always_inline void message_begin(struct thread *thread, struct sock *sk,
					  struct msghdr *msg, enum call_kind kind, __u32 flags,
					  __u64 size, enum stage outside)
{
	__u64 notification = 0;

	if (full_path && sends_once(kind))
		account__enter();
	if (flags & MSG_ZEROCOPY) {
		notification = notification__of_message(msg);
		shape__count_send(number_of(msg),
				  notification ? SHAPES_URING : SHAPES_MSG_ZEROCOPY);
	}
	send_begin(thread, sk, notification ? CALL_IO_URING_ZC : kind, flags, size, outside);
	thread->send.notification = notification;
	if (notification)
		notification__begin(thread, sk);
}

/* Returns whether only counts and times of the thread's sends are measured. */
static __always_inline bool is_plain(const struct thread *thread)
{
	return (thread->role & ~ROLE_RECEIVER) == (ROLE_SENDER | ROLE_LASTING);
}

/*
 * The fast path for sends without MSG_ZEROCOPY, if only counts and times are measured and TCP
 * accepts the send. It skips everything that these sends do not need.
 */
static __always_inline void plain_begin(struct thread *thread, struct sock *sk, enum call_kind kind)
{
	thread->send.sock = (__u64)sk;
	thread->send.plain_slot = 1 + CALL_SLOT(kind, false);
	thread->send.start = is_sampled() ? bpf_ktime_get_ns() : 0;
}

/* Counts a send that TCP accepted. */
static __always_inline void count_accepted(struct call_slot *s, __u32 ret)
{
	struct sized_sends *of_size;

	/* The mask changes nothing; the verifier needs it. */
	of_size = &s->sizes[size_class(ret) & (SIZE_CLASSES - 1)];
	of_size->sends++;
	of_size->bytes += ret;
}

/* Counts a send without MSG_ZEROCOPY that TCP accepted. */
static __noinline void groups__count_plain(struct sock *sk, int ret, __u64 ns)
{
	struct group_key who;

	key__of(&who, sk, group_by & BY_DEVICE ? route_device(sk) : NULL, group_by | BY_ADDRESS);
	group__count_send(group__find(&groups, &groups_rest, &who, group_by, sk), ret, ns);
}

#define CHECKS_MAX  255
#define LARGE_BYTES 16384

static __noinline void check_zerocopy_enabled(struct thread *thread, struct sock *sk,
					      enum call_kind kind)
{
	if (kind == CALL_SENDFILE || kind == CALL_SPLICE) /* these copy nothing */
		return;
	thread->checks++;
	if (zerocopy_enabled(sk))
		COUNT(enabled_unused, 1);
}

static __noinline void count_beside(__u64 sock)
{
	struct zsock *s = zsock__find(sock);

	if (s && *(volatile __s32 *)&s->waiting > 0)
		COUNT(plain_beside, 1);
}

/*
 * A send without MSG_ZEROCOPY returned. If the thread's last zero-copy send was on this socket,
 * that send may still be in flight. If the plain send is large, and its socket has SO_ZEROCOPY, the
 * program may have forgotten the flag. The first CHECKS_MAX large sends of a thread are enough to
 * show this, because a program mostly sets the option on all its sockets.
 */
static __always_inline void plain_ended(struct thread *thread, struct sock *sk, enum call_kind kind,
					long ret)
{
	if (thread->zerocopy_sock == (__u64)sk && ret > 0)
		count_beside((__u64)sk);
	if (ret >= LARGE_BYTES && thread->checks != CHECKS_MAX)
		check_zerocopy_enabled(thread, sk, kind);
}

/* Returns false if send_end() must end the send. */
static __always_inline bool plain_end(struct thread *thread, int ret)
{
	__u32 slot = thread->send.plain_slot - 1;
	struct call_slot *s;
	__u64 ns;

	if (slot == -1U || ret < 0)
		return false;
	ns = thread->send.start ? bpf_ktime_get_ns() - thread->send.start : 0;
	s = bpf_map_lookup_elem(&calls, &slot);
	if (s) {
		if (ns)
			hist_put(&s->wall, ns);
		count_accepted(s, ret);
	}
	if (group_by)
		groups__count_plain((struct sock *)thread->send.sock, ret, ns);
	plain_ended(thread, (struct sock *)thread->send.sock, slot / 2, ret);
	thread->returned = thread->send.sock;
	thread->send.sock = 0;
	return true;
}

/* Returns the slot of an error that is not an interruption: see ERRNO_SLOTS. */
static __always_inline __u64 error_slot(long ret)
{
	__u64 error = opaque(-ret);

	return error < ERRNO_RESTART ? error : 0;
}

static __always_inline void count_failure(struct call_slot *s, long ret)
{
	s->failed++;
	if (is_interrupted(ret)) {
		s->interrupted++;
		s->errors[ERRNO_RESTART]++;
	} else {
		s->errors[error_slot(ret)]++;
	}
}

/*
 * Returns the flags by which a send is counted: MSG_ZEROCOPY if the send has it, and SEND_IGNORED
 * if TCP accepted it as a plain send. TCP does so if there are no data, or if the socket lacks
 * SO_ZEROCOPY, which io_uring's sends with a notification do not need.
 */
static __always_inline __u32 counted_flags(struct sock *sk, __u32 flags, __u64 notification,
					   long ret)
{
	if (!(flags & MSG_ZEROCOPY))
		return 0;
	if (ret < 0 || (ret && (notification || zerocopy_enabled(sk))))
		return MSG_ZEROCOPY;
	return MSG_ZEROCOPY | SEND_IGNORED;
}

/*
 * Counts a returned send in its groups. A zero-copy send is charged to the owner of its completion.
 */
GLOBAL int groups__count_send(__u64 sock, __u32 flags, __s64 ret, __u64 ns)
{
	struct thread *thread = flags & SEND_OWNED ? thread__returning() : NULL;
	struct sock *sk = (struct sock *)sock;
	struct group_key who;
	struct group *g;

	if (thread)
		who = thread->send.owner;
	else
		key__of(&who, sk, route_device(sk), BY_ALL);
	if (by_receiver && flags & MSG_ZEROCOPY) {
		g = group__find(&peers, &peers_rest, &who, BY_PEER, sk);
		group__count_request(g, flags, ret);
	}
	if (group_by) {
		g = group__find(&groups, &groups_rest, &who, group_by, sk);
		group__count_send(g, ret, ns);
		if (flags & MSG_ZEROCOPY)
			group__count_request(g, flags, ret);
	}
	return 0;
}

/*
 * Counts a returned send. ns is 0 if the send's start was not seen, or if the send is not sampled.
 * Returns the slot in which it was counted.
 */
static __noinline struct call_slot *count_send(__u32 slot, long ret, __u64 ns, __u32 flags)
{
	struct call_slot *s = bpf_map_lookup_elem(&calls, &slot);

	if (!s)
		return NULL;
	if (ns)
		hist_put(&s->wall, ns);
	if (ret < 0) {
		count_failure(s, ret);
		return s;
	}
	if (flags & SEND_IGNORED)
		s->ignored++;
	count_accepted(s, ret);
	return s;
}

/* A send with MSG_ZEROCOPY returned. Returns the flags by which it is counted. */
GLOBAL __u32 zerocopy_returned(__u64 sock, __s64 ret)
{
	struct thread *thread = thread__returning();
	struct sock *sk = (struct sock *)sock;
	struct zsock *s = NULL;
	bool failed;
	__u32 flags;

	if (!thread)
		return 0;
	flags = opaque(counted_flags(sk, thread->send.flags, thread->send.notification, ret));
	if (thread->send.notification)
		return flags | SEND_OWNED;
	if (ret == -ENOBUFS)
		count_refusal(sk, thread->send.size);
	if (!follows_completions)
		return flags;
	failed = thread->send.tracked && ret <= 0;
	/* The kernel adds the requested bytes to the ubuf, and later subtracts none. */
	if (thread->send.tracked && ret < (long)thread->send.size)
		COUNT(unsized_completions, 1);
	if (thread->send.tracked && ret > (long)thread->send.size)
		COUNT(unsized, 1); /* the send had more iovecs than were read */
	if (!thread->send.tracked && !(flags & SEND_IGNORED) && ret > 0)
		COUNT(untracked, 1);
	if (failed || thread->send.guessed)
		s = zsock__find(sock);
	if (s && failed)
		id__taken_back(s, thread);
	if (s && thread->send.guessed)
		__sync_fetch_and_add(&s->unreturned, -1);
	return thread->send.tracked ? flags | SEND_OWNED : flags;
}

/* Any send returned. */
static __noinline void send_end(struct thread *thread, __s64 ret)
{
	struct sock *sk = (struct sock *)thread->send.sock;
	struct call_slot *s;
	__u32 slot, flags = 0;
	bool zerocopy;
	__u64 ns = 0;

	if (thread->send.plain_slot) {
		thread->send.kind = (thread->send.plain_slot - 1) / 2;
		thread->send.flags = 0;
		thread->send.timed = thread->send.start != 0;
	}
	zerocopy = thread->send.flags & MSG_ZEROCOPY;
	slot = CALL_SLOT(thread->send.kind, zerocopy);
	if (thread->send.timed)
		ns = bpf_ktime_get_ns() - thread->send.start;
	if (full_path) {
		account__end(slot, thread->send.flags & MSG_SPLICE_PAGES, ret);
		counters__end(thread);
		timeline__end(thread, slot, ret);
	}
	if (!zerocopy)
		plain_ended(thread, sk, thread->send.kind, ret);
	thread->send.sock = 0;
	thread->returned = (__u64)sk;
	if (zerocopy)
		flags = zerocopy_returned((__u64)sk, ret);
	if (zerocopy || group_by)
		groups__count_send((__u64)sk, flags, ret, ns);
	if (thread->send.tracked)
		thread->zerocopy_ns = ns < -1U ? ns : -1U;
	if (zerocopy && thread->send.notification)
		notification__end(thread->send.notification, ret, thread->send.size);
	s = count_send(slot, ret, ns, flags);
	if (full_path && s)
		counters__add(s, thread);
	thread->send.notification = 0;
	thread->send.guessed = thread->send.tracked = 0;
}

/* Counts a send whose beginning was not seen. */
GLOBAL int count_untimed(__u64 sock, int ret)
{
	struct sock *sk = (struct sock *)sock;
	enum call_kind kind = current_call(sk);
	/*
	 * The flags of io_uring and of 32-bit programs are unknown here, but only a zero-copy send
	 * fails with ENOBUFS.
	 */
	bool refused = ret == -ENOBUFS && zerocopy_enabled(sk);
	struct pt_regs *regs = call_regs();
	__u32 flags = refused ? MSG_ZEROCOPY : call_flags(kind, regs);

	flags = opaque(counted_flags(sk, flags, 0, ret));
	if (flags || group_by)
		groups__count_send((__u64)sk, flags, ret, 0);
	count_send(CALL_SLOT(kind, flags), ret, 0, flags);
	if (flags && ret == -ENOBUFS)
		count_refusal(sk, call_size(kind, regs));
	return 0;
}
