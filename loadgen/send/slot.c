/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loadgen/send/slot.h"

struct slot *slot__map(unsigned int count)
{
	struct slot *slots = mmap(NULL, count * sizeof(*slots), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return slots == MAP_FAILED ? NULL : slots;
}

void slot__unmap(struct slot *slots, unsigned int count)
{
	if (slots)
		munmap(slots, count * sizeof(*slots));
}

void slot__wake(struct slot *s)
{
	atomic_fetch_add(&s->wakeups, 1);
	syscall(SYS_futex, &s->wakeups, FUTEX_WAKE, 1, NULL, NULL, 0);
	if (s->event)
		eventfd_write(s->event, 1);
}

void slot__end(struct slot *s)
{
	atomic_store(&s->ended, true);
	slot__wake(s);
}

int slot__await(struct slot *s, uint64_t wanted)
{
	int err = 0;

	atomic_store(&s->wanted, wanted);
	for (;;) {
		uint32_t wakeups = atomic_load(&s->wakeups);

		if (atomic_load(&s->received) >= wanted)
			break;
		if (atomic_load(&s->ended)) {
			err = -EPIPE;
			break;
		}
		/* Not FUTEX_PRIVATE: the other side is in another process. */
		syscall(SYS_futex, &s->wakeups, FUTEX_WAIT, wakeups, NULL, NULL, 0);
	}
	atomic_store(&s->wanted, 0);
	return err;
}
