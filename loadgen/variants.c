/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "loadgen/send_ops.h"

extern const struct send_ops send_twocopy, send_onecopy, send_zerocopy, send_null;

const struct send_ops *const send_variants[] = {
	&send_twocopy,
	&send_onecopy,
	&send_zerocopy,
	&send_null,
};

const size_t send_variant_count = sizeof(send_variants) / sizeof(send_variants[0]);

const struct send_ops *variants__find(const char *name)
{
	for (size_t i = 0; i < send_variant_count; i++)
		if (!strcmp(send_variants[i]->name, name))
			return send_variants[i];
	return NULL;
}

const char *variants__names(char *text, size_t room)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < send_variant_count && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%s", i ? ", " : "",
					 send_variants[i]->name);
	return text;
}

static int is_complete(const struct send_ops *v)
{
	if (!v->name || !v->name[0] || !v->summary || !v->summary[0])
		return 0;
	if (!strcmp(v->name, "all") || strchr(v->name, ','))
		return 0; /* words of the option */
	if (!v->setup || !v->teardown || !v->run || !v->run_verify)
		return 0;
	return !(v->flags & SEND_ZEROCOPY) || v->settle;
}

const char *variants__first_invalid(void)
{
	for (size_t i = 0; i < send_variant_count; i++) {
		const struct send_ops *v = send_variants[i];

		if (!is_complete(v) || variants__find(v->name) != v)
			return v->name ? v->name : "?";
	}
	return NULL;
}
