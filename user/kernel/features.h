/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What this kernel offers, by probes, never by its version. Probed once, with all privileges;
 * everything else reads the results.
 */
#pragma once

#include "bpf/abi.h"
#include "user/kernel/kallsyms.h"
#include "user/kernel/plan.h"

#include <stdbool.h>

struct features;

/*
 * Probes; where functions lie (features__code) only if code is asked for, as a
 * zero-copy load needs it, or where programs can attach to functions at all. 0 and
 * *out, to be freed; or -errno: -ENOENT without BTF, -EPERM where programs may not
 * be loaded at all, -ENOMEM. reason (if not NULL) then says why in words.
 */
int features__probe(struct features **out, bool code, char *reason, unsigned long size);
void features__free(struct features *f);

/* Are the kernel's types there? 0; -errno: -ENOMEM tells nothing of it. */
int features__types(void);

/*
 * Code of a function, and of what the compiler made of it (name.constprop.0); how many
 * ranges. Only for functions of the hook table and the table of causes.
 */
size_t features__codes(const struct features *f, const char *name, struct address_range ranges[2]);
/* The functions that addresses lie in, as this kernel was when it was probed. 0 or -errno. */
int features__symbolize(const struct features *f, struct kernel_address *addresses, size_t count);
/* Address of a variable; 0 where kallsyms hides it. */
unsigned long long features__variable(const struct features *f, const char *name);
/* A function's code; false where kallsyms hides it. */
bool features__code(const struct features *f, const char *name, struct address_range *range);
/* Can programs call this function of the kernel (kfunc)? */
bool features__function(const struct features *f, const char *name);
/* Do the kernel's types have this struct? */
bool features__type(const struct features *f, const char *name);
/* Can a program insert into a hash that was not allocated beforehand (Linux 6.1)? */
bool features__safe_allocation(const struct features *f);
/* A plan's questions, answered by f, which must outlive them. */
struct kernel_facts features__facts(const struct features *f);
