// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <time.h>

#include <linux/errqueue.h> /* needs struct timespec */

#include "loadgen/send/inflight.h"

struct inflight {
	uint32_t next;	 /* number of the next send */
	uint32_t oldest; /* all lower numbers are complete */
	uint32_t in_flight;
	uint32_t mask;
	uint32_t *pending; /* message -> its sends in flight, plus 1 while the caller has it */
	uint32_t *free;	   /* a stack of messages that are not pending */
	uint32_t free_count;
	uint32_t owner[]; /* number -> its message, or INFLIGHT_NONE; pending and free follow */
};

struct inflight *inflight__create(uint32_t messages, uint32_t first_id)
{
	struct inflight *l;
	uint32_t size = 1024;

	while (size < 4 * messages)
		size *= 2;
	l = calloc(1, sizeof(*l) + (size + 2 * messages) * sizeof(*l->owner));
	if (!l)
		return NULL;
	l->next = l->oldest = first_id;
	l->mask = size - 1;
	l->pending = l->owner + size;
	l->free = l->pending + messages;
	for (uint32_t i = 0; i < size; i++)
		l->owner[i] = INFLIGHT_NONE;
	while (l->free_count < messages) {
		l->free[l->free_count] = messages - 1 - l->free_count; /* 0 is taken first */
		l->free_count++;
	}
	return l;
}

bool inflight__has_room(const struct inflight *l)
{
	return l->next - l->oldest <= l->mask;
}

uint32_t inflight__take_message(struct inflight *l)
{
	uint32_t message;

	if (!l->free_count)
		return INFLIGHT_NONE;
	message = l->free[--l->free_count];
	l->pending[message]++;
	return message;
}

void inflight__release_message(struct inflight *l, uint32_t message)
{
	if (!--l->pending[message])
		l->free[l->free_count++] = message;
}

void inflight__count_send(struct inflight *l, uint32_t message)
{
	l->owner[l->next++ & l->mask] = message;
	l->pending[message]++;
	l->in_flight++;
}

int inflight__complete(struct inflight *l, uint32_t low, uint32_t high)
{
	uint32_t open = l->next - l->oldest;

	/* Compares distances from the oldest, which do not wrap. */
	if (low - l->oldest >= open || high - l->oldest >= open || high - low >= open)
		return -EPROTO;
	for (uint32_t id = low; id != high + 1; id++) {
		uint32_t *owner = &l->owner[id & l->mask];

		if (*owner == INFLIGHT_NONE)
			return -EPROTO;
		inflight__release_message(l, *owner);
		*owner = INFLIGHT_NONE;
		l->in_flight--;
	}
	while (l->oldest != l->next && l->owner[l->oldest & l->mask] == INFLIGHT_NONE)
		l->oldest++;
	return 0;
}

uint32_t inflight__count(const struct inflight *l)
{
	return l->in_flight;
}

static bool is_error(const struct cmsghdr *c)
{
	return (c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR) ||
	       (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR);
}

bool completion__parse(struct msghdr *m, struct completion *c)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		const struct sock_extended_err *e = (const void *)CMSG_DATA(h);

		if (!is_error(h) || h->cmsg_len < CMSG_LEN(sizeof(*e)))
			continue;
		if (e->ee_origin != SO_EE_ORIGIN_ZEROCOPY || e->ee_errno)
			continue;
		c->low = e->ee_info;
		c->high = e->ee_data;
		c->copied = e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
		return true;
	}
	return false;
}

int completion__read(int fd, struct completion *c)
{
	_Alignas(struct cmsghdr) char control[128];

	for (;;) {
		struct msghdr m = {.msg_control = control, .msg_controllen = sizeof(control)};

		if (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
			if (completion__parse(&m, c))
				return 1;
		} else if (errno == EAGAIN) {
			return 0;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
}
