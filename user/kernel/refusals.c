// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/refusals.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static const struct refusal_row rows[REFUSALS] = {
	[REFUSAL_OPTMEM] =
		{"optmem", ENOBUFS,
		 "the socket has as many notifications unread or under way as optmem allows",
		 "Read the error queue more often, or raise net.core.optmem_max."},
	[REFUSAL_MEMLOCK] = {"memlock", ENOBUFS,
			     "the user has as many pages pinned as RLIMIT_MEMLOCK allows",
			     "Have less in flight, or raise the limit (ulimit -l)."},
	[REFUSAL_ENOBUFS] = {"optmem_or_memlock", ENOBUFS,
			     "no room in optmem or in locked memory; which, had changed a moment "
			     "later",
			     "Read the error queue more often; raise net.core.optmem_max and "
			     "ulimit -l."},
	[REFUSAL_UNSUPPORTED] = {"not_supported", EOPNOTSUPP,
				 "what the socket runs over TCP (kTLS) does not take MSG_ZEROCOPY",
				 "Send without it there."},
	[REFUSAL_FULL] = {"send_buffer_full", EAGAIN, "the send buffer had no room",
			  "Wait until the socket is writable (poll)."},
	[REFUSAL_OTHER] = {"failed", 0, "the send failed", "See its error."},
};

const struct refusal_row *refusal__get(enum refusal refusal)
{
	return &rows[refusal];
}

enum refusal refusal__of(int error)
{
	enum refusal refusal = REFUSAL_ENOBUFS;

	while (refusal < REFUSAL_OTHER && rows[refusal].error != error)
		refusal++;
	return refusal;
}

const struct refusal_row *refusal__find(const char *name)
{
	size_t i;

	for (i = 0; i < REFUSALS; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}
