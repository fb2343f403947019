// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Attaches the empty programs, says so, and holds them until it is ended. */
#include <stdio.h>
#include <unistd.h>

#include "tests/bench/empty.skel.h"

int main(void)
{
	struct empty *skel = empty__open_and_load();

	if (!skel || empty__attach(skel)) {
		fprintf(stderr, "empty: the programs cannot be attached\n");
		empty__destroy(skel);
		return 1;
	}
	puts("attached");
	fflush(stdout);
	pause();
	empty__destroy(skel);
	return 0;
}
