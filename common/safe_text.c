// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "common/safe_text.h"

#include <stdio.h>

const char *safe_text(const char *text, char *out, size_t size)
{
	size_t used = 0;

	for (; *text && used + 5 <= size; text++) {
		if (*text >= ' ' && *text <= '~' && *text != '\\')
			out[used++] = *text;
		else
			used += (size_t)snprintf(out + used, size - used, "\\x%02x",
						 (unsigned char)*text);
	}
	out[used] = 0;
	return out;
}
