/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces libbpf's bpf_core_read.h: the types are those of vmlinux.h, and nothing is relocated. */
#pragma once

#define NATIVE_1(p, a)				((p)->a)
#define NATIVE_2(p, a, b)			((p)->a->b)
#define NATIVE_3(p, a, b, c)			((p)->a->b->c)
#define NATIVE_PICK(p, a, b, c, which, ...)	which
#define BPF_CORE_READ(...)			NATIVE_PICK(__VA_ARGS__, NATIVE_3, NATIVE_2, NATIVE_1, none)(__VA_ARGS__)
#define BPF_CORE_READ_BITFIELD_PROBED(p, field) ((p)->field)
#define BPF_CORE_READ_STR_INTO(to, ...) \
	__builtin_memcpy(to, BPF_CORE_READ(__VA_ARGS__), sizeof(*(to)))
#define bpf_core_read(to, size, from)		bpf_probe_read_kernel(to, size, from)
#define bpf_core_field_offset(type, field)	__builtin_offsetof(type, field)
#define bpf_core_type_size(type)		sizeof(type)
#define bpf_core_field_exists(field)		1
#define bpf_core_type_exists(type)		1
#define bpf_core_enum_value(type, value)	(value)
#define bpf_core_enum_value_exists(type, value) 1
