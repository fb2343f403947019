// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What it takes an application to read its error queue: the time in inet_recv_error,
 * which recvmsg() with MSG_ERRQUEUE calls, of sockets on which zero-copy was asked for.
 */
#include "inflight.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline void read_begin(struct sock *sk)
{
	__u64 key = (__u64)sk;
	struct thread *thread;

	if (gate != GATE_OPEN || !bpf_map_lookup_elem(&sockets, &key))
		return;
	thread = thread__get();
	if (thread)
		thread->reading = bpf_ktime_get_ns();
}

/* ret is below 0 where nothing was found. */
static __always_inline void read_end(int ret)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = gate ? thread__peek() : NULL;
	__u32 span = ret < 0 ? SPAN_READ_EMPTY : SPAN_READ;
	struct hist *h;

	if (!thread || !thread->reading)
		return;
	h = bpf_map_lookup_elem(&spans, &span);
	if (h)
		hist_add(h, now - thread->reading);
	thread->reading = 0;
}

SEC("fentry/inet_recv_error")
int BPF_PROG(read_fentry, struct sock *sk)
{
	read_begin(sk);
	return 0;
}

/* Four arguments came before the result, until Linux 7 took the last of them away. */
SEC("fexit/inet_recv_error")
int BPF_PROG(read_fexit, struct sock *sk)
{
	read_end(function_result(ctx, 4));
	return 0;
}

SEC("kprobe/inet_recv_error")
int BPF_KPROBE(read_kprobe, struct sock *sk)
{
	read_begin(sk);
	return 0;
}

SEC("kretprobe/inet_recv_error")
int BPF_KRETPROBE(read_kretprobe, int ret)
{
	read_end(ret);
	return 0;
}

SEC("kprobe.multi/inet_recv_error")
int BPF_KPROBE(read_multi, struct sock *sk)
{
	read_begin(sk);
	return 0;
}

SEC("kretprobe.multi/inet_recv_error")
int BPF_KRETPROBE(read_multi_return, int ret)
{
	read_end(ret);
	return 0;
}
