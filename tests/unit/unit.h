/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Includes cmocka after the headers that it needs. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Each test has the parameter state, which few use. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
