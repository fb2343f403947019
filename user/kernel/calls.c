// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/calls.h"

#include <string.h>

static const struct {
	const char *name;
	bool sends_once;
} rows[CALL_KINDS] = {
	[CALL_OTHER] = {"other", false},       [CALL_SENDTO] = {"sendto", true},
	[CALL_SENDMSG] = {"sendmsg", true},    [CALL_SENDMMSG] = {"sendmmsg", false},
	[CALL_WRITE] = {"write", true},	       [CALL_WRITEV] = {"writev", true},
	[CALL_SENDFILE] = {"sendfile", false}, [CALL_SPLICE] = {"splice", false},
	[CALL_IO_URING] = {"io_uring", false}, [CALL_IO_URING_ZC] = {"io_uring", false},
};

const char *call_name(enum call_kind kind)
{
	return rows[kind].name;
}

bool call_sends_once(enum call_kind kind)
{
	return rows[kind].sends_once;
}

const char *call_error_name(unsigned int index)
{
	const char *name = index && index < ERRNO_RESTART ? strerrorname_np((int)index) : NULL;

	if (name)
		return name;
	return index == ERRNO_RESTART ? "ERESTARTSYS" : "other";
}
