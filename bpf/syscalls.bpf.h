/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which syscall the current task is in, and its arguments. One block per architecture. */
#pragma once

#include "state.bpf.h"

#if defined(__TARGET_ARCH_x86)
#define NR_WRITE	1
#define NR_WRITEV	20
#define NR_SENDFILE	40
#define NR_SENDTO	44
#define NR_SENDMSG	46
#define NR_SPLICE	275
#define NR_SENDMMSG	307
#define SYSCALL_MEMBER	orig_ax
#define THIRD_MEMBER	dx
#define FOURTH_MEMBER	r10
#define FROM_USER(regs) ((BPF_CORE_READ(regs, cs) & 3) == 3)
#elif defined(__TARGET_ARCH_arm64)
#define NR_WRITE	64
#define NR_WRITEV	66
#define NR_SENDFILE	71
#define NR_SENDTO	206
#define NR_SENDMSG	211
#define NR_SPLICE	76
#define NR_SENDMMSG	269
#define SYSCALL_MEMBER	syscallno
#define THIRD_MEMBER	regs[2]
#define FOURTH_MEMBER	regs[3]
#define FROM_USER(regs) (!(BPF_CORE_READ(regs, pstate) & 0xf))
#else
#error "no syscall numbers for this architecture"
#endif
#define NR_IO_URING_ENTER 426

#define SYSCALLS 512 /* a power of two */

/* By the number of the syscall; the others are CALL_OTHER. */
extern const volatile __u8 call_kinds[SYSCALLS];
#define CALL_KINDS_BY_NUMBER                                                                       \
	{                                                                                          \
		[NR_SENDTO] = CALL_SENDTO, [NR_SENDMSG] = CALL_SENDMSG,                            \
		[NR_SENDMMSG] = CALL_SENDMMSG, [NR_WRITE] = CALL_WRITE, [NR_WRITEV] = CALL_WRITEV, \
		[NR_SENDFILE] = CALL_SENDFILE, [NR_SPLICE] = CALL_SPLICE,                          \
		[NR_IO_URING_ENTER] = CALL_IO_URING,                                               \
	}

static __always_inline enum call_kind call_kind(__u64 nr)
{
	return nr < SYSCALLS ? call_kinds[nr] : CALL_OTHER;
}

/* The MSG_ flags among the arguments of the syscall; 0 where it has none. */
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

/* The sum of a message's first iovecs: in sends.bpf.c. */
__u64 message_size(__u64 user);

/* The bytes that the syscall asks to send; 0 where that takes more to know. */
static __always_inline __u64 call_size(enum call_kind kind, struct pt_regs *regs)
{
	switch (kind) {
	case CALL_SENDTO:
	case CALL_WRITE:
		return PT_REGS_PARM3_CORE_SYSCALL(regs);
	case CALL_SENDMSG:
		return message_size(PT_REGS_PARM2_CORE_SYSCALL(regs));
	default:
		return 0;
	}
}

#define THREAD_SIZE 16384

/*
 * Before bpf_task_pt_regs(): the registers lie at the top of the task's kernel
 * stack. NULL where they do not look like those of a user, as with KASAN, which
 * doubles the stack.
 */
static __always_inline struct pt_regs *stack_regs(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	void *top = BPF_CORE_READ(task, stack) + THREAD_SIZE;
	struct pt_regs *regs = top - bpf_core_type_size(struct pt_regs);

	return FROM_USER(regs) ? regs : NULL;
}

/*
 * Registers at the entry of the current task's syscall: they tell which it is without tracing all
 * syscalls of the system.
 */
static __always_inline struct pt_regs *call_regs(void)
{
	if (has_typed_task())
		return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return stack_regs();
}

/* Of a thread that is no worker of io_uring. */
static __always_inline enum call_kind current_syscall(void)
{
	struct pt_regs *regs = call_regs();

	if (has_typed_task())
		return call_kind(regs->SYSCALL_MEMBER);
	return regs ? call_kind(BPF_CORE_READ(regs, SYSCALL_MEMBER)) : CALL_OTHER;
}

static __always_inline enum call_kind current_call(void)
{
	return is_io_worker() ? CALL_IO_URING : current_syscall();
}

/* The MSG_ flags that the current task's syscall was called with. */
static __always_inline __u32 current_flags(enum call_kind kind)
{
	struct pt_regs *regs = call_regs();

	if (!has_typed_task())
		return call_flags(kind, regs);
	if (kind == CALL_SENDMSG)
		return regs->THIRD_MEMBER;
	return kind == CALL_SENDTO || kind == CALL_SENDMMSG ? regs->FOURTH_MEMBER : 0;
}
