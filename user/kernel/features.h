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
 * Probes the kernel. Reads where functions are (features__code) only if code is set, as for a
 * zero-copy load, or if programs can attach to functions. Returns 0 and *out, which the caller
 * frees, or -errno: -ENOENT without BTF, -ENOMEM without memory for it, or another if programs may
 * not be loaded.
 */
int features__probe(struct features **out, bool code, struct failure *failure);
void features__free(struct features *f);

/*
 * Ranges of the code of a function and of what the compiler made of it (name.constprop.0); returns
 * their number. Only for functions of the hook table and the table of causes.
 */
size_t features__codes(const struct features *f, const char *name, struct address_range ranges[2]);
/* The same as kallsyms__nearest(). */
int features__symbolize(const struct features *f, struct kernel_address *addresses, size_t *count);
/* The address of a variable; 0 if kallsyms hides it. */
unsigned long long features__variable(const struct features *f, const char *name);
/* The code of a function, unless range is NULL; false if kallsyms hides it. */
bool features__code(const struct features *f, const char *name, struct address_range *range);
/* Can programs call this kernel function (kfunc)? */
bool features__function(const struct features *f, const char *name);
/* Does the kernel's BTF have this struct? */
bool features__type(const struct features *f, const char *name);
/* The facts that a plan needs, answered from f, which must outlive them. */
struct kernel_facts features__facts(const struct features *f);
