/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces libbpf's bpf_endian.h, for little-endian machines. */
#pragma once

#define bpf_htonl(x) __builtin_bswap32(x)
#define bpf_htons(x) __builtin_bswap16(x)
#define bpf_ntohs(x) __builtin_bswap16(x)
