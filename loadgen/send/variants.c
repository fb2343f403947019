/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "loadgen/load.h"
#include "loadgen/send/send_ops.h"

extern const struct send_ops send_twocopy, send_onecopy, send_zerocopy, send_null, send_write,
	send_writev, send_sendfile, send_splice, send_uring, send_uring_zc;

/* clang-format off */
const struct send_ops *const send_variants[] = {
	&send_twocopy,
	&send_onecopy,
	&send_zerocopy,
	&send_null,
	&send_write,
	&send_writev,
	&send_sendfile,
	&send_splice,
	&send_uring,
	&send_uring_zc,
};
/* clang-format on */

const size_t send_variant_count = sizeof(send_variants) / sizeof(send_variants[0]);

const struct send_ops *variants__find(const char *name)
{
	for (size_t i = 0; i < send_variant_count; i++)
		if (!strcmp(send_variants[i]->name, name))
			return send_variants[i];
	return NULL;
}

int variants__probe(const char *name, char *why, size_t room)
{
	const struct send_ops *ops = variants__find(name);

	return ops->needs ? ring__probe(ops, why, room) : 0;
}

unsigned int load__fields(const struct load *load)
{
	const struct send_ops *ops = variants__find(load->variant);

	return ops && ops->flags & SEND_FILE ? 1 : load->fields;
}
