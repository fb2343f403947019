// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Runs the commands that are written in Python. */
#include "user/commands.h"
#include "user/system/files.h"
#include "user/system/front.h"
#include "user/system/privilege.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The environment with the libraries. Without it, the system's Python reports what is missing. */
#define ENVIRONMENT ".venv/bin/python3" /* in analysis/ */
#define FIRST_MAX   8
/* Makes Python ignore environment variables and modules of the current folder. */
#define ISOLATED "-I"

/* Replaces this process by Python: first has its words, then NULL; argv follows. */
static int execute(const char *const *first, int argc, char **argv)
{
	char **words = calloc((size_t)argc + FIRST_MAX, sizeof(*words));
	size_t count = 0;

	if (!words)
		return program__fail(STATUS_FAILED, "out of memory");
	for (; first[count]; count++)
		words[count] = (char *)first[count];
	memcpy(words + count, argv, (size_t)argc * sizeof(*argv));
	execv(first[0], words);
	program__complain("cannot run %s: %s", first[0], strerror(errno));
	free(words);
	return STATUS_SYSTEM;
}

static int find_part(const char *part, char *path, size_t size)
{
	return files__find_part(part, path, size) ? program__fail(STATUS_SYSTEM, PART_MISSING, part)
						  : STATUS_OK;
}

/* Drops all privileges and runs Python, because anybody may have written the files it reads. */
static int hand_over(bool needs_libraries, int argc, char **argv)
{
	char program[PATH_MAX], python[PATH_MAX + 64] = SYSTEM_PYTHON, folder[PATH_MAX];
	struct failure f = {};

	if (find_part("analysis/__main__.py", program, sizeof(program)))
		return STATUS_SYSTEM;
	if (!privilege__become_user(&f) && f.text[0])
		program__complain("%s", f.text);
	if (f.status || privilege__drop_all(&f))
		return program__fail(f.status, "%s", f.text);
	strcpy(folder, program);
	if (needs_libraries)
		snprintf(python, sizeof(python), "%s/" ENVIRONMENT, dirname(folder));
	return execute((const char *[]){access(python, X_OK) ? SYSTEM_PYTHON : python, ISOLATED,
					"-X", "utf8", program, NULL},
		       argc, argv);
}

int analysis(int argc, char **argv)
{
	return hand_over(true, argc, argv);
}

int derive(int argc, char **argv)
{
	return hand_over(false, argc, argv);
}

int crosscheck(int argc, char **argv)
{
	char program[PATH_MAX + 64], self[PATH_MAX];
	struct failure f = {};
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int err;

	if (geteuid())
		return program__fail(STATUS_SYSTEM, "crosscheck: bcc needs root: run with sudo");
	if (length < 0 || find_part("analysis/crosscheck/crosscheck.py", program, sizeof(program)))
		return STATUS_SYSTEM;
	self[length] = 0;
	err = front__check(&f);
	if (failure__set(&f, STATUS_SYSTEM, err, "%s: %m", program))
		return program__fail(f.status, "%s", f.text);
	/* -B: otherwise root would write bytecode into a user's folder. */
	return execute((const char *[]){SYSTEM_PYTHON, ISOLATED, "-B", program, self, NULL},
		       argc - 1, argv + 1);
}
