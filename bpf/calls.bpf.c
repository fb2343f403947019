// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Times sends by hooks on tcp_sendmsg: the whole call, lock wait included. Kprobes are for kernels
 * that refuse tracing programs, or preempt them.
 */
#include "functions.bpf.h"
#include "sends.bpf.h"

/*
 * tcp_sendmsg begins. thread: the calling thread's state if it is in its slot. A separate function,
 * so that plain sends skip this code.
 */
static __noinline int sendmsg_begin(struct thread *thread, struct sock *sk, struct msghdr *msg,
				    __u32 flags, __u64 size)
{
	if (!thread || gate != GATE_OPEN || !is_lasting_sender(thread))
		thread = sender__get();
	if (!thread)
		return 0;
	/* Until tcp_sendmsg_locked begins, it locks the socket. */
	message_begin(thread, sk, msg, current_call(sk), flags, size,
		      copy_is_hooked ? STAGE_LOCK : STAGE_UNACCOUNTED);
	if (ids_guessed && has_send_id(thread, sk))
		follow_guessed_send(thread, sk);
	return 0;
}

static __always_inline int sendmsg_called(struct sock *sk, struct msghdr *msg, __u32 flags,
					  __u64 size)
{
	struct thread *thread = thread__in_slot();

	if (thread && is_plain(thread) && !thread->sock && !(flags & MSG_ZEROCOPY) &&
	    gate == GATE_OPEN)
		plain_begin(thread, sk, current_syscall(sk));
	else if (thread || !is_bystander())
		sendmsg_begin(thread, sk, msg, flags, size);
	return 0;
}

SEC("fentry/tcp_sendmsg")
int BPF_PROG(send_fentry, struct sock *sk, struct msghdr *msg, size_t size)
{
	return sendmsg_called(sk, msg, msg->msg_flags, size);
}

SEC("kprobe/tcp_sendmsg")
int BPF_KPROBE(send_kprobe, struct sock *sk, struct msghdr *msg, size_t size)
{
	return sendmsg_called(sk, msg, READ(msg, msg_flags), size);
}

static __always_inline void sendmsg_returned(struct thread *thread, struct sock *sk, int ret)
{
	if (thread && thread->sock == (__u64)sk && gate && !plain_end(thread, ret))
		send_end(thread, ret);
}

/* Some return probes do not know the socket: the thread's state has it. */
static __always_inline void any_returned(int ret)
{
	struct thread *thread = thread__returning();

	if (thread && thread->sock)
		sendmsg_returned(thread, (struct sock *)thread->sock, ret);
}

SEC("fexit/tcp_sendmsg")
int BPF_PROG(send_fexit, struct sock *sk, struct msghdr *msg, size_t size, int ret)
{
	sendmsg_returned(thread__returning(), sk, ret);
	return 0;
}

SEC("kretprobe/tcp_sendmsg")
int BPF_KRETPROBE(send_kretprobe, int ret)
{
	any_returned(ret);
	return 0;
}

/*
 * Before "tcp: Convert do_tcp_sendpages() to use MSG_SPLICE_PAGES" (6.5), sendfile and splice hand
 * each page to tcp_sendpage, not to tcp_sendmsg.
 */
static __always_inline void sendpage_begin(struct sock *sk, __u64 size)
{
	struct thread *thread = sender__get();

	if (!thread)
		return;
	send_begin(thread, sk, current_call(sk), 0, size, STAGE_UNACCOUNTED);
}

ON_ENTRY(sendpage, "tcp_sendpage", sendpage_begin(sk, size), struct sock *sk, void *page,
	 int offset, size_t size)
ON_RESULT(sendpage, "tcp_sendpage", 5, int, any_returned(ret))

/* msg_zerocopy_realloc returned; NULL: the send is refused. */
static __always_inline void send_id_given(void *uarg)
{
	struct thread *thread = gate ? thread__peek() : NULL;

	if (uarg && thread && thread->sock)
		follow_send(thread, (struct sock *)thread->sock);
}

/* Three arguments; four since Linux 6.16, where function_result() does not need their number. */
ON_RESULT(send_id, "msg_zerocopy_realloc", 3, void *, send_id_given(ret))
