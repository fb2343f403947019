// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Times sends by tracepoints if functions cannot be hooked: from the first pass of the copy loop to
 * the return; or from sys_enter to sys_exit, which runs at every syscall of the system.
 */
#include "functions.bpf.h"
#include "sends.bpf.h"

#define AF_UNIX	      1
#define IPPROTO_UDP   17
#define IPPROTO_MPTCP 262

/* True if sends are timed by the tracepoints PROTO_SEND_LOCKED and sock_send_length. */
const volatile bool times_by_tracepoint = false;
/* True if a send may connect its socket. A load's connections are open before its window. */
const volatile bool sends_connect = true;

/*
 * Counts sends that are not measured, so that the report can mention them: those by UDP, Unix
 * sockets and MPTCP, whose subflows PROTO_SEND does not see, and the zero-copy sends among them.
 */
static __always_inline void count_other(struct sock *sk, int ret)
{
	__u64 bytes = ret > 0 ? ret : 0;

	if (READ(sk, __sk_common.skc_family) == AF_UNIX) {
		COUNT(unix_sends, 1);
		COUNT(unix_bytes, bytes);
		return;
	}
	if (call_flags(current_call(sk), call_regs()) & MSG_ZEROCOPY)
		COUNT(other_requests, 1);
	switch (READ(sk, sk_protocol)) {
	case IPPROTO_MPTCP:
		COUNT(mptcp_sends, 1);
		COUNT(mptcp_bytes, bytes);
		break;
	case IPPROTO_UDP:
		COUNT(udp_sends, 1);
		COUNT(udp_bytes, bytes);
		break;
	}
}

/* Returns the number of iovecs that the syscall sends; 0: not known. */
static __always_inline __u64 call_iovecs(enum call_kind kind)
{
	struct pt_regs *regs = call_regs();
	struct user_msghdr message;

	if (kind == CALL_WRITEV)
		return PT_REGS_PARM3_CORE_SYSCALL(regs);
	if (kind != CALL_SENDMSG || !message__read(PT_REGS_PARM2_CORE_SYSCALL(regs), &message))
		return 0;
	return message.msg_iovlen;
}

/*
 * Returns whether the send began before the window. Only the first send that is seen of a thread
 * can have begun before: its message is then at a position inside an iovec or behind the first one.
 * Neither the send nor its completion counts. Sends by io_uring in the thread's own context do not
 * wait, so they began just now, even if an earlier send took a part of their message.
 */
static __always_inline bool began_before(struct thread *thread, struct msghdr *msg,
					 enum call_kind kind)
{
	if (thread->has_sent)
		return false;
	thread->has_sent = true;
	if (kind == CALL_IO_URING && !(thread->role & ROLE_IO_WORKER))
		return false;
	if (READ(msg, msg_iter.iov_offset))
		return true;
	/* kTLS and sockmap build messages of pages from the syscall's own message. */
	return !(READ(msg, msg_flags) & MSG_SPLICE_PAGES) &&
	       READ(msg, msg_iter.nr_segs) < call_iovecs(kind);
}

/*
 * First pass of the loop, in a send that is not plain. msg_zerocopy_realloc has already given the
 * send's id.
 */
static __noinline void loop_begin(struct thread *thread, struct sock *sk, struct msghdr *msg,
				  enum call_kind kind, __u32 flags)
{
	message_begin(thread, sk, msg, kind, flags,
		      timeline || flags & MSG_ZEROCOPY ? READ(msg, msg_iter.count) : 0,
		      STAGE_UNACCOUNTED);
	if (has_send_id(thread, sk))
		follow_send(thread, sk);
}

/* First pass of the loop, for a thread that has no slot, or whose sends were not seen before. */
static __noinline void first_loop(struct sock *sk, struct msghdr *msg)
{
	struct thread *thread = sender__get();
	enum call_kind kind;

	if (!thread || thread->send.sock == (__u64)sk)
		return;
	if (thread->send.sock)
		thread__leave_send(thread);
	kind = current_call(sk);
	thread->send.before = began_before(thread, msg, kind);
	if (thread->send.before)
		thread->send.sock = (__u64)sk;
	else
		loop_begin(thread, sk, msg, kind, READ(msg, msg_flags));
}

/* Fires in each pass of the loop; the first pass is the start. */
SEC("raw_tp/" PROTO_SEND_LOCKED)
int BPF_PROG(send_loop, struct sock *sk, struct msghdr *msg)
{
	struct thread *thread = thread__in_slot();
	enum call_kind kind;
	__u32 flags;

	if (thread && thread->send.sock == (__u64)sk)
		return 0;
	if (!thread || thread->send.sock || !is_lasting_sender(thread) || !thread->has_sent ||
	    thread->role & ROLE_IO_WORKER || gate != GATE_OPEN) {
		if (!is_bystander())
			first_loop(sk, msg);
		return 0;
	}
	kind = current_syscall(sk);
	flags = READ(msg, msg_flags);
	if (is_plain(thread) && !(flags & MSG_ZEROCOPY))
		plain_begin(thread, sk, kind);
	else
		loop_begin(thread, sk, msg, kind, flags);
	return 0;
}

/* The end of a send that plain_end() did not count. */
static __noinline void length_end(struct thread *thread, struct sock *sk, int ret)
{
	if (!thread)
		thread = thread__beside_slot();
	if (gate && thread && thread->send.sock == (__u64)sk) {
		if (thread->send.before)
			thread->send.sock = thread->send.before = 0;
		else
			send_end(thread, ret);
		return;
	}
	thread = sender__get();
	if (!thread)
		return;
	if (!is_ours(sk)) {
		count_other(sk, ret);
		return;
	}
	/* A send that the kernel accepted has passed the loop, before the window or unseen. */
	if (!thread->has_sent && ret > 0) {
		thread->has_sent = true;
		COUNT(returned_first, 1);
		return;
	}
	count_untimed((__u64)sk, ret);
}

/*
 * If PROTO_SEND is hooked, this counts sends that do not call it, untimed. Sends that call it were
 * counted at their return, just before this: thread->returned is their socket.
 */
static __noinline void length_over_tcp(struct sock *sk, int ret)
{
	struct thread *thread = thread__returning();

	if (thread && thread->returned == (__u64)sk) {
		thread->returned = 0;
		return;
	}
	thread = sender__get();
	if (!thread)
		return;
	if (!is_ours(sk))
		count_other(sk, ret);
	else if (!sends_by_proto(sk))
		count_untimed((__u64)sk, ret);
}

/*
 * A send that failed before the copy loop, mostly for lack of memory for zero-copy, has no start
 * time: it is counted as untimed.
 */
SEC("raw_tp/sock_send_length")
int BPF_PROG(send_length, struct sock *sk, int ret)
{
	struct thread *thread;

	if (!times_by_tracepoint) {
		if (!is_bystander())
			length_over_tcp(sk, ret);
		return 0;
	}
	thread = thread__in_slot();
	if (thread && thread->send.sock == (__u64)sk && !thread->send.before && gate &&
	    plain_end(thread, ret))
		return 0;
	if (thread || !is_bystander())
		length_end(thread, sk, ret);
	return 0;
}

/* A send begins, but not by io_uring: for that, see message_begin(). */
static __always_inline void call_begin(struct thread *thread, struct sock *sk, enum call_kind kind,
				       struct pt_regs *regs)
{
	send_begin(thread, sk, kind, call_flags(kind, regs), call_size(kind, regs),
		   STAGE_UNACCOUNTED);
}

/*
 * A send that also connects (TCP Fast Open) may put all its data into the SYN, and never reach the
 * loop.
 */
static __noinline void send_connects(struct sock *sk)
{
	enum call_kind kind = current_call(sk);
	struct thread *thread;

	thread = kind == CALL_OTHER || kind == CALL_IO_URING ? NULL : thread__get();
	if (!thread || !(thread->role & ROLE_SENDER) || !is_ours(sk))
		return;
	thread->has_sent = true;
	call_begin(thread, sk, kind, call_regs());
	if (has_send_id(thread, sk))
		follow_send(thread, sk);
}

SEC("raw_tp/inet_sock_set_state")
int BPF_PROG(socket_state, struct sock *sk, int before, int state)
{
	if (state == STATE_CONNECTS || state == STATE_ACCEPTED)
		zsock__replace(sk);
	if (times_by_tracepoint && sends_connect && gate == GATE_OPEN && state == STATE_CONNECTS)
		send_connects(sk);
	return 0;
}

SEC("raw_tp/sys_enter")
int BPF_PROG(send_enter, struct pt_regs *regs, __u64 number)
{
	enum call_kind kind = gate == GATE_OPEN ? call_kind(number) : CALL_OTHER;
	struct thread *thread;
	struct sock *sk;

	if (!sends_once(kind)) /* syscalls that make several sends are not seen */
		return 0;
	thread = is_compat() ? NULL : sender__get();
	if (!thread)
		return 0;
	sk = socket_of(PT_REGS_PARM1_CORE_SYSCALL(regs));
	if (!sk || !is_ours(sk))
		return 0;
	call_begin(thread, sk, kind, regs);
	if (ids_guessed && has_send_id(thread, sk))
		follow_guessed_send(thread, sk);
	return 0;
}

SEC("raw_tp/sys_exit")
int BPF_PROG(send_exit, struct pt_regs *regs, long ret)
{
	struct thread *thread = gate ? thread__peek() : NULL;

	if (thread && thread->send.sock)
		send_end(thread, ret);
	return 0;
}
