// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/types.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL_TYPES	  "/sys/kernel/btf/vmlinux"
#define TRACEPOINT_PREFIX "btf_trace_"

static struct btf *kept; /* set by types__keep() */

/* Since Linux 6.16 BTF can be mapped, which saves one of libbpf's two copies. */
static struct btf *read_mapped(void)
{
	int fd = open(KERNEL_TYPES, O_RDONLY | O_CLOEXEC);
	struct btf *btf = NULL;
	struct stat file;
	void *data;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &file) && file.st_size > 0) {
		data = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data != MAP_FAILED) {
			btf = btf__new(data, (__u32)file.st_size);
			munmap(data, (size_t)file.st_size);
		}
	}
	close(fd);
	return btf;
}

/*
 * Replaces libbpf's function, which libbpf calls to relocate programs, and which would read and
 * copy all types again.
 */
struct btf *btf__load_vmlinux_btf(void)
{
	struct btf *btf = kept;

	kept = NULL;
	if (!btf)
		btf = read_mapped();
	return btf ? btf : btf__parse(KERNEL_TYPES, NULL);
}

void types__keep(struct btf *kernel)
{
	btf__free(kept);
	kept = kernel;
}

/*
 * The kernel describes a tracepoint by the type of its probe: a typedef of a pointer to a function
 * whose first argument is the probe's own.
 */
static int count_args(const struct btf *kernel, const struct btf_type *t)
{
	const struct btf_type *pointer = btf__type_by_id(kernel, t->type);
	const struct btf_type *function = pointer ? btf__type_by_id(kernel, pointer->type) : NULL;

	return function && btf_is_func_proto(function) ? btf_vlen(function) - 1 : -1;
}

/* The name by which a type of this kind is searched for; NULL: it is not. */
static const char *asked_name(const struct btf *kernel, const struct btf_type *t,
			      enum type_kind *kind)
{
	const char *name = btf__name_by_offset(kernel, t->name_off);
	size_t prefix = strlen(TRACEPOINT_PREFIX);

	*kind = btf_is_func(t) ? TYPE_FUNCTION : TYPE_STRUCT;
	if (btf_is_func(t) || btf_is_struct(t))
		return name;
	*kind = TYPE_TRACEPOINT;
	return btf_is_typedef(t) && !strncmp(name, TRACEPOINT_PREFIX, prefix) ? name + prefix
									      : NULL;
}

static int compare(const void *a, const void *b)
{
	const struct kernel_type *x = a, *y = b;

	return x->kind == y->kind ? strcmp(x->name, y->name) : x->kind < y->kind ? -1 : 1;
}

void types__find(const struct btf *kernel, struct kernel_type *asked, size_t count)
{
	struct kernel_type *found, wanted = {};
	const struct btf_type *t;

	for (size_t i = 0; i < count; i++) {
		asked[i].id = 0;
		asked[i].args = -1;
	}
	qsort(asked, count, sizeof(*asked), compare);
	for (__u32 id = 1; id < btf__type_cnt(kernel); id++) {
		t = btf__type_by_id(kernel, id);
		wanted.name = asked_name(kernel, t, &wanted.kind);
		found = wanted.name ? bsearch(&wanted, asked, count, sizeof(wanted), compare)
				    : NULL;
		if (!found || found->id)
			continue;
		found->id = id;
		if (found->kind == TYPE_TRACEPOINT)
			found->args = count_args(kernel, t);
	}
}
