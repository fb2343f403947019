/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which limit refused a zero-copy send: the kernel says ENOBUFS for both, and the
 * same tests are made again when it has. First optmem, as msg_zerocopy_realloc does.
 */
#pragma once

#include "inflight.bpf.h"

#define ENOBUFS	       105
#define RLIMIT_MEMLOCK 8
#define RLIM_INFINITY  (~0UL)
#define CAP_IPC_LOCK   14

/* Of the whole machine, 0 if unknown; its namespaces have one each since Linux 6.9. */
const volatile __u32 optmem_max = 0;

#define CACHE_LINE	   64
#define CACHE_ALIGN(bytes) (((bytes) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE)

struct netns_core___with_optmem {
	int sysctl_optmem_max;
} __attribute__((preserve_access_index));

struct net___with_optmem {
	struct netns_core___with_optmem core;
} __attribute__((preserve_access_index));

static __always_inline __u32 optmem_limit(struct sock *sk)
{
	struct net___with_optmem *net = (void *)READ(sk, __sk_common.skc_net.net);

	if (bpf_core_field_exists(net->core.sysctl_optmem_max))
		return READ(net, core.sysctl_optmem_max);
	return optmem_max;
}

static __always_inline bool optmem_exhausted(struct sock *sk)
{
	/* SKB_TRUESIZE(0), what a notification is charged. */
	__u32 size = CACHE_ALIGN(bpf_core_type_size(struct sk_buff)) +
		     CACHE_ALIGN(bpf_core_type_size(struct skb_shared_info));

	__u32 limit = optmem_limit(sk);

	return limit && (__u32)READ(sk, sk_omem_alloc.counter) + size > limit;
}

/* Before 6.3 capabilities were an array of two words. */
static __always_inline bool may_lock_memory(struct task_struct *task)
{
	struct cred *cred = (void *)READ(task, cred);
	__u64 capabilities = 0;

	bpf_probe_read_kernel(&capabilities, sizeof(capabilities),
			      (void *)cred + bpf_core_field_offset(struct cred, cap_effective));
	return capabilities >> CAP_IPC_LOCK & 1;
}

/* The test of mm_account_pinned_pages(). */
static __always_inline bool memlock_exhausted(__u64 bytes)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 limit = READ(task, signal, rlim[RLIMIT_MEMLOCK].rlim_cur);
	__u64 locked = READ(task, cred, user, locked_vm.counter);

	return limit != RLIM_INFINITY && !may_lock_memory(task) &&
	       locked + pages_of(bytes) > limit >> page_shift;
}

/* A global function of numbers, as this is rare: verified once a program. */
__noinline int count_refusal(__u64 sock, __u64 bytes)
{
	struct sock *sk = (struct sock *)sock;

	if (optmem_exhausted(sk))
		COUNT(refused_optmem, 1);
	else if (memlock_exhausted(bytes))
		COUNT(refused_memlock, 1);
	return 0;
}
