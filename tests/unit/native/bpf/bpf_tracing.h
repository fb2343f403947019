/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces libbpf's bpf_tracing.h: programs get their arguments from the test. */
#pragma once

#define BPF_PROG(name, ...)	 name(__VA_ARGS__)
#define BPF_KPROBE(name, ...)	 name(__VA_ARGS__)
#define BPF_KRETPROBE(name, ...) name(__VA_ARGS__)

static unsigned long long ctx[1] __attribute__((unused));
