/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "loadgen/serving/serve_ops.h"

extern const struct serve_ops serve_iterative, serve_threaded, serve_select, serve_epoll;

const struct serve_ops *const serve_models[] = {
	&serve_iterative,
	&serve_threaded,
	&serve_select,
	&serve_epoll,
};

const size_t serve_model_count = sizeof(serve_models) / sizeof(serve_models[0]);

const struct serve_ops *models__find(const char *name)
{
	for (size_t i = 0; i < serve_model_count; i++)
		if (!strcmp(serve_models[i]->name, name))
			return serve_models[i];
	return NULL;
}
