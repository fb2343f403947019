// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis.h"

#include "user/system/log.h"
#include "user/system/place.h"
#include "user/system/privilege.h"

#include "common/status.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Its libraries are in an environment of their own; without it Python says what is missing. */
#define ENVIRONMENT   "analysis/.venv/bin/python3"
#define SYSTEM_PYTHON "/usr/bin/python3"

bool analysis__knows(const char *command)
{
	static const char *const commands[] = {"table", "compare", "report"};
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(command, commands[i]))
			return true;
	return false;
}

/* The folder that analysis/ is in. */
static int find_root(char *root, size_t size)
{
	char program[PATH_MAX];

	if (place__find("analysis/__main__.py", program, sizeof(program))) {
		log_error("analysis/ is missing or not readable: install or unpack it beside this "
			  "program");
		return STATUS_SYSTEM;
	}
	snprintf(root, size, "%s", dirname(dirname(program)));
	return STATUS_OK;
}

/* The user's own folder is no place to take our modules from. */
static void set_search_path(const char *root)
{
	setenv("PYTHONPATH", root, 1);
	setenv("PYTHONSAFEPATH", "1", 1);
}

static int execute(const char *python, int argc, char **argv)
{
	char **arguments = calloc(argc + 4, sizeof(*arguments));

	if (!arguments) {
		log_error("out of memory");
		return STATUS_FAILED;
	}
	arguments[0] = (char *)python;
	arguments[1] = "-m";
	arguments[2] = "analysis";
	memcpy(arguments + 3, argv, argc * sizeof(*argv));
	execv(python, arguments);
	log_error("%s: cannot run %s: %s", argv[0], python, strerror(errno));
	free(arguments);
	return STATUS_SYSTEM;
}

int analysis__run(int argc, char **argv)
{
	char root[PATH_MAX], python[PATH_MAX + 64], reason[256];
	int status = find_root(root, sizeof(root));

	if (status)
		return status;
	if (privilege__become_user(reason, sizeof(reason)) ||
	    privilege__drop_all(reason, sizeof(reason))) {
		log_error("%s", reason);
		return STATUS_FAILED;
	}
	set_search_path(root);
	snprintf(python, sizeof(python), "%s/" ENVIRONMENT, root);
	return execute(access(python, X_OK) ? SYSTEM_PYTHON : python, argc, argv);
}
