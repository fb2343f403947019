// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Times sends by hooks on PROTO_SEND: the whole call, lock wait included. Kprobes are for kernels
 * that refuse tracing programs, or preempt them.
 */
#include "functions.bpf.h"
#include "sends.bpf.h"

/*
 * PROTO_SEND begins. thread: the calling thread's state if it is in its slot, else NULL. This is a
 * separate function, so that plain sends skip its code.
 */
static __noinline int sendmsg_begin(struct thread *thread, struct sock *sk, struct msghdr *msg,
				    __u32 flags, __u64 size)
{
	if (!thread || gate != GATE_OPEN || !is_lasting_sender(thread))
		thread = sender__get();
	if (!thread)
		return 0;
	/* Until PROTO_SEND_LOCKED begins, PROTO_SEND locks the socket. */
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

	if (thread && is_plain(thread) && !thread->send.sock && !(flags & MSG_ZEROCOPY) &&
	    gate == GATE_OPEN)
		plain_begin(thread, sk, current_syscall(sk));
	else if (thread || !is_bystander())
		sendmsg_begin(thread, sk, msg, flags, size);
	return 0;
}

SEC("fentry/" PROTO_SEND)
int BPF_PROG(send_fentry, struct sock *sk, struct msghdr *msg, size_t size)
{
	return sendmsg_called(sk, msg, msg->msg_flags, size);
}

SEC("kprobe/" PROTO_SEND)
int BPF_KPROBE(send_kprobe, struct sock *sk, struct msghdr *msg, size_t size)
{
	return sendmsg_called(sk, msg, READ(msg, msg_flags), size);
}

static __always_inline void sendmsg_returned(struct thread *thread, struct sock *sk, int ret)
{
	if (thread && thread->send.sock == (__u64)sk && gate && !plain_end(thread, ret))
		send_end(thread, ret);
}

/* Some return probes cannot read the socket: the thread's state has it. */
static __always_inline void any_returned(int ret)
{
	struct thread *thread = thread__returning();

	if (thread && thread->send.sock)
		sendmsg_returned(thread, (struct sock *)thread->send.sock, ret);
}

PROGRAM("fexit/" PROTO_SEND, BPF_PROG, send_fexit, sendmsg_returned(thread__returning(), sk, ret),
	struct sock *sk, struct msghdr *msg, size_t size, int ret)
PROGRAM("kretprobe/" PROTO_SEND, BPF_KRETPROBE, send_kretprobe, any_returned(ret), int ret)

/*
 * Before "tcp: Convert do_tcp_sendpages() to use MSG_SPLICE_PAGES" (6.5), sendfile and splice hand
 * each page to tcp_sendpage, not to PROTO_SEND.
 */
static __always_inline void sendpage_begin(struct sock *sk, __u64 size)
{
	struct thread *thread = sender__get();

	if (thread)
		send_begin(thread, sk, current_call(sk), 0, size, STAGE_UNACCOUNTED);
}

ON_ENTRY(sendpage, "tcp_sendpage", sendpage_begin(sk, size), struct sock *sk, void *page,
	 int offset, size_t size)
ON_RESULT(sendpage, "tcp_sendpage", 5, int, any_returned(ret))

/* msg_zerocopy_realloc returned. uarg is NULL if it refused the send. */
static __always_inline void send_id_given(void *uarg)
{
	struct thread *thread = gate ? thread__peek() : NULL;

	if (uarg && thread && thread->send.sock)
		follow_send(thread, (struct sock *)thread->send.sock);
}

/* Three arguments; four since Linux 6.16, where function_result() does not need their number. */
ON_RESULT(send_id, "msg_zerocopy_realloc", 3, void *, send_id_given(ret))
