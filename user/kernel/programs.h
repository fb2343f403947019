/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel programs, as they were built. */
#pragma once

#include "bpf/abi.h"

#include "sendpath.skel.h"

/*
 * Not loaded yet. types is a file of the kernel's types, NULL: libbpf finds them. NULL with errno.
 */
struct sendpath *programs__open(const char *types);
