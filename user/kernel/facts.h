/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef SENDPATH_FACTS_H
#define SENDPATH_FACTS_H

#include "user/kernel/features.h"
#include "user/kernel/plan.h"

/* The questions of a plan, answered by the features probed, which must outlive them. */
struct kernel_facts facts__of(const struct features *features);

#endif
