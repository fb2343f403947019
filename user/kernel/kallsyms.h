/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names in the kernel's symbol table: are they there, where, in what form? */
#pragma once

#include "bpf/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define KALLSYMS "/proc/kallsyms"

struct kernel_symbol {
	const char *name; /* asked for */
	bool data;	  /* a variable is asked for, not a function */
	bool found;
	struct address_range code; /* empty where addresses are hidden (kernel.kptr_restrict) */
	struct address_range variant_code;
	char variant[96]; /* name.SUFFIX that a compiler made of it; "": none */
};

/* The symbol that an address lies in. */
struct kernel_address {
	unsigned long long address;
	unsigned long long start; /* of the symbol; 0: none was found */
	char name[96];
};

/* stdio by itself would ask /proc for a KiB at a time, some ten thousand times. */
#define KALLSYMS_BUFFER (64 << 10)

/* The table; buffer has KALLSYMS_BUFFER bytes, until it is closed. NULL with errno. */
FILE *kallsyms__open(const char *path, char *buffer);

/* Looks all of them up in an open table, from its beginning. 0 or -errno. */
int kallsyms__nearest(FILE *table, struct kernel_address *addresses, size_t count);

/* Fills in what the table says of each. 0 or -errno. Takes tens of milliseconds. */
int kallsyms__read(FILE *table, struct kernel_symbol *symbols, size_t count);
