/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Defines the programs of a kernel function for fentry and kprobes. SEC has one name of the
 * function; the plan chooses the name that the running kernel has. body may use the function's
 * arguments, which are listed after body.
 */
#pragma once

#include "state.bpf.h"

#define PROGRAM(section, kind, name, body, ...) \
	SEC(section)                            \
	int kind(name, ##__VA_ARGS__)           \
	{                                       \
		body;                           \
		return 0;                       \
	}

/*
 * The kernel skips a program that interrupts itself. Therefore some programs are pairs: the second
 * program is called after the first, and does its work if the first was skipped. If both do it, the
 * second time has no effect.
 */
enum pair { PAIR_COMPLETION, PAIR_REFERENCE, PAIR_REPORT, PAIR_SOCKET, PAIR_NOTIFICATION, PAIRS };

/* The event that the first program of each pair saw last on this CPU, until the second sees it. */
PERCPU_ARRAY(seen_by_pairs, PAIRS, __u64);

/* Called by the first program of a pair. */
static __always_inline void pair__see(__u32 pair, __u64 event)
{
	__u64 *seen = bpf_map_lookup_elem(&seen_by_pairs, &pair);

	if (seen)
		*seen = event;
}

/* Returns, in the second program, whether the first one has seen the event. */
static __always_inline bool pair__saw(__u32 pair, __u64 event)
{
	__u64 *seen = bpf_map_lookup_elem(&seen_by_pairs, &pair);

	if (!seen || *seen != event)
		return false;
	*seen = 0;
	return true;
}

#define TWICE(section, name, pair, event, body, ...)                                         \
	PROGRAM(section, BPF_PROG, name, pair__see(pair, (__u64)(event)); body, __VA_ARGS__) \
	PROGRAM(section, BPF_PROG, name##_again, if (!pair__saw(pair, (__u64)(event))) body, \
		__VA_ARGS__)

#define ON_ENTRY(name, function, body, ...)                                       \
	PROGRAM("fentry/" function, BPF_PROG, name##_fentry, body, ##__VA_ARGS__) \
	PROGRAM("kprobe/" function, BPF_KPROBE, name##_kprobe, body, ##__VA_ARGS__)

#define ON_EXIT(name, function, body)                            \
	PROGRAM("fexit/" function, BPF_PROG, name##_fexit, body) \
	PROGRAM("kretprobe/" function, BPF_KRETPROBE, name##_kretprobe, body)

/* Programs at the return of a function with this many arguments; body may use its result as ret. */
#define ON_RESULT(name, function, arguments, type, body)          \
	PROGRAM("fexit/" function, BPF_PROG, name##_fexit,        \
		type ret = (type)function_result(ctx, arguments); \
		body)                                             \
	PROGRAM("kretprobe/" function, BPF_KRETPROBE, name##_kretprobe, body, type ret)
