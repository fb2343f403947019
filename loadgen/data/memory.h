/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory for messages that malloc() cannot provide: aligned, in huge pages, or mapped from a file.
 */
#pragma once

#include <stdbool.h>

#include "common/program.h"

struct load;

struct memory {
	char *base; /* NULL: nothing is mapped */
	size_t bytes;
	int fd; /* the mapped file; -1: none */
};

/* Returns the distance between objects of this size, as malloc() places them or aligned. */
size_t memory__stride(const struct load *load, size_t bytes);

/*
 * Returns the memory that this process may use, in bytes: the machine's, or the lowest limit of the
 * process's control groups (version 1 or 2). membership is /proc/self/cgroup, groups is the folder
 * of control groups.
 */
double memory__limit(const char *membership, const char *groups);

/* Refuses a load that needs more than half of memory__limit(); the message names the remedy. */
int memory__check(double bytes, struct failure *f);

/*
 * Maps zeroed memory whose pages are all present. Uses two members of load: huge_pages and, if the
 * memory is a file, file_dir. Returns 0 or a negative errno.
 */
int memory__map(struct memory *m, size_t bytes, const struct load *load, bool file,
		struct failure *f);
void memory__unmap(struct memory *m);

/* Returns 1 if /proc/self/smaps shows part of the memory in huge pages, 0 if not, or -errno. */
int memory__huge(const struct memory *m);
