// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Times an application's reads of its error queue, in inet_recv_error. */
#include "functions.bpf.h"
#include "inflight.bpf.h"

static __always_inline void read_begin(struct sock *sk)
{
	struct thread *thread;

	if (gate != GATE_OPEN || !sockets_watched() || !zsock__find((__u64)sk))
		return;
	thread = thread__get();
	if (thread)
		thread->begun.queue_read = bpf_ktime_get_ns();
}

/* ret is negative if the queue was empty. */
static __always_inline void read_end(int ret)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = gate ? thread__peek() : NULL;

	if (!thread || !thread->begun.queue_read)
		return;
	span__add(ret < 0 ? SPAN_READ_EMPTY : SPAN_READ, now - thread->begun.queue_read);
	thread->begun.queue_read = 0;
}

ON_ENTRY(read, "inet_recv_error", read_begin(sk), struct sock *sk)

/* Four arguments; three since Linux 7, where function_result() does not need their number. */
ON_RESULT(read, "inet_recv_error", 4, int, read_end(ret))

/*
 * Times the wake-ups of threads that wait for completions, in the context of any thread. The start
 * is kept per CPU: the function hardly ever changes its CPU, and a time from two CPUs is mostly
 * negative and ignored.
 */
PERCPU_ARRAY(wake_ups, 1, __u64);

static __always_inline void wake_up_begin(struct sock *sk)
{
	__u64 *begun;

	if (gate != GATE_OPEN || !sockets_watched() || !zsock__find((__u64)sk))
		return;
	begun = FIRST_OF(wake_ups);
	if (begun)
		*begun = bpf_ktime_get_ns();
}

static __always_inline void wake_up_end(void)
{
	__u64 now = bpf_ktime_get_ns(), *begun = FIRST_OF(wake_ups);

	if (!begun || !*begun)
		return;
	if (gate && now > *begun)
		span__add(SPAN_WAKE_UP, now - *begun);
	*begun = 0;
}

ON_ENTRY(wake_up, "sock_def_error_report", wake_up_begin(sk), struct sock *sk)
ON_EXIT(wake_up, "sock_def_error_report", wake_up_end())
