/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The stages of a send: what they are called, and the hook that sees each. Data. */
#pragma once

#include "bpf/abi.h"
#include "user/kernel/hooks.h"

struct stage_row {
	enum stage stage;
	const char *name;  /* in records */
	const char *words; /* in reports, */
	char letter;	   /* and in bars */
	enum hook_id hook; /* HOOK_COUNT: none is needed */
	bool zerocopy;	   /* only of sends that ask for zero-copy */
};

/* In the order of a send: on the CPU first, unaccounted last of these. */
extern const struct stage_row stage_rows[STAGES];

/* By its name in records; the name where there is none of it. */
const char *stage__words(const char *name);
/* Of STAGE_ENTRY: the hook of a syscall's beginning; HOOK_COUNT where there is none. */
enum hook_id stage__entry_hook(enum call_kind kind);
