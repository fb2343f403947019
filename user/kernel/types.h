/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds requested names in the kernel's types (BTF), in one pass. */
#pragma once

#include <bpf/btf.h>
#include <stddef.h>

enum type_kind { TYPE_FUNCTION, TYPE_TRACEPOINT, TYPE_STRUCT };

struct kernel_type {
	const char *name; /* requested name */
	enum type_kind kind;
	__u32 id; /* 0: not found */
	int args; /* arguments of a tracepoint's program; -1: there is none */
};

/*
 * Keeps the types for the next call of btf__load_vmlinux_btf(), by this program or by libbpf. NULL:
 * frees the types that are kept.
 */
void types__keep(struct btf *kernel);

/*
 * Writes the kernel types that the programs name into a file for libbpf. The types keep their
 * numbers. libbpf searches all types for each type that programs read, so a file with few types is
 * faster. Returns 0 or -errno; -EFBIG if files are limited to a smaller size.
 */
int types__write_needed(int file, const struct btf *programs);

/* Sets id and args of each requested type, and sorts the requested types. */
void types__find(const struct btf *kernel, struct kernel_type *requested, size_t count);
