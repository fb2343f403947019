/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that messages are sent from, where malloc() does not do: aligned, in huge pages,
 * or a file's. */
#pragma once

#include <stdbool.h>

#include "common/program.h"

struct load;

struct memory {
	char *base; /* NULL: none */
	size_t bytes;
	int fd; /* of the file that it maps, else -1 */
};

/* Where one thing may begin after another of so many bytes: as with malloc(), or aligned. */
size_t memory__stride(const struct load *load, size_t bytes);

/*
 * Bytes that this process may have: the machine's, or what the nearest limit of its control
 * groups allows, of version 1 or 2, by /proc/self/cgroup and the folder of control groups.
 */
double memory__limit(const char *membership, const char *groups);

/* Refuses a load that needs more than half of them; the message names the remedy. */
int memory__check(double bytes, struct failure *f);

/*
 * Zeroed, and there: no page of it is missing later. Of the load's it follows
 * huge_pages and, if the memory is to be a file, file_dir. 0 or a negative errno.
 */
int memory__map(struct memory *m, size_t bytes, const struct load *load, bool file,
		struct failure *f);
void memory__unmap(struct memory *m);

/* 1 if some of it is in huge pages, according to /proc/self/smaps; 0, or -errno. */
int memory__huge(const struct memory *m);
