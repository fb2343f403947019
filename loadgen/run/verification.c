/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>

#include "loadgen/load.h"
#include "loadgen/run/verification.h"

uint64_t verification__checked(const struct slot *slots, unsigned int count)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < count; i++)
		sum += slots[i].verified.checked;
	return sum;
}

void verification__judge(const struct slot *slots, uint64_t checked_before, struct result *r)
{
	r->checked = verification__checked(slots, r->load->threads);
	for (unsigned int i = 0; i < r->load->threads; i++) {
		const struct pattern_stream *v = &slots[i].verified;

		if (v->bad && !r->bad) {
			r->bad_connection = i;
			r->first_bad = v->first;
		}
		r->bad += v->bad;
	}
	if (!r->bad)
		r->checked -= checked_before; /* else of the warm-up too, as bad is */
	else
		failure__set(&r->failure, STATUS_FAILED, -EBADMSG,
			     "verification: %llu bytes arrived wrong, first in connection %u, "
			     "message %llu, offset %llu: expected 0x%02x, got 0x%02x%s",
			     (unsigned long long)r->bad, r->bad_connection,
			     (unsigned long long)r->first_bad.message,
			     (unsigned long long)r->first_bad.offset, r->first_bad.expected,
			     r->first_bad.got,
			     r->load->reuse_early
				     ? ": memory was written to while the kernel still sent from "
				       "it (--reuse-early)"
				     : "");
}
