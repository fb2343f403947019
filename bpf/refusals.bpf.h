/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the limit that refused a zero-copy send, by the kernel's own checks in the kernel's order.
 */
#pragma once

#include "inflight.bpf.h"

#define ENOBUFS	       105
#define RLIMIT_MEMLOCK 8
#define RLIM_INFINITY  (~0UL)
#define CAP_IPC_LOCK   14

/* The machine's limit, 0 if unknown. Since Linux 6.9 each network namespace has its own. */
const volatile __u32 optmem_max = 0;

/* Two sends that are refused at the same time may leave a mixture of their values. */
struct refusal_limits refusal_limits;

#define CACHE_LINE	   64
#define CACHE_ALIGN(bytes) (((bytes) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE)

struct netns_core___with_optmem {
	int sysctl_optmem_max;
} __attribute__((preserve_access_index));

struct net___with_optmem {
	struct netns_core___with_optmem core;
} __attribute__((preserve_access_index));

static __always_inline bool optmem_exhausted(struct sock *sk)
{
	struct net___with_optmem *net = (void *)READ(sk, __sk_common.skc_net.net);
	/* SKB_TRUESIZE(0), the charge of a notification. */
	__u32 size = CACHE_ALIGN(bpf_core_type_size(struct sk_buff)) +
		     CACHE_ALIGN(bpf_core_type_size(struct skb_shared_info));
	__u32 limit = optmem_max, charged = READ(sk, sk_omem_alloc.counter);

	if (bpf_core_field_exists(net->core.sysctl_optmem_max))
		limit = READ(net, core.sysctl_optmem_max);
	if (!limit || charged + size <= limit)
		return false;
	if (charged >= refusal_limits.optmem) {
		refusal_limits.optmem = charged;
		refusal_limits.optmem_limit = limit;
	}
	return true;
}

/* Like capable(CAP_IPC_LOCK): a user namespace's own capabilities do not count. */
static __always_inline bool may_lock(struct cred *cred)
{
	__u64 capabilities = 0;

	/* Before 6.3 the capabilities were an array of two words. */
	bpf_probe_read_kernel(&capabilities, sizeof(capabilities),
			      (void *)cred + bpf_core_field_offset(struct cred, cap_effective));
	return capabilities >> CAP_IPC_LOCK & 1 && !READ(cred, user_ns, level);
}

/* Does the check of mm_account_pinned_pages(). */
static __always_inline bool memlock_exhausted(__u64 bytes)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 limit = READ(task, signal, rlim[RLIMIT_MEMLOCK].rlim_cur);
	__u64 locked = READ(task, cred, user, locked_vm.counter), pages = pages_of(bytes);

	if (limit == RLIM_INFINITY || may_lock((void *)READ(task, cred)) ||
	    locked + pages <= limit >> page_shift)
		return false;
	if (pages >= refusal_limits.pages) {
		refusal_limits.pages = pages;
		refusal_limits.pages_locked = locked;
		refusal_limits.pages_limit = limit >> page_shift;
	}
	return true;
}

static __noinline void count_refusal(struct sock *sk, __u64 bytes)
{
	if (optmem_exhausted(sk))
		COUNT(refused_optmem, 1);
	else if (memlock_exhausted(bytes))
		COUNT(refused_memlock, 1);
}
