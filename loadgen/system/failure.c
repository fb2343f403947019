/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "loadgen/system/failure.h"

int failure__set(struct failure *f, int status, int err, const char *format, ...)
{
	va_list args;

	if (f->status)
		return err;
	f->status = status;
	va_start(args, format);
	vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);
	return err;
}

void failure__adopt(struct failure *f, const struct failure *from)
{
	if (!f->status && from->status)
		*f = *from;
}
