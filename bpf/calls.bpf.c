// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Calls: what a send cost and what became of it, per syscall and kind.
 *
 * Four mechanisms lead to the same two bodies, send_begin and send_end:
 *   fentry    fentry and fexit of tcp_sendmsg: its whole time, lock wait included
 *   kprobe    kprobe and kretprobe of the same: for kernels that refuse tracing
 *             programs, or preempt them. Through the function graph tracer where
 *             that can be had; else the kernel has a limited number of return
 *             probes, and a return for which none was left is counted as lost.
 *   pair      tracepoints tcp_sendmsg_locked and sock_send_length: from the first
 *             pass of the copy loop to the return. On the path of sends alone.
 *   syscall   tracepoints sys_enter and sys_exit: on the path of every syscall of
 *             the system, so only for kernels that have neither of the others
 */
#include "causes.bpf.h"
#include "counters.bpf.h"
#include "flight.bpf.h"
#include "groups.bpf.h"
#include "refusals.bpf.h"
#include "syscalls.bpf.h"
#include "uring.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define S_IFMT	 00170000
#define S_IFSOCK 0140000

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CALL_SLOTS);
	__type(key, __u32);
	__type(value, struct call_slot);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CALL_SLOTS *ERRNO_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} errors SEC(".maps");

static __always_inline void count_error(__u32 slot, int error)
{
	__u32 key = slot * ERRNO_SLOTS;
	__u64 *count;

	if (error < ERRNO_RESTART)
		key += error;
	else if (error >= 512 && error <= 516) /* ERESTARTSYS and its kin */
		key += ERRNO_RESTART;
	count = bpf_map_lookup_elem(&errors, &key);
	if (count)
		(*count)++;
}

static __always_inline bool zerocopy_enabled(struct sock *sk)
{
	__u64 enabled = 1ULL << bpf_core_enum_value(enum sock_flags, SOCK_ZEROCOPY);

	return BPF_CORE_READ(sk, __sk_common.skc_flags) & enabled;
}

/* A flagged send is accepted but not zero-copy on a socket without SO_ZEROCOPY. */
static __always_inline bool zerocopy_ignored(struct sock *sk, long ret)
{
	return !ret || !zerocopy_enabled(sk);
}

/* Whom a send is charged to, if that was settled when it began. */
static __always_inline const struct group_key *send_owner(struct sock *sk, __u32 flags,
							  __u64 notification)
{
	struct notification *n;

	if (!(flags & MSG_ZEROCOPY))
		return NULL;
	if (!notification)
		return socket__owner(sk);
	n = bpf_map_lookup_elem(&notifications, &notification);
	return n ? &n->who : NULL;
}

/*
 * One send returned. notification is 0 unless io_uring made one for it, ns where its
 * start was not seen. Returns where it was counted.
 */
static __always_inline struct call_slot *count_send(struct sock *sk, enum call_kind kind,
						    __u32 flags, __u64 size, __u64 notification,
						    long ret, __u64 ns)
{
	bool zerocopy = flags & MSG_ZEROCOPY;
	__u32 slot = CALL_SLOT(kind, zerocopy);
	struct call_slot *s = bpf_map_lookup_elem(&calls, &slot);
	bool ignored = zerocopy && ret >= 0 && (notification ? !ret : zerocopy_ignored(sk, ret));

	groups__add_send(sk, send_owner(sk, flags, notification), flags, ret, ns, ignored);
	if (notification)
		notification__end(notification, ret);
	if (!s)
		return NULL;
	s->sends++;
	if (ns)
		hist_add(&s->wall, ns);
	if (ret < 0) {
		s->failed++;
		count_error(slot, -ret);
		if (zerocopy && !notification && ret == -ENOBUFS)
			count_refusal(sk, size);
		return s;
	}
	s->bytes += ret;
	if (ignored)
		s->ignored++;
	return s;
}

static __always_inline void send_begin(struct thread *thread, struct sock *sk, enum call_kind kind,
				       __u32 flags, __u64 size)
{
	struct totals *t = totals__get();

	if (t)
		t->begun++;
	thread->sock = (__u64)sk;
	thread->flags = flags;
	thread->kind = kind;
	thread->size = size;
	thread->flight = 0;
	counters__begin(thread);
	thread->start = bpf_ktime_get_ns();
}

/* A zero-copy send that was followed, or whose id was guessed, returned. */
static __always_inline void flight_end(struct thread *thread, struct sock *sk, long ret)
{
	__u64 key = (__u64)sk;
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &key);
	struct totals *t = totals__get();

	if (s && thread->flight && ret <= 0)
		flight__failed(thread, s);
	if (thread->flight && ret > (long)thread->size && t)
		t->unsized++; /* it has more parts than were read */
	if (s && thread->guessed)
		__sync_fetch_and_add(&s->under_way, -1);
	thread->flight = thread->guessed = 0;
}

static __always_inline void send_end(struct thread *thread, struct sock *sk, long ret, __u64 now)
{
	struct totals *t = totals__get();
	struct call_slot *s;

	counters__end(thread);
	if (t)
		t->ended++;
	thread->sock = 0;
	if (thread->flags & MSG_ZEROCOPY)
		flight_end(thread, sk, ret);
	s = count_send(sk, thread->kind, thread->flags, thread->size, thread->notification, ret,
		       now - thread->start);
	if (s)
		counters__add(s, thread);
}

/* The next zero-copy send of a socket gets this id. */
static __always_inline __u32 next_id(struct sock *sk)
{
	return BPF_CORE_READ(sk, sk_zckey.counter);
}

/* A message begins to be sent; if by an error queue, its completion will have this id. */
static __always_inline void message_begin(struct thread *thread, struct sock *sk,
					  struct msghdr *msg, __u64 size, __u32 id)
{
	__u32 flags = BPF_CORE_READ(msg, msg_flags);
	enum call_kind kind = current_call();

	thread->notification = flags & MSG_ZEROCOPY ? notification__begin(msg, sk) : 0;
	if (thread->notification)
		kind = CALL_IO_URING_ZC;
	else if (flags & MSG_ZEROCOPY)
		groups__watch(zerocopy_begin(sk, id), sk);
	send_begin(thread, sk, kind, flags, size);
}

/* tcp_sendmsg begins. */
static __always_inline void sendmsg_begin(struct sock *sk, struct msghdr *msg, __u64 size)
{
	struct thread *thread = gate == GATE_OPEN ? thread__get() : NULL;

	if (thread && thread->role & ROLE_SENDER)
		message_begin(thread, sk, msg, size, next_id(sk));
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

/* The same two, attached through the function graph tracer. */
SEC("kprobe.multi/tcp_sendmsg")
int BPF_KPROBE(send_multi, struct sock *sk, struct msghdr *msg, size_t size)
{
	sendmsg_begin(sk, msg, size);
	return 0;
}

SEC("kretprobe.multi/tcp_sendmsg")
int BPF_KRETPROBE(send_multi_return, int ret)
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
	send_begin(thread, sk, current_call(), 0, size);
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

/*
 * The send that this thread is in got the socket's last id. The socket is locked: no
 * other send can have got one since.
 */
static __always_inline void flight_begin(struct thread *thread, struct sock *sk)
{
	__u64 key = (__u64)sk;
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &key);

	if (s)
		flight__begin(thread, s, next_id(sk) - 1);
}

/* msg_zerocopy_realloc returned: NULL where the send is refused. */
static __always_inline void booked(void *uarg)
{
	struct thread *thread = gate ? thread__peek() : NULL;

	if (uarg && thread && thread->sock)
		flight_begin(thread, (struct sock *)thread->sock);
}

/* Three arguments come before the result, and in Linux 6.16 a fourth came to them. */
SEC("fexit/msg_zerocopy_realloc")
int BPF_PROG(booked_fexit, struct sock *sk)
{
	booked((void *)function_result(ctx, 3));
	return 0;
}

SEC("kretprobe/msg_zerocopy_realloc")
int BPF_KRETPROBE(booked_kretprobe, void *uarg)
{
	booked(uarg);
	return 0;
}

SEC("kretprobe.multi/msg_zerocopy_realloc")
int BPF_KRETPROBE(booked_multi, void *uarg)
{
	booked(uarg);
	return 0;
}

/* Does the kernel book this send, and give it an id? Not one of io_uring's, which has its own. */
static __always_inline bool is_booked(struct sock *sk, const struct thread *thread)
{
	return !thread->notification && zerocopy_enabled(sk);
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
	message_begin(thread, sk, msg, 0, next_id(sk) - 1);
	if (thread->flags & MSG_ZEROCOPY && is_booked(sk, thread)) {
		thread->size = BPF_CORE_READ(msg, msg_iter.count);
		flight_begin(thread, sk);
	}
	return 0;
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
	enum call_kind kind;
	struct pt_regs *regs;

	if (!thread || !(thread->role & ROLE_SENDER))
		return 0;
	if (thread->sock == (__u64)sk) {
		send_end(thread, sk, ret, now);
		return 0;
	}
	if (gate != GATE_OPEN || !is_tcp(sk))
		return 0;
	kind = current_call();
	regs = call_regs();
	count_send(sk, kind, call_flags(kind, regs), call_size(kind, regs), 0, ret, 0);
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
	struct pt_regs *regs;
	enum call_kind kind;

	if (!thread || !(thread->role & ROLE_SENDER) || !is_tcp(sk) ||
	    !BPF_CORE_READ((struct inet_connection_sock *)sk, icsk_ulp_ops))
		return 0;
	kind = current_call();
	regs = call_regs();
	count_send(sk, kind, call_flags(kind, regs), call_size(kind, regs), 0, (int)ctx->args[1],
		   0);
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

/*
 * Before its socket is locked a send has no id: it is to get the socket's next one. That
 * is so unless another thread's send comes in between, which began before this one
 * returned: from then on the ids of that socket are not guessed, and none is timed.
 */
static __always_inline void flight_guess(struct thread *thread, struct sock *sk)
{
	__u64 key = (__u64)sk;
	struct zerocopy_socket *s = bpf_map_lookup_elem(&sockets, &key);
	struct totals *t = totals__get();

	if (!s || !t)
		return;
	__sync_fetch_and_add(&s->under_way, 1);
	thread->guessed = 1;
	if (*(volatile __u32 *)&s->under_way > 1)
		s->shared = 1;
	if (s->shared)
		t->unfollowed++;
	else
		flight__begin(thread, s, next_id(sk));
}

/* args: regs, number */
SEC("raw_tp/sys_enter")
int send_enter(struct bpf_raw_tracepoint_args *ctx)
{
	enum call_kind kind = gate == GATE_OPEN ? call_kind(ctx->args[1]) : CALL_OTHER;
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	struct thread *thread;
	struct sock *sk;
	__u32 flags;

	if (!sends_once(kind))
		return 0;
	thread = thread__get();
	if (!thread || !(thread->role & ROLE_SENDER))
		return 0;
	sk = socket_of(PT_REGS_PARM1_CORE_SYSCALL(regs));
	if (!sk || !is_tcp(sk))
		return 0;
	flags = call_flags(kind, regs);
	if (flags & MSG_ZEROCOPY)
		groups__watch(zerocopy_begin(sk, next_id(sk)), sk);
	thread->notification = 0;
	send_begin(thread, sk, kind, flags, call_size(kind, regs));
	if (flags & MSG_ZEROCOPY && !ids_seen && zerocopy_enabled(sk))
		flight_guess(thread, sk);
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
