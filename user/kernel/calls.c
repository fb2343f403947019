// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/calls.h"

#include <string.h>

static const char *const names[CALL_KINDS] = {CALL_NAMES};

const char *call_name(enum call_kind kind)
{
	return names[kind];
}

const char *call_error_name(unsigned int index)
{
	const char *name = index && index < ERRNO_RESTART ? strerrorname_np((int)index) : NULL;

	if (name)
		return name;
	return index == ERRNO_RESTART ? "ERESTARTSYS" : "other";
}
