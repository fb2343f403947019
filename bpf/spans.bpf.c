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

#define S_IFMT	      00170000
#define S_IFSOCK      0140000
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
	if (BPF_CORE_READ(sk, sk_protocol) != IPPROTO_MPTCP) {
		if (call_flags(current_call(), call_regs()) & MSG_ZEROCOPY)
			t->other_requests++;
		return;
	}
	t->mptcp_sends++;
	if (ret > 0)
		t->mptcp_bytes += ret;
}

/* Has the kernel given this send an id? io_uring's have none. */
static __always_inline bool has_send_id(struct sock *sk, const struct thread *thread)
{
	return !thread->notification && zerocopy_enabled(sk);
}

/*
 * The first send that is seen of a thread may have begun before the window: part of it
 * is sent already. It does not count, nor does what completes of it.
 */
static __always_inline bool began_before(struct thread *thread, struct msghdr *msg)
{
	enum call_kind kind;

	if (thread->has_sent)
		return false;
	thread->has_sent = true;
	kind = current_call();
	return call_size(kind, call_regs()) > BPF_CORE_READ(msg, msg_iter.count);
}

/*
 * args: sk, msg, skb, size_goal. Fires once per pass of the loop; the first pass
 * is the start. This send has its id already: msg_zerocopy_realloc came earlier.
 */
SEC("raw_tp/tcp_sendmsg_locked")
int send_loop(struct bpf_raw_tracepoint_args *ctx)
{
	struct thread *thread = gate == GATE_OPEN ? thread__get() : NULL;
	struct sock *sk = (struct sock *)ctx->args[0];
	struct msghdr *msg = (struct msghdr *)ctx->args[1];

	if (!thread || thread->sock == (__u64)sk || !(thread->role & ROLE_SENDER))
		return 0;
	thread->before = began_before(thread, msg);
	if (thread->before) {
		thread->sock = (__u64)sk;
		return 0;
	}
	message_begin(thread, sk, msg, 0, next_id(sk) - 1, STAGE_UNACCOUNTED);
	if (thread->flags & MSG_ZEROCOPY && has_send_id(sk, thread)) {
		thread->size = BPF_CORE_READ(msg, msg_iter.count);
		follow_send(thread, sk);
	}
	return 0;
}

/* A send of which nothing is known but its return. */
static __always_inline void count_untimed(struct sock *sk, int ret)
{
	struct pt_regs *regs = call_regs();
	enum call_kind kind = current_call();

	count_send(sk, kind, call_flags(kind, regs), call_size(kind, regs), 0, ret, 0);
}

/*
 * args: sk, ret, flags, which is always 0. A send that failed before the loop,
 * for want of zero-copy memory above all, has no start: it is counted untimed.
 */
SEC("raw_tp/sock_send_length")
int send_length(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = gate ? thread__get() : NULL;
	struct sock *sk = (struct sock *)ctx->args[0];
	int ret = ctx->args[1];
	struct totals *t;

	if (!thread || !(thread->role & ROLE_SENDER))
		return 0;
	if (thread->sock == (__u64)sk) {
		if (thread->before)
			thread->sock = thread->before = 0;
		else
			send_end(thread, sk, ret, now);
		return 0;
	}
	if (gate != GATE_OPEN)
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
	count_untimed(sk, ret);
	return 0;
}

/*
 * A send begins that is not one of io_uring's. If it asks for zero-copy it will have the socket's
 * next id, or has taken one already: reading it is not for free, so that others leave it alone.
 */
static __always_inline void call_begin(struct thread *thread, struct sock *sk, enum call_kind kind,
				       struct pt_regs *regs, __u32 taken)
{
	__u32 flags = call_flags(kind, regs);

	if (flags & MSG_ZEROCOPY)
		socket__set_owner(zerocopy_begin(sk, next_id(sk) - taken), sk);
	thread->notification = 0;
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
	kind = current_call();
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
 * tcp_sendmsg: beside the hooks of that, this counts it, untimed.
 */
SEC("raw_tp/sock_send_length")
int send_over_tcp(struct bpf_raw_tracepoint_args *ctx)
{
	struct thread *thread = gate == GATE_OPEN ? thread__get() : NULL;
	struct sock *sk = (struct sock *)ctx->args[0];

	if (!thread || !(thread->role & ROLE_SENDER))
		return 0;
	if (!is_tcp(sk))
		count_other(sk, (int)ctx->args[1]);
	if (!is_tcp(sk) || !BPF_CORE_READ((struct inet_connection_sock *)sk, icsk_ulp_ops))
		return 0;
	count_untimed(sk, ctx->args[1]);
	return 0;
}

/* The socket behind a file descriptor of the current task, NULL if it is none. */
static __always_inline struct sock *socket_of(int fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files, *file = NULL;
	struct socket *socket;

	if ((__u32)fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	files = BPF_CORE_READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	if (!file || (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return NULL;
	socket = BPF_CORE_READ(file, private_data);
	return BPF_CORE_READ(socket, sk);
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
	thread = thread__get();
	if (!thread || !(thread->role & ROLE_SENDER))
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
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = gate ? thread__peek() : NULL;

	if (thread && thread->sock)
		send_end(thread, (struct sock *)thread->sock, ctx->args[1], now);
	return 0;
}
