/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Diagnostics: one line of safe text each, on stderr, named after the program. */
#pragma once

#include "common/program.h"

#define log_error program__complain

/* What libbpf says is shown only after log_verbose(). */
void log_init(void);
void log_verbose(void);
