/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel programs, as they were built. */
#pragma once

#include "bpf/abi.h"

#include "sendpath.skel.h"

/* Not loaded yet. NULL with errno. */
struct sendpath *programs__open(void);
