/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names that the kernel passes on were chosen by others: not to be sent to a terminal raw. */
#pragma once

#include <stddef.h>

/*
 * Copies text, writing bytes that are no printable ASCII as \xNN. Always ends with
 * a zero; what does not fit (four bytes a character do) is cut. Returns out.
 */
const char *safe_text(const char *text, char *out, size_t size);
