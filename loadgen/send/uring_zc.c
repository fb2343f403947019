/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "loadgen/send/uring_zc.h"

#define LOOK_NS 100000000LL /* how long a wait may overlook that it is vain */

static void take_notification(struct sender *s, const struct io_uring_cqe *cqe)
{
	struct uring_zc *u = s->state;
	uint64_t message = cqe->user_data;

	u->pending[message]--;
	u->in_flight--;
	if (u->failed[message]) {
		u->failed[message]--;
		u->failing--;
		return;
	}
	s->sent.zerocopy.notifications++;
	s->sent.zerocopy.completions++;
	if (u->usage && (uint32_t)cqe->res & IORING_NOTIF_USAGE_ZC_COPIED)
		s->sent.zerocopy.copied++;
}

/* One that was cancelled was linked to one that failed, and never began. */
static void take_result(struct sender *s, const struct io_uring_cqe *cqe)
{
	struct uring_zc *u = s->state;

	u->awaited--;
	if (cqe->flags & IORING_CQE_F_MORE) {
		u->pending[cqe->user_data]++;
		u->failed[cqe->user_data] += cqe->res < 0;
		u->failing += cqe->res < 0;
		u->in_flight++;
	}
	if (cqe->res == -ECANCELED)
		return;
	s->sent.zerocopy.requests++;
	errno = cqe->res < 0 ? -cqe->res : 0;
	sender__account(s, cqe->res < 0 ? -1 : cqe->res);
	if (cqe->res >= 0)
		u->taken += (size_t)cqe->res;
	else if (!u->err)
		u->err = cqe->res;
}

static void take(struct sender *s, const struct io_uring_cqe *cqe)
{
	if (cqe->flags & IORING_CQE_F_NOTIF)
		take_notification(s, cqe);
	else
		take_result(s, cqe);
}

int uring_zc__await(struct sender *s, uint64_t until_ns)
{
	struct uring_zc *u = s->state;
	struct __kernel_timespec look = {.tv_nsec = LOOK_NS};
	struct io_uring_cqe *cqe;
	int err;

	while ((err = io_uring_wait_cqe_timeout(&u->ring, &cqe, &look))) {
		if (err != -ETIME && err != -EINTR)
			return failure__set(&s->failure, STATUS_FAILED, err, "io_uring: %s",
					    strerror(-err));
		if (atomic_load(&s->abandoned))
			return -ECANCELED;
		if (until_ns && now_ns() >= until_ns)
			return -ETIMEDOUT;
	}
	take(s, cqe);
	io_uring_cqe_seen(&u->ring, cqe);
	return 0;
}

void uring_zc__take(struct sender *s)
{
	struct uring_zc *u = s->state;
	struct io_uring_cqe *cqe;

	while (!io_uring_peek_cqe(&u->ring, &cqe)) {
		take(s, cqe);
		io_uring_cqe_seen(&u->ring, cqe);
	}
}
