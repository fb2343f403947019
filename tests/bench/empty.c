// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * empty [TRACEPOINT...]: attaches an empty program to each raw tracepoint, else to the entry and
 * the exit of tcp_sendmsg. Prints "attached", and holds the programs until it is ended.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/empty.skel.h"

static int fail(const char *what, const char *name)
{
	fprintf(stderr, "empty: cannot %s %s: %s\n", what, name, strerror(errno));
	return -1;
}

static int load(struct empty *skel, bool named)
{
	if (!skel)
		return fail("open", "the programs");
	/* Loads only the programs that will be attached: the kernel may refuse the others. */
	bpf_program__set_autoload(skel->progs.passed, named);
	bpf_program__set_autoload(skel->progs.entered, !named);
	bpf_program__set_autoload(skel->progs.left, !named);
	return empty__load(skel) ? fail("load", "the programs") : 0;
}

/* Attaches the programs; the links last as long as the process. */
static int attach(struct empty *skel, char **names)
{
	for (; *names; names++)
		if (!bpf_program__attach_raw_tracepoint(skel->progs.passed, *names))
			return fail("attach to the raw tracepoint", *names);
	return empty__attach(skel) ? fail("attach to", "tcp_sendmsg") : 0;
}

int main(int argc, char **argv)
{
	struct empty *skel;

	libbpf_set_print(NULL);
	skel = empty__open();
	if (load(skel, argc > 1) || attach(skel, argv + 1)) {
		empty__destroy(skel);
		return 1;
	}
	puts("attached");
	fflush(stdout);
	pause();
	empty__destroy(skel);
	return 0;
}
