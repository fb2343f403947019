// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/types.h"

#include "common/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL_TYPES	  "/sys/kernel/btf/vmlinux"
#define TRACEPOINT_PREFIX "btf_trace_"
#define NAME_BUCKETS	  (1 << 14)

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

static struct btf *read_types(void)
{
	struct btf *btf = read_mapped();

	return btf ? btf : btf__parse(KERNEL_TYPES, NULL);
}

/*
 * Replaces libbpf's public function of this name. libbpf would read and copy all types again by it,
 * to find functions to attach to: no option of libbpf takes types that are in memory. libbpf's own
 * calls go through the dynamic linker. If a release of libbpf calls its function directly, it reads
 * the types again, and a start takes longer.
 */
struct btf *btf__load_vmlinux_btf(void)
{
	struct btf *btf = kept;

	kept = NULL;
	return btf ? btf : read_types();
}

void types__keep(struct btf *kernel)
{
	btf__free(kept);
	kept = kernel;
}

/* Returns the bucket of a name. Programs name a type "name", or "name___which" for one layout. */
static unsigned char *find_bucket(unsigned char buckets[NAME_BUCKETS], const struct btf *btf,
				  const struct btf_type *t)
{
	const char *name = btf__name_by_offset(btf, t->name_off);
	unsigned int hash = 0;

	while (*name && strncmp(name, "___", 3))
		hash = hash * 31 + (unsigned char)*name++;
	return &buckets[hash % NAME_BUCKETS];
}

/* Marks a type, and the types that are embedded in it. */
static void mark_needed(const struct btf *kernel, bool *needed, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(kernel, id);

	if (!id || needed[id])
		return;
	needed[id] = true;
	if (btf_is_composite(t))
		for (int i = 0; i < btf_vlen(t); i++)
			mark_needed(kernel, needed, btf_members(t)[i].type);
	else if (btf_is_array(t))
		mark_needed(kernel, needed, btf_array(t)->type);
	else if (btf_is_mod(t) || btf_is_typedef(t))
		mark_needed(kernel, needed, t->type);
}

/* Marks the structs and enums that programs name. Returns the highest marked type. */
static __u32 mark_named(const struct btf *kernel, bool *needed, const struct btf *programs)
{
	unsigned char named[NAME_BUCKETS] = {};
	const struct btf_type *t;
	__u32 id;

	for (id = 1; id < btf__type_cnt(programs); id++)
		*find_bucket(named, programs, btf__type_by_id(programs, id)) = 1;
	for (id = 1; id < btf__type_cnt(kernel); id++) {
		t = btf__type_by_id(kernel, id);
		if ((btf_is_composite(t) || btf_is_any_enum(t)) && t->name_off &&
		    *find_bucket(named, kernel, t))
			mark_needed(kernel, needed, id);
	}
	while (--id && !needed[id])
		;
	return id;
}

/* Copies the needed types. Others become nameless pointers, so that types keep their numbers. */
static struct btf *copy_needed(const struct btf *kernel, const struct btf *programs)
{
	bool *needed = calloc(btf__type_cnt(kernel), sizeof(*needed));
	struct btf *btf = needed ? btf__new_empty() : NULL;
	__u32 last = btf ? mark_named(kernel, needed, programs) : 0;
	int err = 0;

	for (__u32 id = 1; id <= last && err >= 0; id++)
		err = needed[id] && !btf_is_ptr(btf__type_by_id(kernel, id))
			      ? btf__add_type(btf, kernel, btf__type_by_id(kernel, id))
			      : btf__add_ptr(btf, 0);
	free(needed);
	if (err < 0) {
		btf__free(btf);
		return NULL;
	}
	return btf;
}

int types__write_needed(int file, const struct btf *programs)
{
	struct btf *btf;
	const void *data;
	__u32 size;
	int err;

	if (!kept)
		kept = read_types();
	btf = kept ? copy_needed(kept, programs) : NULL;
	data = btf ? btf__raw_data(btf, &size) : NULL;
	/* -EFBIG: a limit of file sizes (ulimit -f) is too small. It also limits memory files. */
	err = data ? program__write_all(file, data, size) : -ENOMEM;
	btf__free(btf);
	return err;
}

/*
 * Counts the arguments of a tracepoint. BTF describes it by the type of its probe, a typedef of a
 * pointer to a function; the first argument is the probe's own. -1: another type.
 */
static int count_args(const struct btf *kernel, const struct btf_type *t)
{
	const struct btf_type *pointer = btf__type_by_id(kernel, t->type);
	const struct btf_type *function = pointer ? btf__type_by_id(kernel, pointer->type) : NULL;

	return function && btf_is_func_proto(function) ? btf_vlen(function) - 1 : -1;
}

/* Returns the name by which a type may be requested, and its kind; NULL: it cannot be requested. */
static const char *requested_name(const struct btf *kernel, const struct btf_type *t,
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

void types__find(const struct btf *kernel, struct kernel_type *requested, size_t count)
{
	struct kernel_type *found, wanted = {};
	const struct btf_type *t;

	for (size_t i = 0; i < count; i++) {
		requested[i].id = 0;
		requested[i].args = -1;
	}
	qsort(requested, count, sizeof(*requested), compare);
	for (__u32 id = 1; id < btf__type_cnt(kernel); id++) {
		t = btf__type_by_id(kernel, id);
		wanted.name = requested_name(kernel, t, &wanted.kind);
		found = wanted.name ? bsearch(&wanted, requested, count, sizeof(wanted), compare)
				    : NULL;
		if (!found || found->id)
			continue;
		found->id = id;
		if (found->kind == TYPE_TRACEPOINT)
			found->args = count_args(kernel, t);
	}
}
