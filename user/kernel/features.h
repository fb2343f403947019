/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What this kernel offers, found by asking it: never by its version. Probed once,
 * with all privileges still held; everything else only reads the answers.
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
 * be loaded at all. reason (if not NULL) then says why in words.
 */
int features__probe(struct features **out, bool code, char *reason, unsigned long size);
void features__free(struct features *f);

/* Can the kernel's types be had, from whichever file libbpf knows? */
bool features__types(void);

/* What the kernel has under this name; only for functions of the hook table. */
void features__function(const struct features *f, const char *name, struct kernel_function *out);
/* How many arguments a raw tracepoint passes; -1 if there is none of that name. */
int features__tracepoint_args(const struct features *f, const char *name);
/* NULL where programs of this mechanism load and attach, else the kernel's reason. */
const char *features__refused(const struct features *f, enum mechanism m);
/*
 * Code of a function, and of what the compiler made of it (name.constprop.0); how many
 * ranges. Only for functions of the hook table and the table of causes.
 */
size_t features__codes(const struct features *f, const char *name, struct address_range ranges[2]);
/* The functions that addresses lie in, as this kernel was when it was probed. 0 or -errno. */
int features__symbolize(const struct features *f, struct kernel_address *addresses, size_t count);
/* Start of a variable of the kernel that is known here; 0 where kallsyms does not tell. */
unsigned long long features__variable(const struct features *f, const char *name);
/* Start and end of a function's code; false where kallsyms does not tell. */
bool features__code(const struct features *f, const char *name, struct address_range *range);
/* Do the kernel's types have this struct? */
bool features__type(const struct features *f, const char *name);
/* Is the kernel known to take the CPU from a thread that runs in it? */
bool features__preempts(const struct features *f);
/* Are kprobe.multi probes made by the function graph tracer (Linux 6.14)? */
bool features__graph_probes(const struct features *f);
/* Can programs keep state with a thread, and see its registers (Linux 5.15)? */
bool features__task_state(const struct features *f);
/* Can a program insert into a hash that was not allocated beforehand (Linux 6.1)? */
bool features__safe_allocation(const struct features *f);
/* The questions of a plan, answered by f, which must outlive them. */
struct kernel_facts features__facts(const struct features *f);
