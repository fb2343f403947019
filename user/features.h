/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What this kernel offers, found by asking it: never by its version. Probed once,
 * with all privileges still held; everything else only reads the answers.
 */
#ifndef SENDPATH_FEATURES_H
#define SENDPATH_FEATURES_H

#include "bpf/abi.h"

#include <stdbool.h>

struct features;

/*
 * Probes; where functions lie (features__code) only if code is asked for, as a
 * zero-copy load needs it. 0 and *out, to be freed; or -errno: -ENOENT without BTF, -EPERM where
 * programs may not be loaded at all. reason (if not NULL) then says why in words.
 */
int features__probe(struct features **out, bool code, char *reason, unsigned long size);
void features__free(struct features *f);

/* Is it in the kernel's BTF? */
bool features__has_function(const struct features *f, const char *name);
/* How many arguments a raw tracepoint passes; -1 if there is none of that name. */
int features__tracepoint_args(const struct features *f, const char *name);
/* NULL where tracing programs load, else the kernel's reason. */
const char *features__fentry_refused(const struct features *f);
/* Start and end of a function's code; false where kallsyms does not tell. */
bool features__code(const struct features *f, const char *name, struct address_range *range);

#endif
