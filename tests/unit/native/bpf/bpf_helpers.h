/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replaces libbpf's bpf_helpers.h, to compile the kernel programs for this machine, so that a test
 * can call them in any order. maps.h has the helpers for maps. The id of the current process is 0.
 * Variables that the analyzer sets before loading are not const.
 */
#pragma once

#define SEC(name) __attribute__((weak)) /* each file of programs defines the licence */
#undef __always_inline			/* glibc defines it, too */
#undef NULL
#define __always_inline	     inline __attribute__((always_inline))
#define NULL		     ((void *)0)
#define __noinline	     __attribute__((noinline))
#define __uint(name, number) int(*name)[number]
#define __type(name, what)   typeof(what) *name

void *bpf_map_lookup_elem(void *map, const void *key);
long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags);
long bpf_map_delete_elem(void *map, const void *key);
long bpf_for_each_map_elem(void *map, void *callback, void *context, __u64 flags);
__u64 bpf_ktime_get_ns(void);

static __always_inline __u64 bpf_get_current_pid_tgid(void)
{
	return 0;
}

extern struct task_struct native_task;

static __always_inline __u64 bpf_get_current_task(void)
{
	return (__u64)&native_task;
}

static __always_inline __u32 bpf_get_smp_processor_id(void)
{
	return 0;
}

static __always_inline __u32 bpf_get_prandom_u32(void)
{
	return 0;
}

/* Reads the only counter; NULL: the counter cannot be read. */
extern __u64 (*native_counter)(void);

static __always_inline long bpf_perf_event_read_value(void *map, __u64 index, void *value,
						      __u32 size)
{
	(void)map;
	(void)index;
	(void)size;
	if (!native_counter)
		return -1;
	((struct bpf_perf_event_value *)value)->counter = native_counter();
	return 0;
}

static __always_inline struct task_struct *bpf_get_current_task_btf(void)
{
	return &native_task;
}

static __always_inline long bpf_current_task_under_cgroup(void *map, __u32 index)
{
	(void)map;
	(void)index;
	return 0;
}

static __always_inline __u64 bpf_get_current_cgroup_id(void)
{
	return 0;
}

/* Reads no string: tests have no control groups. */
static __always_inline long bpf_probe_read_kernel_str(char *to, __u32 size, const char *from)
{
	(void)to;
	(void)size;
	(void)from;
	return -1;
}

static __always_inline long bpf_probe_read_kernel(void *to, __u32 size, const void *from)
{
	__builtin_memcpy(to, from, size);
	return 0;
}

static __always_inline long bpf_get_func_ret(void *ctx, __u64 *value)
{
	(void)ctx;
	(void)value;
	return -1;
}

static __always_inline long bpf_get_stack(void *ctx, void *to, __u32 size, __u64 flags)
{
	(void)ctx;
	(void)to;
	(void)size;
	(void)flags;
	return -1;
}

/* Reserves nothing: these tests do not cover the ring of single sends' events. */
static __always_inline void *bpf_ringbuf_reserve(void *ring, __u64 size, __u64 flags)
{
	(void)ring;
	(void)size;
	(void)flags;
	return (void *)0;
}

static __always_inline void bpf_ringbuf_submit(void *event, __u64 flags)
{
	(void)event;
	(void)flags;
}

static __always_inline long bpf_get_current_comm(void *name, __u32 size)
{
	__builtin_memset(name, 0, size);
	return 0;
}
