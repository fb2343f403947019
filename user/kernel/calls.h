/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The syscalls that sends come by, and the names of errors. */
#pragma once

#include "bpf/abi.h"

/* The syscall's name; "other" for what has no row. */
const char *call_name(enum call_kind kind);
/* "EAGAIN" for an index of the errors counted in the kernel. */
const char *call_error_name(unsigned int index);
