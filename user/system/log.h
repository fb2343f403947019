/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Diagnostics: lines of safe text on stderr, with the program's name. */
#pragma once

#include "common/program.h"

#define log_error program__complain

/* libbpf's messages are shown only after log_verbose(). */
void log_init(void);
void log_verbose(void);
