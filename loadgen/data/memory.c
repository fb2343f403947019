/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loadgen/data/memory.h"
#include "loadgen/load.h"

#define HUGE_PAGE   (2u << 20) /* the largest expected transparent huge page */
#define MALLOC_WORD 16u	       /* malloc()'s alignment, and its header before each block */

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

size_t memory__stride(const struct load *load, size_t bytes)
{
	return load->align ? round_up(bytes, load->align)
			   : round_up(bytes + MALLOC_WORD / 2, MALLOC_WORD);
}

/* Returns a control group's limit in bytes; infinity if it has none ("max", or no such file). */
static double limit_of(const char *groups, const char *path, const char *name)
{
	char file[PATH_MAX];
	double bytes = INFINITY;
	FILE *f;

	snprintf(file, sizeof(file), "%s%s/%s", groups, path, name);
	f = fopen(file, "re");
	if (f && fscanf(f, "%lf", &bytes) != 1)
		bytes = INFINITY;
	if (f)
		fclose(f);
	return bytes;
}

/*
 * Returns the lowest limit of a group and its parents. In a container, the path may be the host's;
 * then only its last part is mounted.
 */
static double least_limit(const char *groups, char *path, const char *name)
{
	double least = limit_of(groups, "", name), here;

	while (*path) {
		here = limit_of(groups, path, name);
		if (here < least)
			least = here;
		*strrchr(path, '/') = '\0';
	}
	return least;
}

/* A line is "0::/path" in version 2 of control groups, and "4:memory:/path" in version 1. */
static double group_limit(const char *groups, char *line)
{
	char memory[PATH_MAX], *controllers = strchr(line, ':'), *path;

	line[strcspn(line, "\n")] = '\0';
	path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path || path[1] != '/')
		return INFINITY;
	*path++ = '\0';
	if (!controllers[1])
		return least_limit(groups, path, "memory.max");
	if (strcmp(controllers + 1, "memory"))
		return INFINITY;
	snprintf(memory, sizeof(memory), "%s/memory", groups);
	return least_limit(memory, path, "memory.limit_in_bytes");
}

double memory__limit(const char *membership, const char *groups)
{
	double least = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), here;
	FILE *file = fopen(membership, "re");
	char line[PATH_MAX];

	while (file && fgets(line, sizeof(line), file)) {
		here = group_limit(groups, line);
		if (here < least)
			least = here;
	}
	if (file)
		fclose(file);
	return least;
}

int memory__check(double bytes, struct failure *f)
{
	double have = memory__limit("/proc/self/cgroup", "/sys/fs/cgroup");

	if (bytes <= have / 2)
		return 0;
	return failure__set(
		f, STATUS_FAILED, -ENOMEM,
		"this load needs %.2f GiB of memory, more than half of the %.2f GiB "
		"that it may have here: lower --inflight, --threads, --size, --align or "
		"--working-set",
		bytes / (1u << 30), have / (1u << 30));
}

/* Opens a file without a name, which disappears with its last descriptor. */
static int make_file(struct memory *m, const struct load *load, struct failure *f)
{
	const char *folder = load->file_dir, *where = folder ? folder : "memory (memfd)";
	int err;

	m->fd = folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
		       : memfd_create("loadgen", MFD_CLOEXEC);
	if (m->fd < 0)
		return failure__set(f, STATUS_FAILED, -errno,
				    "cannot create an unnamed file in %s: %m; choose another "
				    "--file-dir",
				    where);
	/* Allocates the blocks now: on a full disk, a later write would raise SIGBUS. */
	err = posix_fallocate(m->fd, 0, (off_t)m->bytes);
	return failure__set(f, STATUS_FAILED, -err, "no room for %zu bytes in %s: %m", m->bytes,
			    where);
}

/* Maps the memory at a multiple of align (whole pages): reserves more, then unmaps the rest. */
static int map_at(struct memory *m, size_t align)
{
	int how = MAP_FIXED | (m->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
	size_t room = m->bytes + align, before;
	char *p = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	before = round_up((uintptr_t)p, align) - (uintptr_t)p;
	if (before)
		munmap(p, before);
	if (align - before)
		munmap(p + before + m->bytes, align - before);
	m->base = p + before;
	return mmap(m->base, m->bytes, PROT_READ | PROT_WRITE, how, m->fd, 0) == MAP_FAILED ? -errno
											    : 0;
}

static int require_huge(const struct memory *m, int err, struct failure *f)
{
	int huge = err ? err : memory__huge(m);

	if (huge > 0)
		return 0;
	return failure__set(f, STATUS_SYSTEM, huge ? huge : -ENOMEM,
			    "--huge-pages: the kernel gave none (%s): see "
			    "/sys/kernel/mm/transparent_hugepage/enabled",
			    huge ? strerror(-huge) : "none are free, or never");
}

int memory__map(struct memory *m, size_t bytes, const struct load *load, bool file,
		struct failure *f)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	bool huge = load->huge_pages;
	size_t align = huge ? HUGE_PAGE : load->align > page ? load->align : page;
	int err = 0;

	*m = (struct memory){.bytes = round_up(bytes, huge ? HUGE_PAGE : page), .fd = -1};
	if (file)
		err = make_file(m, load, f);
	if (!err)
		err = map_at(m, align);
	if (!err && huge && madvise(m->base, m->bytes, MADV_HUGEPAGE))
		err = -errno;
	if (!err)
		memset(m->base, 0, m->bytes);
	if (huge && !f->status)
		err = require_huge(m, err, f);
	if (err) {
		memory__unmap(m);
		return failure__set(f, STATUS_FAILED, err, "no memory of %zu bytes: %m", bytes);
	}
	return 0;
}

void memory__unmap(struct memory *m)
{
	if (m->base)
		munmap(m->base, m->bytes);
	if (m->bytes && m->fd >= 0) /* all zero: nothing was mapped */
		close(m->fd);
	*m = (struct memory){.fd = -1};
}

/* Counts a mapping that overlaps the memory: smaps may merge the memory with its neighbours. */
int memory__huge(const struct memory *m)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	uintptr_t base = (uintptr_t)m->base, end = base + m->bytes;
	unsigned long low, high, kib;
	bool inside = false, found = false;
	char line[512];

	if (!maps)
		return -errno;
	while (!found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx ", &low, &high) == 2)
			inside = low < end && base < high;
		else if (inside && sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
			found = kib > 0;
	}
	fclose(maps);
	return found;
}
