/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "loadgen/options/available.h"
#include "loadgen/options/options.h"
#include "loadgen/send/send_ops.h"

int available__settle(struct load_options *o, void (*skip)(const char *why), char *why, size_t room)
{
	size_t kept = 0;

	if (o->load.workload == WORKLOAD_PROCINFO)
		return 0;
	for (size_t i = 0; i < o->variants.count; i++) {
		struct load load = load_options__cell(o, i, 0, 0);
		int err = load__impossible(&load, why, room)
				  ? -EINVAL
				  : variants__probe(load.variant, &load, why, room);

		if (err && !o->every)
			return err;
		if (err)
			skip(why);
		else
			o->variants.of[kept++] = load.variant;
	}
	o->variants.count = kept;
	return 0;
}
