/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text that somebody else wrote, made fit for a terminal. */
#ifndef SENDPATH_SAFE_H
#define SENDPATH_SAFE_H

#include <ctype.h>
#include <stddef.h>

/* Copies at most room bytes, the last one zero; what cannot be printed becomes '?'. */
static inline const char *safe__copy(char *to, const char *from, size_t room)
{
	size_t i;

	for (i = 0; i + 1 < room && from[i]; i++)
		to[i] = isprint((unsigned char)from[i]) ? from[i] : '?';
	to[i] = '\0';
	return to;
}

#endif
