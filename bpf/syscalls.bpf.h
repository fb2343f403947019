/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The syscall that the current task is in, and its arguments. One block per architecture. */
#pragma once

#include "inflight.bpf.h"

#define S_IFMT	 00170000
#define S_IFSOCK 0140000

#if defined(__TARGET_ARCH_x86)
#define NR_WRITE	1
#define NR_WRITEV	20
#define NR_SENDFILE	40
#define NR_SENDTO	44
#define NR_SENDMSG	46
#define NR_SPLICE	275
#define NR_SENDMMSG	307
#define SYSCALL_MEMBER	orig_ax
#define FROM_USER(regs) ((READ(regs, cs) & 3) == 3)
#define TS_COMPAT	2 /* of thread_info.status */
#elif defined(__TARGET_ARCH_arm64)
#define NR_WRITE	64
#define NR_WRITEV	66
#define NR_SENDFILE	71
#define NR_SENDTO	206
#define NR_SENDMSG	211
#define NR_SPLICE	76
#define NR_SENDMMSG	269
#define PSR_MODE32_BIT	0x10
#define SYSCALL_MEMBER	syscallno
#define FROM_USER(regs) (!(READ(regs, pstate) & 0xf))
#else
#error "no syscall numbers for this architecture"
#endif
#define NR_IO_URING_ENTER 426
#define ENOSYS		  38
#define MAX_RW_COUNT	  (0x7fffffffULL >> page_shift << page_shift)

#define SYSCALLS 512 /* a power of two */

/* Kinds by syscall number. All other syscalls are CALL_OTHER. */
const volatile __u8 call_kinds[SYSCALLS] = {
	[NR_SENDTO] = CALL_SENDTO,     [NR_SENDMSG] = CALL_SENDMSG,
	[NR_SENDMMSG] = CALL_SENDMMSG, [NR_WRITE] = CALL_WRITE,
	[NR_WRITEV] = CALL_WRITEV,     [NR_SENDFILE] = CALL_SENDFILE,
	[NR_SPLICE] = CALL_SPLICE,     [NR_IO_URING_ENTER] = CALL_IO_URING,
};

static __always_inline enum call_kind call_kind(__u64 nr)
{
	return nr < SYSCALLS ? call_kinds[nr] : CALL_OTHER;
}

/* The MSG_ flags among the syscall's arguments; 0 if it has none. */
static __always_inline __u32 call_flags(enum call_kind kind, struct pt_regs *regs)
{
	switch (kind) {
	case CALL_SENDTO:
	case CALL_SENDMMSG:
		return PT_REGS_PARM4_CORE_SYSCALL(regs);
	case CALL_SENDMSG:
		return PT_REGS_PARM3_CORE_SYSCALL(regs);
	default:
		return 0;
	}
}

#define IOVECS_READ 16

GLOBAL __u64 iovecs_size(__u64 iovecs, __u64 count)
{
	struct iovec part;
	__u64 size = 0;
	__u32 i;

	for (i = 0; i < IOVECS_READ && i < count; i++) {
		if (bpf_probe_read_user(&part, sizeof(part), (struct iovec *)iovecs + i))
			break;
		size += part.iov_len;
	}
	return size;
}

/* Reads the argument of sendmsg(). */
static __noinline bool message__read(__u64 user, struct user_msghdr *message)
{
	return !bpf_probe_read_user(message, sizeof(*message), (void *)user);
}

static __always_inline __u64 message_size(__u64 user)
{
	struct user_msghdr message;

	return message__read(user, &message)
		       ? iovecs_size((__u64)message.msg_iov, message.msg_iovlen)
		       : 0;
}

/* The bytes that the syscall requests to send; 0 if they are not read for this syscall. */
static __always_inline __u64 call_size(enum call_kind kind, struct pt_regs *regs)
{
	__u64 size = 0;

	if (kind == CALL_SENDTO || kind == CALL_WRITE)
		size = PT_REGS_PARM3_CORE_SYSCALL(regs);
	else if (kind == CALL_SENDMSG)
		size = message_size(PT_REGS_PARM2_CORE_SYSCALL(regs));
	return size < MAX_RW_COUNT ? size : MAX_RW_COUNT;
}

#define THREAD_SIZE 16384

/*
 * Finds the registers without bpf_task_pt_regs(), at the top of the task's kernel stack. Returns
 * NULL if they do not look like user registers, as with KASAN, which doubles the stack.
 */
static __always_inline struct pt_regs *stack_regs(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	void *top = READ(task, stack) + THREAD_SIZE;
	struct pt_regs *regs = top - bpf_core_type_size(struct pt_regs);

	return FROM_USER(regs) ? regs : NULL;
}

/*
 * Returns the registers at the entry of the current task's syscall. They identify the syscall
 * without tracing all syscalls of the system.
 */
static __always_inline struct pt_regs *call_regs(void)
{
	if (has_typed_task())
		return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return stack_regs();
}

/* The socket of a file descriptor of the current task; NULL: not a socket. */
static __always_inline struct sock *socket_of(int fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *table = READ(task, files, fdt);
	struct file **files, *file = NULL;
	struct socket *socket;

	if ((__u32)fd >= READ(table, max_fds))
		return NULL;
	files = READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	if (!file || (READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return NULL;
	socket = READ(file, private_data);
	return READ(socket, sk);
}

/*
 * Returns whether the syscall of these registers still runs, and sends on this socket. On x86 the
 * register of the result has -ENOSYS until the syscall returns. On arm64 it has the first argument,
 * which a result may equal (eight bytes written to descriptor 8), so the socket is compared, too.
 */
static __always_inline bool is_in_syscall(struct pt_regs *regs, enum call_kind kind,
					  struct sock *sk)
{
#if defined(__TARGET_ARCH_x86)
	return (int)READ(regs, ax) == -ENOSYS;
#else
	__u64 first = READ(regs, orig_x0);

	if (READ(regs, regs[0]) != first)
		return false;
	return kind == CALL_OTHER ||
	       socket_of(kind == CALL_SPLICE ? PT_REGS_PARM3_CORE_SYSCALL(regs) : first) == sk;
#endif
}

/* The task's io_uring context; NULL: none, or the kernel has no io_uring. */
#define IO_URING_OF(task, read) \
	(bpf_core_field_exists(((struct task_struct *)0)->io_uring) ? read(task, io_uring) : NULL)
/*
 * The task pointer itself is trusted. Reads by TYPED() are cheaper to verify: for each pointer read
 * by a trusted one, verifiers search all types of the kernel by name, several times.
 */
#define TASK_READ(task, member) (reads_typed ? TYPED(task)->member : (task)->member)

/*
 * Returns the syscall of the current thread, which sends on this socket and is no worker of
 * io_uring. If the thread uses io_uring, io_uring may send whenever a syscall or an interrupt
 * returns. The send is then not the syscall's.
 */
static __always_inline enum call_kind current_syscall(struct sock *sk)
{
	enum call_kind kind = CALL_OTHER;
	struct task_struct *task;
	struct pt_regs *regs;
	void *uses_io_uring;

	if (has_typed_task()) {
		task = bpf_get_current_task_btf();
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
		kind = call_kind(regs->SYSCALL_MEMBER);
		uses_io_uring = IO_URING_OF(task, TASK_READ);
	} else {
		task = (void *)bpf_get_current_task();
		regs = stack_regs();
		if (regs)
			kind = call_kind(READ(regs, SYSCALL_MEMBER));
		uses_io_uring = IO_URING_OF(task, BPF_CORE_READ);
	}
	return uses_io_uring && !is_in_syscall(regs, kind, sk) ? CALL_IO_URING : kind;
}

static __always_inline enum call_kind current_call(struct sock *sk)
{
	return is_io_worker() ? CALL_IO_URING : current_syscall(sk);
}

/*
 * Returns whether the syscall is a 32-bit program's, with other numbers and arguments. No 32-bit
 * syscall that sends has the number of a 64-bit syscall that sends.
 */
static __always_inline bool is_compat(void)
{
#if defined(__TARGET_ARCH_x86)
	struct task_struct *task = (void *)bpf_get_current_task();

	return READ(task, thread_info.status) & TS_COMPAT;
#else
	return READ(call_regs(), pstate) & PSR_MODE32_BIT;
#endif
}
