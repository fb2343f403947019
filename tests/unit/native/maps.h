/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include "bpf/state.bpf.h"

/* From now on no more elements than so many fit; 0: any number. */
void maps__limit(void *definition, __u32 limit);

/* How many elements a map has; of an array, how many were looked at. */
__u32 maps__count(void *definition);
/* All maps are empty, or 0, again. */
void maps__clear(void);
/* Called at each look into a map, if it is set: another CPU may go on there. */
extern void (*maps__between)(void);
/* Tells the time, if it is set; else each look at the clock is 100 ns after the last. */
extern __u64 (*maps__clock)(void);
