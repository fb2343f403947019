// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Fuzzes a line that the engine, which is privileged, reads from the front. */
#include "user/engine.h"

#include <stdlib.h>

#define CELLS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_object *o = front__parse((const char *)data, size);
	struct run_request q;

	if (o && run_request__read(&q, o, CELLS) &&
	    (q.cell >= CELLS || !q.repeat || q.repeat > REPEAT_MAX))
		abort();
	json_object_put(o);
	return 0;
}
