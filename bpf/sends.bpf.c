// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What sends.bpf.h declares. */
#include "sends.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define IOVECS_READ 16

__noinline __u64 message_size(__u64 user)
{
	struct user_msghdr message = {};
	struct iovec part;
	__u64 size = 0;
	__u32 i;

	if (bpf_probe_read_user(&message, sizeof(message), (void *)user))
		return 0;
	for (i = 0; i < IOVECS_READ && i < message.msg_iovlen; i++) {
		if (bpf_probe_read_user(&part, sizeof(part), message.msg_iov + i))
			break;
		size += part.iov_len;
	}
	return size;
}

/*
 * A zero-copy send begins, whose completion may come before it returns. The route may have changed,
 * and may be gone while a new one is looked for.
 */
__noinline int socket__set_owner(__u64 sock, __u64 device)
{
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &sock);
	struct sock *sk = (struct sock *)sock;
	struct group_key who;

	if (!s)
		return 0;
	s->device = device;
	key__of(&who, sk, (struct net_device *)device);
	if (!who.ifindex && s->who.netns == who.netns)
		who.ifindex = s->who.ifindex;
	if (who.tgid != s->who.tgid || who.ifindex != s->who.ifindex || who.netns != s->who.netns)
		s->who = who;
	groups__make_room(&who, sk);
	return 0;
}

/*
 * A zero-copy send begins, with this id. On a route without scatter-gather that is not forced on
 * all sockets, the kernel copies at once and flags it. So it does without a route: a send that
 * opens a connection, whose first packet settles the cause.
 */
__noinline int zerocopy_begin(__u64 sock, __u32 id)
{
	struct ubuf_key ubuf = {.sock = sock, .id = id};
	struct sock *sk = (struct sock *)sock;
	struct zerocopy_socket *s = socket__watch(sk, id);
	__u64 device;

	if (!s)
		return 0;
	device = (__u64)route_device(sk);
	ubuf.born = s->born;
	if (!(BPF_CORE_READ(sk, sk_route_caps) & NETIF_F_SG)) {
		if (BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_CLOSE)
			ubuf__set_last_device(&ubuf, cause_counter__index_of(CAUSE_FAST_OPEN, 0));
		else
			ubuf__add_bits(&ubuf, cause_counter__index_of(CAUSE_ROUTE, device) |
						      CAUSE_BIT_ASSUMED);
	}
	/* By the same process and the same route as the last one: nothing is new. */
	if (!device || s->device != device || s->who.tgid != current_tgid())
		socket__set_owner(sock, device);
	return 0;
}

__noinline __u64 message_iovecs(__u64 user)
{
	struct user_msghdr message = {};

	return bpf_probe_read_user(&message, sizeof(message), (void *)user) ? 0
									    : message.msg_iovlen;
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

/* A flagged send is accepted but not zero-copy if it has no data, or without SO_ZEROCOPY. */
static __always_inline bool zerocopy_ignored(struct sock *sk, long ret)
{
	return !ret || !zerocopy_enabled(sk);
}

/* Was a zero-copy send, of io_uring if it has a notification, accepted but not zero-copy? */
static __always_inline bool is_ignored(struct sock *sk, __u32 flags, __u64 notification, long ret)
{
	if (!(flags & MSG_ZEROCOPY) || ret < 0)
		return false;
	return notification ? !ret : zerocopy_ignored(sk, ret);
}

/* Whom a zero-copy send is charged to, if that was settled when it began. */
static __always_inline const struct group_key *send_owner(__u64 sock, __u64 notification)
{
	struct zerocopy_socket *s;
	struct notification *n;

	if (notification) {
		n = bpf_map_lookup_elem(&notifications, &notification);
		return n ? &n->who : NULL;
	}
	s = bpf_map_lookup_elem(&sockets, &sock);
	return s && s->who.netns ? &s->who : NULL;
}

#define SEND_IGNORED 1 /* no flag of a message that is looked at */

/* One send returned. A zero-copy send is charged to the owner of its completion. */
__noinline int groups__count_send(__u64 sock, __u64 notification, __u32 flags, __s64 ret, __u64 ns)
{
	bool zerocopy = flags & MSG_ZEROCOPY, ignored = flags & SEND_IGNORED;
	const struct group_key *owner = zerocopy ? send_owner(sock, notification) : NULL;
	struct sock *sk = (struct sock *)sock;
	struct group_key who;
	struct group *g;

	if (owner)
		who = *owner;
	else
		key__of(&who, sk, route_device(sk));
	if (zerocopy) {
		g = group__find(&peers, &peers_rest, &who, BY_PEER, sk);
		group__count_send(g, flags, ret, ns, ignored);
	}
	if (group_by) {
		g = group__find(&groups, &groups_rest, &who, group_by, sk);
		group__count_send(g, flags, ret, ns, ignored);
	}
	return 0;
}

/*
 * One send returned. ns is 0 where its start was not seen, or it is not in the sample. Returns
 * where it was counted.
 */
static __always_inline struct call_slot *count_send(struct sock *sk, enum call_kind kind,
						    __u32 flags, __u64 size, __u64 notification,
						    bool ignored, long ret, __u64 ns)
{
	bool zerocopy = flags & MSG_ZEROCOPY;
	__u32 slot = CALL_SLOT(kind, zerocopy), how = flags & MSG_ZEROCOPY;
	struct call_slot *s = bpf_map_lookup_elem(&calls, &slot);

	if (zerocopy || group_by)
		groups__count_send((__u64)sk, notification, how | (ignored ? SEND_IGNORED : 0), ret,
				   ns);
	if (notification)
		notification__end(notification, ret);
	if (!s)
		return NULL;
	if (ns)
		hist_put(&s->wall, ns);
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
	count_accepted(s, ret);
	return s;
}

/* A zero-copy send returned. A function of its own: what follows is verified once. */
__noinline int zerocopy_returned(__u64 sock, __u32 ignored, __s64 ret)
{
	struct thread *thread = thread__returning();
	struct zerocopy_socket *s = NULL;
	bool lost, unsized, failed;
	struct totals *t;

	if (!thread)
		return 0;
	lost = !thread->tracked && !thread->notification && !ignored && ret > 0;
	unsized = thread->inflight && ret > (long)thread->size;
	failed = thread->tracked && ret <= 0;
	t = lost || unsized ? totals__get() : NULL;
	if ((failed || thread->guessed) && !thread->notification)
		s = bpf_map_lookup_elem(&sockets, &sock);
	if (s && failed)
		id__taken_back(thread, s);
	if (t && unsized)
		t->unsized++; /* it has more parts than were read */
	if (t && lost)
		__sync_fetch_and_add(&t->untracked, 1);
	if (s && thread->guessed)
		__sync_fetch_and_add(&s->under_way, -1);
	thread->notification = thread->inflight = thread->guessed = thread->tracked = 0;
	return 0;
}

/* Any send returned. */
__noinline int send_end(__s64 ret)
{
	struct thread *thread = thread__returning();
	__u64 notification, sock, ns = 0;
	struct call_slot *s;
	bool ignored;

	if (!thread)
		return 0;
	sock = thread->sock;
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
	thread->returned = sock;
	notification = thread->flags & MSG_ZEROCOPY ? thread->notification : 0;
	ignored = is_ignored((struct sock *)sock, thread->flags, notification, ret);
	if (thread->flags & MSG_ZEROCOPY)
		zerocopy_returned(sock, ignored, ret);
	s = count_send((struct sock *)sock, thread->kind, thread->flags, thread->size, notification,
		       ignored, ret, ns);
	if (measures_more && s)
		counters__add(s, thread);
	return 0;
}

/* The socket is the send's, the thread the calling one. */
__noinline int count_untimed(__u64 sock, __s32 ret)
{
	struct sock *sk = (struct sock *)sock;
	enum call_kind kind = current_call(sk);
	/* Of io_uring and of 32-bit programs the flags are not known here; this error tells. */
	__u32 flags = ret == -ENOBUFS && zerocopy_enabled(sk) ? MSG_ZEROCOPY : current_flags(kind);

	count_send(sk, kind, flags, call_size(kind, call_regs()), 0, is_ignored(sk, flags, 0, ret),
		   ret, 0);
	return 0;
}
