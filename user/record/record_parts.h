/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What raw lines and plans of sweeps have of a load. */
#pragma once

#include "common/json.h"
#include "loadgen/load.h"

/* The load as its options say it. */
json_object *record__load(const struct load *load);
/* Names a cell of the grid: what its repeats have in common. */
void record__cell_name(const struct load *load, char *name, size_t size);
