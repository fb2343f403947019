/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions in the kernel's symbol table: are they there, where, in what form? */
#ifndef SENDPATH_KALLSYMS_H
#define SENDPATH_KALLSYMS_H

#include "bpf/abi.h"

#include <stdbool.h>
#include <stddef.h>

#define KALLSYMS "/proc/kallsyms"

struct kernel_symbol {
	const char *name; /* asked for */
	bool found;
	struct address_range code; /* empty where addresses are hidden (kernel.kptr_restrict) */
	char variant[96];	   /* name.SUFFIX that a compiler made of it; "": none */
};

/* Fills in what the table at path says of each. 0 or -errno. Takes tens of milliseconds. */
int kallsyms__read(const char *path, struct kernel_symbol *symbols, size_t count);

#endif
