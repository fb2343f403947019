/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which syscall the current task is in, and its arguments. One block per architecture. */
#ifndef SENDPATH_SYSCALLS_BPF_H
#define SENDPATH_SYSCALLS_BPF_H

#include "state.bpf.h"

#if defined(__TARGET_ARCH_x86)
#define NR_WRITE	  1
#define NR_WRITEV	  20
#define NR_SENDFILE	  40
#define NR_SENDTO	  44
#define NR_SENDMSG	  46
#define NR_SPLICE	  275
#define NR_SENDMMSG	  307
#define SYSCALL_NUMBER(r) ((r)->orig_ax)
#elif defined(__TARGET_ARCH_arm64)
#define NR_WRITE	  64
#define NR_WRITEV	  66
#define NR_SENDFILE	  71
#define NR_SENDTO	  206
#define NR_SENDMSG	  211
#define NR_SPLICE	  76
#define NR_SENDMMSG	  269
#define SYSCALL_NUMBER(r) ((r)->syscallno)
#else
#error "no syscall numbers for this architecture"
#endif
#define NR_IO_URING_ENTER 426

static __always_inline enum call_kind call_kind(long nr)
{
	switch (nr) {
	case NR_SENDTO:
		return CALL_SENDTO;
	case NR_SENDMSG:
		return CALL_SENDMSG;
	case NR_SENDMMSG:
		return CALL_SENDMMSG;
	case NR_WRITE:
		return CALL_WRITE;
	case NR_WRITEV:
		return CALL_WRITEV;
	case NR_SENDFILE:
		return CALL_SENDFILE;
	case NR_SPLICE:
		return CALL_SPLICE;
	case NR_IO_URING_ENTER:
		return CALL_IO_URING;
	default:
		return CALL_OTHER;
	}
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

/*
 * Registers at the entry of the syscall the current task is in: tells the
 * syscalls apart inside a send, without tracing the syscalls of the system. The
 * verifier knows the type, so members are read without a helper.
 */
static __always_inline struct pt_regs *call_regs(void)
{
	return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

#endif
