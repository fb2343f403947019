/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "loadgen/data/dataset.h"
#include "loadgen/data/pattern.h"
#include "loadgen/load.h"
#include "loadgen/send/send_ops.h"

static size_t longest_field(const struct load *load)
{
	unsigned int fields = load__fields(load);

	return (load->message_bytes + fields - 1) / fields;
}

struct picker dataset__picker(const struct load *load)
{
	return (struct picker){
		.count = load->working_set / memory__stride(load, longest_field(load)),
		.seed = load->seed,
		.fields = load__fields(load),
		.random = load->pick == PICK_RANDOM,
	};
}

int dataset__create(struct dataset **out, const struct load *load, struct failure *f)
{
	const struct send_ops *ops = variants__find(load->variant);
	bool file = ops->flags & SEND_FILE;
	struct dataset *d;
	int err;

	*out = NULL;
	if (!load->working_set || ops->flags & SEND_NOTHING)
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return failure__set(f, STATUS_FAILED, -ENOMEM, "out of memory");
	d->picker = dataset__picker(load);
	d->stride = memory__stride(load, longest_field(load));
	err = memory__map(&d->memory, load->working_set, load, file, f);
	if (err) {
		free(d);
		return err;
	}
	for (uint64_t i = 0; i < d->picker.count; i++)
		pattern__fill_field(i, 0, d->memory.base + i * d->stride, longest_field(load));
	*out = d;
	return 0;
}

void dataset__destroy(struct dataset *d)
{
	if (d)
		memory__unmap(&d->memory);
	free(d);
}
