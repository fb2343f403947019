/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Of the kernel's types, those that the programs and the hooks name. All of them take 6 MiB, twice
 * that while libbpf reads them, and each look-up passes them all.
 */
#pragma once

#include <bpf/btf.h>

/* The kernel's BTF; NULL with errno. */
struct btf *types__read(void);

/* What is needed of it, with ids of its own; NULL with errno. */
struct btf *types__select(const struct btf *kernel);
