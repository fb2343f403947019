// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The plan of a sweep's folder, as a resume reads it. */
#include "tests/fuzz/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sweep_folder f;

	if (!plan.count)
		make_folder();
	write_file("plan.json", data, size);
	sweep_folder__open(&f, &plan, &options);
	sweep_folder__close(&f);
	return 0;
}
