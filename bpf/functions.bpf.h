/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Defines the programs of a kernel function for fentry and kprobes. SEC has one name of the
 * function; the plan chooses the name that the kernel has. body may use the function's arguments,
 * which follow it.
 */
#pragma once

#include "state.bpf.h"

#define ON_ENTRY(name, function, body, ...)          \
	SEC("fentry/" function)                      \
	int BPF_PROG(name##_fentry, ##__VA_ARGS__)   \
	{                                            \
		body;                                \
		return 0;                            \
	}                                            \
	SEC("kprobe/" function)                      \
	int BPF_KPROBE(name##_kprobe, ##__VA_ARGS__) \
	{                                            \
		body;                                \
		return 0;                            \
	}

#define ON_EXIT(name, function, body)       \
	SEC("fexit/" function)              \
	int BPF_PROG(name##_fexit)          \
	{                                   \
		body;                       \
		return 0;                   \
	}                                   \
	SEC("kretprobe/" function)          \
	int BPF_KRETPROBE(name##_kretprobe) \
	{                                   \
		body;                       \
		return 0;                   \
	}

/* Programs at the return of a function with so many arguments; body may use its result as ret. */
#define ON_RESULT(name, function, arguments, type, body)          \
	SEC("fexit/" function)                                    \
	int BPF_PROG(name##_fexit)                                \
	{                                                         \
		type ret = (type)function_result(ctx, arguments); \
                                                                  \
		body;                                             \
		return 0;                                         \
	}                                                         \
	SEC("kretprobe/" function)                                \
	int BPF_KRETPROBE(name##_kretprobe, type ret)             \
	{                                                         \
		body;                                             \
		return 0;                                         \
	}
