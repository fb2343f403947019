/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds names and addresses in the kernel's symbol table. */
#pragma once

#include "bpf/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define KALLSYMS "/proc/kallsyms"

struct kernel_symbol {
	const char *name; /* requested name */
	bool data;	  /* a variable, not a function */
	bool found;
	struct address_range code; /* empty if addresses are hidden (kernel.kptr_restrict) */
	struct address_range variant_code;
	char variant[96]; /* the name.SUFFIX that the compiler generated; "": none */
};

/* The symbol that contains an address. */
struct kernel_address {
	unsigned long long address;
	unsigned long long start; /* of the symbol; 0: none was found */
	char name[96];		  /* "": none was found */
};

/* stdio would otherwise read a KiB at a time from /proc, some ten thousand times. */
#define KALLSYMS_BUFFER (64 << 10)

/*
 * Opens the table; buffer has KALLSYMS_BUFFER bytes and is used until the table is closed. NULL
 * with errno.
 */
FILE *kallsyms__open(const char *path, char *buffer);

/* Sorts the addresses, each once, and finds the functions that contain them. 0 or -errno. */
int kallsyms__nearest(FILE *table, struct kernel_address *addresses, size_t *count);
/* Returns the entry of an address; NULL: there is none. */
const struct kernel_address *kernel_address__find(const struct kernel_address *sorted, size_t count,
						  unsigned long long address);

/* Looks all symbols up in an open table, and sorts them; takes tens of ms. 0 or -errno. */
int kallsyms__read(FILE *table, struct kernel_symbol *symbols, size_t count);
/*
 * Looks all symbols up by a program in the kernel, which takes a few ms. Returns 0; or -errno if
 * the kernel refuses the program or hides addresses, or if this would be slower than the table.
 */
int kallsyms__look_up(struct kernel_symbol *symbols, size_t count);
