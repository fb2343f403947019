/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the kernel's memory. Since Linux 6.2 a program can give an address its type. A member is
 * then read by a load, which takes 1 ns; bpf_probe_read_kernel() takes 35 ns.
 */
#pragma once

#include <vmlinux.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* True if the kernel has bpf_rdonly_cast(). Set by the analyzer before loading. */
const volatile bool reads_typed = false;

#ifdef __bpf__
extern void *bpf_rdonly_cast(const void *address, __u32 type) __weak __ksym;

#define TYPED(p)			   ((typeof(p))bpf_rdonly_cast(p, bpf_core_type_id_kernel(typeof(*(p)))))
#define TYPED_1(p, a)			   (TYPED(p)->a)
#define TYPED_2(p, a, b)		   (TYPED(p)->a->b)
#define TYPED_3(p, a, b, c)		   (TYPED(p)->a->b->c)
#define TYPED_PICK(p, a, b, c, which, ...) which
#define TYPED_READ(...)			   TYPED_PICK(__VA_ARGS__, TYPED_3, TYPED_2, TYPED_1, none)(__VA_ARGS__)

/* READ(sk, sk_dst_cache, dev) works like BPF_CORE_READ. It is 0 if an address cannot be read. */
#define READ(...) (reads_typed ? TYPED_READ(__VA_ARGS__) : BPF_CORE_READ(__VA_ARGS__))
#define READ_BITFIELD(from, field)                                           \
	({                                                                   \
		__u64 value_;                                                \
                                                                             \
		if (reads_typed) {                                           \
			typeof(from) of_ = TYPED(from);                      \
			value_ = BPF_CORE_READ_BITFIELD(of_, field);         \
		} else {                                                     \
			value_ = BPF_CORE_READ_BITFIELD_PROBED(from, field); \
		}                                                            \
		value_;                                                      \
	})
#else
#define READ			BPF_CORE_READ
#define READ_BITFIELD(p, field) BPF_CORE_READ_BITFIELD_PROBED(p, field)
#endif
