/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Zero-copy sends by io_uring (SEND_ZC, SENDMSG_ZC; since Linux 6.0) have no send id and no error
 * queue. Each has a notification, a request that completes when the kernel no longer uses the
 * pages. Notifications of one socket may be linked: the first, the head, then gets the copies of
 * all, and is posted just before the others ("io_uring/notif: implement notification stacking").
 * The unit is a call of PROTO_SEND: a send that the socket accepts in parts counts as several, with
 * one notification. Times and pinned memory are the notification's.
 */
#pragma once

#include "causes.bpf.h"

/* A notification in flight. Its key is its address as a request. */
struct notification {
	__u64 key;
	struct group_key owner;
	__u64 start;   /* ns; of its first send; 0: it began before the window */
	__u64 bytes;   /* that its first send requested */
	__u64 sock;    /* key of uring_sockets */
	__u64 sends;   /* that the kernel accepted; if linked, the head counts those of all */
	__u32 whole;   /* the last send was accepted whole */
	__u32 copied;  /* enum uring_copies */
	__u32 counter; /* of the cause */
};

/* The copies of a notification's data that were seen. */
enum uring_copies {
	NOT_SEEN_COPIED,
	SEEN_COPIED,
	/* A packet came in by a device: it will be copied, unless it is forwarded. */
	SEEN_RECEIVED,
};

GROWING_HASH(notifications, 65536, __u64, struct notification);

/* A socket with zero-copy sends by io_uring. */
struct uring_socket {
	struct last_send last;
	__u64 returned;	 /* when its last send returned, in ns */
	__s32 in_flight; /* notifications */
};

/* The sockets that sent most recently. Waits of sockets without room in the map do not count. */
MAP(uring_sockets, LRU_HASH, 0, 1024, __u64, struct uring_socket);

/* While this is 0, no completion of io_uring needs a lookup. */
volatile __u32 notifications_seen;

static __always_inline __u64 notification__of(void *uarg)
{
	return (__u64)uarg - bpf_core_field_offset(struct io_notif_data, uarg);
}

static __always_inline __u64 notification__head(__u64 key)
{
	struct io_notif_data *data = (void *)key;

	if (bpf_core_field_exists(data->head))
		return (__u64)READ(data, head);
	return key;
}

/* Returns the notification that counts the data of uarg; NULL: no watched send has this uarg. */
static __always_inline struct notification *notification__find(void *uarg)
{
	__u64 key = notification__of(uarg), head = notification__head(key);
	struct notification *n = bpf_map_lookup_elem(&notifications, &head);

	return n ? n : bpf_map_lookup_elem(&notifications, &key);
}

/* Returns the notification of the send by io_uring whose data the skb carries; NULL: none. */
static __noinline struct notification *uring_sighted(struct sk_buff *skb)
{
	void *uarg = NULL;

	/* The programs are loaded on kernels without this type, too. */
	if (bpf_core_type_exists(struct io_notif_data) && notifications_seen)
		uarg = skb_uarg(skb);
	return uarg ? notification__find(uarg) : NULL;
}

/* Sets what was seen of the notification's copies. A certain copy stays certain. */
static __always_inline void notification__set_copied(struct notification *n,
						     enum uring_copies copied, __u32 counter)
{
	if (n->copied == SEEN_COPIED)
		return;
	n->copied = copied;
	n->counter = counter;
}

/* Returns false if no target's zero-copy send can be in flight. */
static __always_inline bool zerocopy_watched(void)
{
	return sockets_watched() || (gate && notifications_seen);
}

/* Returns false if the entry exists already, or if there is no room. */
static __always_inline bool notification__make(const struct notification *fresh)
{
	if (!bpf_map_update_elem(&notifications, &fresh->key, fresh, BPF_NOEXIST))
		return true;
	if (!bpf_map_lookup_elem(&notifications, &fresh->key))
		COUNT(lost_notifications, 1);
	return false;
}

/* A separate function, so that only its own stack has the entry. */
static __noinline void uring_socket__make(__u64 sock)
{
	struct uring_socket fresh = {};

	bpf_map_update_elem(&uring_sockets, &sock, &fresh, BPF_NOEXIST);
}

/* A send with a notification of its own begins. */
GLOBAL int uring_socket__begin(__u64 sock, __u64 start, __u32 bytes)
{
	struct uring_socket *s = bpf_map_lookup_elem(&uring_sockets, &sock);

	if (!s) {
		uring_socket__make(sock);
		s = bpf_map_lookup_elem(&uring_sockets, &sock);
	}
	if (!s)
		return 0;
	last_send__begin(&s->last, (struct sock *)sock, s->in_flight, s->returned - s->last.begun,
			 start, bytes, SHAPES_URING);
	__sync_fetch_and_add(&s->in_flight, 1);
	return 0;
}

/* A notification was posted. awaited: the program may have waited for it. */
GLOBAL int uring_socket__end(__u64 sock, __u32 awaited)
{
	struct uring_socket *s = bpf_map_lookup_elem(&uring_sockets, &sock);

	if (!s)
		return 0;
	__sync_fetch_and_add(&s->in_flight, -1);
	if (awaited && s->in_flight <= 0)
		last_send__end(&s->last, (struct sock *)sock);
	return 0;
}

/* A separate function, so that the entry is not on the stack while other functions are called. */
static __noinline bool notification__insert(struct thread *thread, enum uring_copies copied,
					    __u32 counter)
{
	struct notification fresh = {
		.key = thread->send.notification,
		.owner = thread->send.owner,
		.start = thread->send.start,
		.bytes = thread->send.size,
		.sock = thread->send.sock,
		.copied = copied,
		.counter = counter,
	};

	if (!notification__make(&fresh))
		return false;
	pinned__charge(&uring_pinned, FIRST_OF(uring_pinned_peaks), fresh.bytes);
	return true;
}

/*
 * Another request has the memory of a notification whose end no program saw: if the completion
 * queue overflows, the kernel posts without raw_tp/io_uring_complete. The sends of both
 * notifications count when the new one is posted.
 */
static __noinline void notification__renew(struct notification *n, const struct thread *thread)
{
	pinned__free(&uring_pinned, n->bytes);
	uring_socket__end(n->sock, false);
	n->start = thread->send.start;
	n->bytes = thread->send.size;
	n->sock = thread->send.sock;
	n->whole = 0;
	pinned__charge(&uring_pinned, FIRST_OF(uring_pinned_peaks), n->bytes);
	uring_socket__begin(n->sock, n->start, n->bytes);
}

/*
 * A zero-copy send by io_uring begins. Its entry is created now, because copies may be made before
 * it returns. A separate function: most zero-copy sends have no notification, and this needs much
 * stack.
 */
static __noinline void notification__begin(struct thread *thread, struct sock *sk)
{
	struct net_device *device = route_device(sk);
	enum uring_copies copied = NOT_SEEN_COPIED;
	__u64 key = thread->send.notification;
	struct notification *found;
	__u32 counter = 0;

	notifications_seen = 1;
	key__of(&thread->send.owner, sk, device, BY_ALL);
	found = bpf_map_lookup_elem(&notifications, &key);
	if (found && found->whole)
		notification__renew(found, thread);
	if (found)
		return;
	if (route_copies(sk)) { /* the kernel does not report this to the notification */
		copied = SEEN_COPIED;
		counter = cause_counter__index_of(CAUSE_ROUTE, device);
	}
	groups__make_room(&thread->send.owner, sk);
	if (notification__insert(thread, copied, counter))
		uring_socket__begin(thread->send.sock, thread->send.start, thread->send.size);
}

/* The notification was linked to another one: the head takes over its counts. */
static __noinline void notification__link(struct notification *own, __u64 head)
{
	struct notification *n = bpf_map_lookup_elem(&notifications, &head), fresh;

	if (n) {
		add(&n->sends, own->sends);
		if (own->copied)
			notification__set_copied(n, own->copied, own->counter);
	} else { /* the head began before the window */
		fresh = *own;
		fresh.key = head;
		fresh.start = fresh.bytes = fresh.sock = 0;
		notification__make(&fresh);
	}
	own->sends = 0;
}

/* A send returned. If none of its notification's sends was accepted, nothing is in flight. */
GLOBAL int notification__end(__u64 key, __s64 ret, __u64 size)
{
	struct notification *own = bpf_map_lookup_elem(&notifications, &key);
	__u64 head = notification__head(key), bytes, sock;
	struct uring_socket *s;

	if (!own)
		return 0;
	sock = own->sock;
	s = bpf_map_lookup_elem(&uring_sockets, &sock);
	if (s)
		s->returned = bpf_ktime_get_ns();
	own->whole = ret > 0 && (__u64)ret >= size;
	if (ret > 0)
		add(&own->sends, 1);
	if (head != key) {
		notification__link(own, head);
		return 0;
	}
	if (own->sends)
		return 0;
	bytes = own->bytes;
	if (bpf_map_delete_elem(&notifications, &key))
		return 0;
	pinned__free(&uring_pinned, bytes);
	if (s)
		last_send__fail(&s->last);
	uring_socket__end(sock, false);
	return 0;
}

/* Returns the key of the notification of a message; 0: the message has none. */
static __always_inline __u64 notification__of_message(struct msghdr *msg)
{
	void *uarg = NULL;

	/* The program is loaded on kernels without these types, too. */
	if (bpf_core_field_exists(msg->msg_ubuf) && bpf_core_type_exists(struct io_notif_data))
		uarg = READ(msg, msg_ubuf);
	return uarg ? notification__of(uarg) : 0;
}
