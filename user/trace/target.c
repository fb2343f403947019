// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/target.h"

#include "common/program.h"
#include "common/units.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INITIAL_PID_NAMESPACE 0xEFFFFFFCU /* PROC_PID_INIT_INO */

static const char *set_by(struct target *t, enum target_by by)
{
	if (t->given)
		return "give one of --pid, --comm, --cgroup, --all and -- COMMAND";
	t->given = true;
	t->by = by;
	return NULL;
}

static const char *add_pid(struct target *t, const char *word)
{
	unsigned long long pid;

	if (units__count(word, &pid) || !pid || pid > INT_MAX)
		return "give process ids, separated by commas";
	for (size_t i = 0; i < t->pid_count; i++)
		if (t->pids[i] == (pid_t)pid)
			return NULL;
	if (t->pid_count == TARGET_PIDS_MAX)
		return "give at most 64 process ids";
	t->pids[t->pid_count++] = (pid_t)pid;
	return NULL;
}

static const char *set_pids(struct target *t, const char *list)
{
	char *copy = strdup(list), *word, *save = NULL;
	const char *why = copy ? NULL : "out of memory";

	for (word = why ? NULL : strtok_r(copy, ",", &save); word && !why;
	     word = strtok_r(NULL, ",", &save))
		why = add_pid(t, word);
	free(copy);
	return why || t->pid_count ? why : "give process ids, separated by commas";
}

const char *target__set(struct target *t, enum target_by by, const char *value)
{
	const char *why = set_by(t, by);

	if (!why && by == TARGET_PROCESS)
		return set_pids(t, value);
	if (!why && by == TARGET_COMM && (!*value || strlen(value) >= COMM_MAX))
		return "a process name has 1 to 15 characters, as in /proc/PID/comm";
	if (!why)
		t->named = value;
	return why;
}

const char *target__set_command(struct target *t, char **command)
{
	t->command = command;
	return set_by(t, TARGET_PROCESS);
}

/* A kernel without this file has no other namespace than the initial one. */
unsigned int target__pid_namespace(void)
{
	struct stat own;

	if (stat("/proc/self/ns/pid", &own) || own.st_ino == INITIAL_PID_NAMESPACE)
		return 0;
	return (unsigned int)own.st_ino;
}

void target__text(const struct target *t, char *text, size_t size)
{
	snprintf(text, size, "%s",
		 t->command		  ? "command"
		 : t->by == TARGET_COMM	  ? "processes named "
		 : t->by == TARGET_CGROUP ? "control group "
		 : t->by == TARGET_ALL	  ? "all processes"
					  : "pid");
	for (size_t i = 0; t->command && t->command[i]; i++)
		text__append(text, size, " %s", t->command[i]);
	for (size_t i = 0; i < t->pid_count; i++)
		text__append(text, size, "%s%d", i ? ", " : " ", (int)t->pids[i]);
	if (t->named)
		text__append(text, size, "%s", t->named);
}
