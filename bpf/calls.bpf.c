// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Calls timed by the function itself, tcp_sendmsg: its whole time, lock wait included.
 *   fentry    fentry and fexit
 *   kprobe    kprobe and kretprobe: for kernels that refuse tracing programs, or preempt
 *             them. Through the function graph tracer where that can be had; else the
 *             kernel has a limited number of return probes, and a return for which none
 *             was left is counted as lost.
 */
#include "sends.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct call_map calls SEC(".maps");
struct error_map errors SEC(".maps");
const volatile __u32 optmem_max = 0;

/* tcp_sendmsg begins. */
static __always_inline void sendmsg_begin(struct sock *sk, struct msghdr *msg, __u64 size)
{
	struct thread *thread = gate == GATE_OPEN ? thread__get() : NULL;

	if (!thread || !(thread->role & ROLE_SENDER))
		return;
	/* It locks the socket, up to tcp_sendmsg_locked. */
	message_begin(thread, sk, msg, size, next_id(sk),
		      copy_is_hooked ? STAGE_LOCK : STAGE_UNACCOUNTED);
	if (thread->flags & MSG_ZEROCOPY && ids_guessed && !thread->notification &&
	    zerocopy_enabled(sk))
		follow_guessed_send(thread, sk);
}

SEC("fentry/tcp_sendmsg")
int BPF_PROG(send_fentry, struct sock *sk, struct msghdr *msg, size_t size)
{
	sendmsg_begin(sk, msg, size);
	return 0;
}

SEC("kprobe/tcp_sendmsg")
int BPF_KPROBE(send_kprobe, struct sock *sk, struct msghdr *msg, size_t size)
{
	sendmsg_begin(sk, msg, size);
	return 0;
}

SEC("fexit/tcp_sendmsg")
int BPF_PROG(send_fexit, struct sock *sk, struct msghdr *msg, size_t size, int ret)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = gate ? thread__peek() : NULL;

	if (thread && thread->sock == (__u64)sk)
		send_end(thread, sk, ret, now);
	return 0;
}

/* tcp_sendmsg returned, and the probe does not know from what. */
static __always_inline void sendmsg_end(int ret)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = gate ? thread__peek() : NULL;

	if (thread && thread->sock)
		send_end(thread, (struct sock *)thread->sock, ret, now);
}

SEC("kretprobe/tcp_sendmsg")
int BPF_KRETPROBE(send_kretprobe, int ret)
{
	sendmsg_end(ret);
	return 0;
}

/*
 * Before "tcp: Convert do_tcp_sendpages() to use MSG_SPLICE_PAGES" (6.5) sendfile and
 * splice hand TCP one page after the other, past tcp_sendmsg.
 */
static __always_inline void sendpage_begin(struct sock *sk, __u64 size)
{
	struct thread *thread = gate == GATE_OPEN ? thread__get() : NULL;

	if (!thread || !(thread->role & ROLE_SENDER))
		return;
	thread->notification = 0;
	send_begin(thread, sk, current_call(), 0, size, STAGE_UNACCOUNTED);
}

SEC("fentry/tcp_sendpage")
int BPF_PROG(sendpage_fentry, struct sock *sk, void *page, int offset, size_t size)
{
	sendpage_begin(sk, size);
	return 0;
}

SEC("fexit/tcp_sendpage")
int BPF_PROG(sendpage_fexit, struct sock *sk, void *page, int offset, size_t size, int flags,
	     int ret)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = gate ? thread__peek() : NULL;

	if (thread && thread->sock == (__u64)sk)
		send_end(thread, sk, ret, now);
	return 0;
}

SEC("kprobe/tcp_sendpage")
int BPF_KPROBE(sendpage_kprobe, struct sock *sk, void *page, int offset, size_t size)
{
	sendpage_begin(sk, size);
	return 0;
}

SEC("kretprobe/tcp_sendpage")
int BPF_KRETPROBE(sendpage_kretprobe, int ret)
{
	sendmsg_end(ret);
	return 0;
}

/* msg_zerocopy_realloc returned: NULL where the send is refused. */
static __always_inline void send_id_given(void *uarg)
{
	struct thread *thread = gate ? thread__peek() : NULL;

	if (uarg && thread && thread->sock)
		follow_send(thread, (struct sock *)thread->sock);
}

/* Three arguments come before the result, and in Linux 6.16 a fourth came to them. */
SEC("fexit/msg_zerocopy_realloc")
int BPF_PROG(send_id_fexit, struct sock *sk)
{
	send_id_given((void *)function_result(ctx, 3));
	return 0;
}

SEC("kretprobe/msg_zerocopy_realloc")
int BPF_KRETPROBE(send_id_kretprobe, void *uarg)
{
	send_id_given(uarg);
	return 0;
}
