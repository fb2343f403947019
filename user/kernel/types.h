/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel's types (BTF) say of names that are asked for, all of them in one pass. */
#pragma once

#include <bpf/btf.h>
#include <stddef.h>

enum type_kind { TYPE_FUNCTION, TYPE_TRACEPOINT, TYPE_STRUCT };

struct kernel_type {
	const char *name; /* asked for */
	enum type_kind kind;
	__u32 id; /* 0: there is none */
	int args; /* that programs at a tracepoint get; -1: there is none */
};

/* For the next call of btf__load_vmlinux_btf(), be it libbpf's. NULL: what is kept is freed. */
void types__keep(struct btf *kernel);

/* Fills in id and args. */
void types__find(const struct btf *kernel, struct kernel_type *asked, size_t count);
