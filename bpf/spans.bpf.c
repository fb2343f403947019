// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Calls timed by tracepoints, where functions cannot be hooked:
 *   pair      tcp_sendmsg_locked and sock_send_length: from the first pass of the copy
 *             loop to the return. On the path of sends alone.
 *   syscall   sys_enter and sys_exit: on the path of every syscall of the system, so
 *             only for kernels that have neither of the others
 */
#include "sends.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define AF_UNIX	      1
#define IPPROTO_MPTCP 262

/*
 * Not measured, but counted, so that nobody takes their absence for a finding: MPTCP's sends, whose
 * subflows tcp_sendmsg does not see, and zero-copy sends by further protocols.
 */
static __always_inline void count_other(struct sock *sk, int ret)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	struct totals *t = totals__get();

	if (!t || family == AF_UNIX)
		return;
	if (current_flags(current_call(sk)) & MSG_ZEROCOPY)
		t->other_requests++;
	if (BPF_CORE_READ(sk, sk_protocol) != IPPROTO_MPTCP)
		return;
	t->mptcp_sends++;
	if (ret > 0)
		t->mptcp_bytes += ret;
}

/* Has the kernel given this send an id? io_uring's have none. */
static __always_inline bool has_send_id(struct sock *sk, const struct thread *thread)
{
	return !thread->notification && zerocopy_enabled(sk);
}

/* How many iovecs the syscall sends; 0 where that is not known. */
static __always_inline __u64 call_iovecs(enum call_kind kind)
{
	struct pt_regs *regs = call_regs();

	if (kind == CALL_WRITEV)
		return PT_REGS_PARM3_CORE_SYSCALL(regs);
	return kind == CALL_SENDMSG ? message_iovecs(PT_REGS_PARM2_CORE_SYSCALL(regs)) : 0;
}

/*
 * The first send that is seen of a thread may have begun before the window: part of it is sent
 * already, up to somewhere in an iovec or between two. It does not count, nor does what completes
 * of it. What io_uring sends for a thread waits for nothing, so that it began just now; a message
 * of which it sent a part before is not at its beginning.
 */
static __always_inline bool began_before(struct thread *thread, struct msghdr *msg,
					 enum call_kind kind)
{
	if (thread->has_sent)
		return false;
	thread->has_sent = true;
	if (kind == CALL_IO_URING && !(thread->role & ROLE_IO_WORKER))
		return false;
	if (BPF_CORE_READ(msg, msg_iter.iov_offset))
		return true;
	/* A message of pages is not the syscall's: kTLS and sockmap make such ones of it. */
	return !(BPF_CORE_READ(msg, msg_flags) & MSG_SPLICE_PAGES) &&
	       BPF_CORE_READ(msg, msg_iter.nr_segs) < call_iovecs(kind);
}

/*
 * The flags of a message. A syscall that sends has them among its arguments, which need no helper
 * to be read; where these ask for zero-copy, another socket's send may be under way in it.
 */
static __always_inline __u32 message_flags(struct msghdr *msg, enum call_kind kind)
{
	bool in_arguments = kind == CALL_SENDTO || kind == CALL_SENDMSG || kind == CALL_SENDMMSG;
	__u32 flags = in_arguments ? current_flags(kind) : 0;

	if (kind == CALL_WRITE || kind == CALL_WRITEV || (in_arguments && !(flags & MSG_ZEROCOPY)))
		return flags;
	return BPF_CORE_READ(msg, msg_flags);
}

/*
 * A pass of the loop that is not a further one of a plain send. This send has its id already:
 * msg_zerocopy_realloc came earlier.
 */
static __noinline int loop_begin(struct sock *sk, struct msghdr *msg)
{
	struct thread *thread = sender__get();
	enum call_kind kind;

	if (!thread || thread->sock == (__u64)sk)
		return 0;
	if (thread->sock)
		thread__leave_send(thread);
	kind = current_call(sk);
	thread->before = began_before(thread, msg, kind);
	if (thread->before) {
		thread->sock = (__u64)sk;
		return 0;
	}
	message_begin(thread, sk, (__u64)sk, msg, kind, message_flags(msg, kind), 0, 1,
		      STAGE_UNACCOUNTED);
	if (thread->flags & MSG_ZEROCOPY && has_send_id(sk, thread)) {
		thread->size = BPF_CORE_READ(msg, msg_iter.count);
		follow_send(thread, sk);
	}
	return 0;
}

/* args: sk, msg, skb, size_goal. Fires once per pass of the loop; the first pass is the start. */
SEC("raw_tp/tcp_sendmsg_locked")
int send_loop(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct msghdr *msg = (struct msghdr *)ctx->args[1];
	struct thread *thread = thread__in_slot();
	enum call_kind kind;

	if (thread && thread->sock == (__u64)sk)
		return 0;
	if (thread && is_plain(thread) && !thread->sock && thread->has_sent && gate == GATE_OPEN) {
		kind = current_syscall(sk);
		if (!(message_flags(msg, kind) & MSG_ZEROCOPY)) {
			plain_begin(thread, sk, kind);
			return 0;
		}
	}
	return is_bystander() ? 0 : loop_begin(sk, msg);
}

/* No plain send that TCP took returned. */
static __noinline int length_end(struct sock *sk, int ret)
{
	struct thread *thread = gate ? thread__peek() : NULL;
	struct totals *t;

	if (thread && thread->sock == (__u64)sk) {
		if (thread->before)
			thread->sock = thread->before = 0;
		else
			send_end(ret);
		return 0;
	}
	thread = sender__get();
	if (!thread)
		return 0;
	if (!is_tcp(sk)) {
		count_other(sk, ret);
		return 0;
	}
	/* One that the kernel accepted passed the loop: before the window, or unseen. */
	if (!thread->has_sent && ret > 0) {
		thread->has_sent = true;
		t = totals__get();
		if (t)
			t->returned_first++;
		return 0;
	}
	count_untimed((__u64)sk, ret);
	return 0;
}

/*
 * args: sk, ret, flags, which is always 0. A send that failed before the loop,
 * for want of zero-copy memory above all, has no start: it is counted untimed.
 */
SEC("raw_tp/sock_send_length")
int send_length(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct thread *thread = thread__in_slot();
	int ret = ctx->args[1];

	if (thread && thread->sock == (__u64)sk && !thread->before && gate &&
	    plain_end(thread, ret))
		return 0;
	return is_bystander() ? 0 : length_end(sk, ret);
}

/* A send begins that is not one of io_uring's: see message_begin(). */
static __always_inline void call_begin(struct thread *thread, struct sock *sk, enum call_kind kind,
				       struct pt_regs *regs, __u32 taken)
{
	__u32 flags = call_flags(kind, regs);

	if (flags & MSG_ZEROCOPY)
		zerocopy_begin((__u64)sk, next_id(sk) - taken);
	send_begin(thread, sk, kind, flags, call_size(kind, regs), STAGE_UNACCOUNTED);
}

/*
 * args: sk, old state, new state. A send that connects first (TCP Fast Open) may put all its
 * data into the SYN, and so never come to the loop.
 */
SEC("raw_tp/inet_sock_set_state")
int send_connects(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct thread *thread;
	enum call_kind kind;

	if (gate != GATE_OPEN || (int)ctx->args[2] != TCP_SYN_SENT)
		return 0;
	kind = current_call(sk);
	thread = kind == CALL_OTHER || kind == CALL_IO_URING ? NULL : thread__get();
	if (!thread || !(thread->role & ROLE_SENDER) || !is_tcp(sk))
		return 0;
	thread->has_sent = true;
	call_begin(thread, sk, kind, call_regs(), 1);
	if (thread->flags & MSG_ZEROCOPY && has_send_id(sk, thread))
		follow_send(thread, sk);
	return 0;
}

/*
 * args: sk, ret, flags. What another protocol sends over TCP (kTLS) does not come by
 * tcp_sendmsg: beside the hooks of that, this counts it, untimed. What does come by it comes here
 * next.
 */
SEC("raw_tp/sock_send_length")
int send_over_tcp(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct thread *thread = thread__in_slot();

	if (thread && thread->returned == (__u64)sk) {
		thread->returned = 0;
		return 0;
	}
	thread = sender__get();
	if (!thread)
		return 0;
	if (!is_tcp(sk))
		count_other(sk, (int)ctx->args[1]);
	if (!is_tcp(sk) || !BPF_CORE_READ((struct inet_connection_sock *)sk, icsk_ulp_ops))
		return 0;
	count_untimed((__u64)sk, ctx->args[1]);
	return 0;
}

/* Here one syscall is one send; those that make several are not seen. */
static __always_inline bool sends_once(enum call_kind kind)
{
	return kind == CALL_SENDTO || kind == CALL_SENDMSG || kind == CALL_WRITE ||
	       kind == CALL_WRITEV;
}

/* args: regs, number */
SEC("raw_tp/sys_enter")
int send_enter(struct bpf_raw_tracepoint_args *ctx)
{
	enum call_kind kind = gate == GATE_OPEN ? call_kind(ctx->args[1]) : CALL_OTHER;
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	struct thread *thread;
	struct sock *sk;

	if (!sends_once(kind))
		return 0;
	thread = is_compat() ? NULL : sender__get();
	if (!thread)
		return 0;
	sk = socket_of(PT_REGS_PARM1_CORE_SYSCALL(regs));
	if (!sk || !is_tcp(sk))
		return 0;
	call_begin(thread, sk, kind, regs, 0);
	if (thread->flags & MSG_ZEROCOPY && ids_guessed && zerocopy_enabled(sk))
		follow_guessed_send(thread, sk);
	return 0;
}

/* args: regs, ret */
SEC("raw_tp/sys_exit")
int send_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct thread *thread = gate ? thread__peek() : NULL;

	if (thread && thread->sock)
		send_end(ctx->args[1]);
	return 0;
}
