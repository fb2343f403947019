/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * io_uring's zero-copy sends (SEND_ZC, SENDMSG_ZC; Linux 6.0) have no send id and no error queue:
 * each has a notification, a request that completes when the kernel is done with the pages.
 * Notifications of one socket may be linked; the first, the head, then stands for all, gets their
 * copies, and completes with them ("io_uring/notif: implement notification stacking"). The unit is
 * a call of tcp_sendmsg: a send that the socket took in parts is several, with one notification.
 */
#pragma once

#include "groups.bpf.h"

/* A head under way, by its address as a request. */
struct notification {
	struct group_key who;
	__u64 sends;  /* that the kernel accepted */
	__u64 copied; /* is any of them known to be? */
};

struct notification_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct notification);
};
extern struct notification_map notifications SEC(".maps");

/* If there never was one, no completion of io_uring needs a look. */
extern volatile __u32 notifications_seen;

static __always_inline __u64 notification__of(void *uarg)
{
	return (__u64)uarg - bpf_core_field_offset(struct io_notif_data, uarg);
}

static __always_inline __u64 notification__head(__u64 key)
{
	struct io_notif_data *data = (void *)key;

	if (bpf_core_field_exists(data->head))
		return (__u64)BPF_CORE_READ(data, head);
	return key;
}

/*
 * Functions of their own, of numbers, in uring.bpf.c: most zero-copy sends have no notification,
 * and the verifier goes through these once a program. A send with this one begins: its address.
 */
__u64 notification__begin_send(__u64 uarg, __u64 sock);
/*
 * The send may have been linked to another's notification meanwhile: the head then takes over its
 * counts.
 */
int notification__end(__u64 key, __s64 ret);

/*
 * A zero-copy send begins: the address of its notification, 0 if it has none. Copies
 * may be made before it returns.
 */
static __always_inline __u64 notification__begin(struct msghdr *msg, __u64 sock)
{
	void *uarg = NULL;

	if (bpf_core_field_exists(msg->msg_ubuf))
		uarg = BPF_CORE_READ(msg, msg_ubuf);
	return uarg ? notification__begin_send((__u64)uarg, sock) : 0;
}
