/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The features of this kernel, found by probes, never by its version. They are probed once, with
 * all privileges; all other code reads the results.
 */
#pragma once

#include "bpf/abi.h"
#include "common/program.h"
#include "user/kernel/kallsyms.h"
#include "user/kernel/plan.h"

#include <stdbool.h>

struct features;

/*
 * Probes the kernel. Reads the addresses of functions (features__code) only if code is set, as for
 * a zero-copy load, or if programs can attach to functions. Returns 0 and *out, which the caller
 * frees, or -errno: -ENOENT without BTF, -ENOMEM without memory for it, or another errno if
 * programs may not be loaded.
 */
int features__probe(struct features **out, bool code, struct failure *failure);
void features__free(struct features *f);

/*
 * Writes the ranges of the code of a function, and of the variant that the compiler generated
 * (name.constprop.0). Returns their number. The name must be in the hook table or the table of
 * causes.
 */
size_t features__codes(const struct features *f, const char *name, struct address_range ranges[2]);
/* Calls kallsyms__nearest(). -ENOENT: the table is not readable. */
int features__symbolize(const struct features *f, struct kernel_address *addresses, size_t *count);
/* Returns the address of a variable; 0 if kallsyms hides it. */
unsigned long long features__variable(const struct features *f, const char *name);
/* Writes the code of a function, unless range is NULL. Returns false if kallsyms hides it. */
bool features__code(const struct features *f, const char *name, struct address_range *range);
/* Returns whether programs can call this kernel function (kfunc). */
bool features__function(const struct features *f, const char *name);
/* Returns whether the kernel's BTF has this struct. */
bool features__type(const struct features *f, const char *name);
/* Returns the facts that a plan needs. The facts read f, which must outlive them. */
struct kernel_facts features__facts(const struct features *f);
