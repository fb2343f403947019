// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Looks up one kernel symbol by its name. This is an object of its own, because the plan, by which
 * the other programs are loaded, depends on symbols.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char symbol_name[128];
__u64 symbol_address;
char symbol_place[256]; /* name+0x0/0xSIZE, and [module] */

SEC("syscall")
int look_up_symbol(void *context)
{
	static const char place[] = "%pS";
	long err;

	err = bpf_kallsyms_lookup_name(symbol_name, sizeof(symbol_name), 0, &symbol_address);
	if (err)
		return err;
	bpf_snprintf(symbol_place, sizeof(symbol_place), place, &symbol_address,
		     sizeof(symbol_address));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
