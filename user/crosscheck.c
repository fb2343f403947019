// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The independent check is a program of another toolchain, bcc, which Debian
 * installs for its own Python only.
 */
#include "user/crosscheck.h"

#include "user/system/log.h"
#include "user/system/place.h"

#include "common/status.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PYTHON	  "/usr/bin/python3"
#define ARGUMENTS 64

int crosscheck(int argc, char **argv)
{
	char program[PATH_MAX + 64], self[PATH_MAX];
	char *arguments[ARGUMENTS] = {PYTHON, program, self};
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int i;

	if (geteuid()) {
		log_error("crosscheck: bcc needs root: run with sudo");
		return STATUS_SYSTEM;
	}
	if (length < 0 ||
	    place__find("analysis/crosscheck/crosscheck.py", program, sizeof(program))) {
		log_error("crosscheck: analysis/crosscheck/crosscheck.py is missing: install or "
			  "unpack it "
			  "beside this program");
		return STATUS_SYSTEM;
	}
	self[length] = 0;
	for (i = 1; i < argc && i + 3 < ARGUMENTS; i++)
		arguments[i + 2] = argv[i];
	execv(PYTHON, arguments);
	log_error("crosscheck: cannot run " PYTHON ": %s", strerror(errno));
	return STATUS_SYSTEM;
}
