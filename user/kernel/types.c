// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/types.h"

#include "user/kernel/beginnings.h"
#include "user/kernel/hooks.h"
#include "user/kernel/programs.h"

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

/* Linux 6.16 lets them be mapped, which saves libbpf one of its two copies. */
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

struct btf *types__read(void)
{
	struct btf *btf = read_mapped();

	if (!btf)
		btf = btf__parse(KERNEL_TYPES, NULL);
	/* Looks elsewhere, too, and does not tell what befell it. */
	return btf || errno == ENOMEM ? btf : btf__load_vmlinux_btf();
}

struct name {
	const char *text;
	size_t length;
};

/* What types and their members may be called to be of use, sorted. */
struct names {
	struct name *all;
	size_t count, room;
	bool failed;
	struct beginnings beginnings;
};

static int compare_names(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	size_t both = x->length < y->length ? x->length : y->length;
	int order = memcmp(x->text, y->text, both);

	return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* What follows three underscores says which kernels a program's type describes: its flavor. */
static struct name without_flavor(const char *text)
{
	const char *flavor = strstr(text, "___");
	size_t length = flavor && flavor > text ? (size_t)(flavor - text) : strlen(text);

	return (struct name){text, length};
}

static void add_name(struct names *names, const char *text)
{
	struct name *more, *name;

	if (!text || !*text || names->failed)
		return;
	if (names->count == names->room) {
		more = realloc(names->all, (names->room + 512) * sizeof(*more));
		if (!more) {
			names->failed = true;
			return;
		}
		names->all = more;
		names->room += 512;
	}
	name = &names->all[names->count++];
	*name = without_flavor(text);
	beginnings__add(&names->beginnings, name->text, name->length);
}

/* A type of the programs, and the names inside it. */
static void add_names_of(struct names *names, const struct btf *btf, const struct btf_type *t)
{
	int i, count = btf_vlen(t);

	if (!btf_is_composite(t) && !btf_is_any_enum(t) && !btf_is_typedef(t))
		return;
	add_name(names, btf__name_by_offset(btf, t->name_off));
	for (i = 0; btf_is_composite(t) && i < count; i++)
		add_name(names, btf__name_by_offset(btf, btf_members(t)[i].name_off));
	for (i = 0; btf_is_enum(t) && i < count; i++)
		add_name(names, btf__name_by_offset(btf, btf_enum(t)[i].name_off));
	for (i = 0; btf_is_enum64(t) && i < count; i++)
		add_name(names, btf__name_by_offset(btf, btf_enum64(t)[i].name_off));
}

static void add_names_of_option(struct names *names, const struct hook_option *option)
{
	const struct tracepoint_need *tracepoint;
	const char *const *function;

	for (function = option->functions; *function; function++)
		add_name(names, *function);
	for (tracepoint = option->tracepoints; tracepoint->name; tracepoint++)
		add_name(names, tracepoint->name);
	add_name(names, option->also);
	add_name(names, option->type);
}

/* Names are strings of programs, which must outlive them. */
static void collect_names(struct names *names, const struct btf *programs)
{
	/* Whether they are there tells what a kernel can do. */
	static const char *const asked[] = {"bpf_mem_alloc", "fprobe", "hlist_array",
					    "bpf_rdonly_cast"};
	enum hook_id id;
	size_t i;

	for (i = 1; i < btf__type_cnt(programs); i++)
		add_names_of(names, programs, btf__type_by_id(programs, (__u32)i));
	for (id = 0; id < HOOK_COUNT; id++)
		for (i = 0; i < HOOK_OPTIONS_MAX; i++)
			add_names_of_option(names, &hook__get(id)->options[i]);
	for (i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		add_name(names, asked[i]);
	qsort(names->all, names->count, sizeof(names->all[0]), compare_names);
}

struct selection {
	const struct btf *from;
	struct btf *to;
	struct names names;
	int *ids; /* in to, by those in from; 0: not copied */
};

static const char *name_at(const struct selection *s, __u32 offset)
{
	return btf__name_by_offset(s->from, offset);
}

static bool is_wanted(const struct selection *s, const char *text)
{
	struct name name = {text, strlen(text)};

	if (!beginnings__may_have(&s->names.beginnings, name.text, name.length))
		return false;
	return bsearch(&name, s->names.all, s->names.count, sizeof(name), compare_names);
}

static int copy(struct selection *s, __u32 id);

/* No program goes on by a pointer's type; a tracepoint's is that of its function. */
static int copy_pointer(struct selection *s, const struct btf_type *t)
{
	bool to_function = btf_is_func_proto(btf__type_by_id(s->from, t->type));
	int to = to_function ? copy(s, t->type) : 0;

	return to < 0 ? to : btf__add_ptr(s->to, to);
}

static int copy_array(struct selection *s, const struct btf_type *t)
{
	const struct btf_array *array = btf_array(t);
	int index = copy(s, array->index_type), element = copy(s, array->type);

	if (index < 0 || element < 0)
		return index < 0 ? index : element;
	return btf__add_array(s->to, index, element, array->nelems);
}

/* One without a name is looked for its members. */
static bool keeps_member(const struct selection *s, const struct btf_member *m)
{
	const char *name = name_at(s, m->name_off);

	return !*name || is_wanted(s, name);
}

static int copy_composite(struct selection *s, const struct btf_type *t)
{
	const struct btf_member *m = btf_members(t);
	const char *name = name_at(s, t->name_off);
	int id, err, i, count = btf_vlen(t);

	for (i = 0; i < count; i++)
		if (keeps_member(s, &m[i]) && (err = copy(s, m[i].type)) < 0)
			return err;
	id = btf_is_union(t) ? btf__add_union(s->to, name, t->size)
			     : btf__add_struct(s->to, name, t->size);
	for (i = 0; id >= 0 && i < count; i++) {
		if (!keeps_member(s, &m[i]))
			continue;
		err = btf__add_field(s->to, name_at(s, m[i].name_off), s->ids[m[i].type],
				     btf_member_bit_offset(t, (__u32)i),
				     btf_member_bitfield_size(t, (__u32)i));
		if (err)
			return err;
	}
	return id;
}

static int copy_enum(struct selection *s, const struct btf_type *t)
{
	int id = btf__add_enum(s->to, name_at(s, t->name_off), t->size), err = 0, i;
	const struct btf_enum *e = btf_enum(t);

	for (i = 0; id >= 0 && !err && i < btf_vlen(t); i++)
		if (is_wanted(s, name_at(s, e[i].name_off)))
			err = btf__add_enum_value(s->to, name_at(s, e[i].name_off),
						  btf_kflag(t) ? e[i].val : (__s64)(__u32)e[i].val);
	return err ? err : id;
}

static int copy_enum64(struct selection *s, const struct btf_type *t)
{
	int id = btf__add_enum64(s->to, name_at(s, t->name_off), t->size, btf_kflag(t));
	const struct btf_enum64 *e = btf_enum64(t);
	int err = 0, i;

	for (i = 0; id >= 0 && !err && i < btf_vlen(t); i++)
		if (is_wanted(s, name_at(s, e[i].name_off)))
			err = btf__add_enum64_value(s->to, name_at(s, e[i].name_off),
						    btf_enum64_value(&e[i]));
	return err ? err : id;
}

/* Only how many arguments there are is asked. */
static int copy_prototype(struct selection *s, const struct btf_type *t)
{
	int id = btf__add_func_proto(s->to, 0), err = 0, i;

	for (i = 0; id >= 0 && !err && i < btf_vlen(t); i++)
		err = btf__add_func_param(s->to, NULL, 0);
	return err ? err : id;
}

static int copy_referring(struct selection *s, const struct btf_type *t)
{
	const char *name = name_at(s, t->name_off);
	int to = copy(s, t->type);

	if (to < 0)
		return to;
	if (btf_is_typedef(t))
		return btf__add_typedef(s->to, name, to);
	return btf_is_func(t) ? btf__add_func(s->to, name, BTF_FUNC_GLOBAL, to) : to;
}

static int copy_type(struct selection *s, const struct btf_type *t)
{
	const char *name = name_at(s, t->name_off);

	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		return btf__add_int(s->to, name, t->size, btf_int_encoding(t));
	case BTF_KIND_FLOAT:
		return btf__add_float(s->to, name, t->size);
	case BTF_KIND_PTR:
		return copy_pointer(s, t);
	case BTF_KIND_ARRAY:
		return copy_array(s, t);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return copy_composite(s, t);
	case BTF_KIND_ENUM:
		return copy_enum(s, t);
	case BTF_KIND_ENUM64:
		return copy_enum64(s, t);
	case BTF_KIND_FUNC_PROTO:
		return copy_prototype(s, t);
	case BTF_KIND_FWD:
		return btf__add_fwd(s->to, name, btf_kflag(t) ? BTF_FWD_UNION : BTF_FWD_STRUCT);
	default: /* typedef, function, const and the like, which nothing asks for */
		return copy_referring(s, t);
	}
}

/* With what it is made of. Its id in to, or -errno. */
static int copy(struct selection *s, __u32 id)
{
	if (id && !s->ids[id])
		s->ids[id] = copy_type(s, btf__type_by_id(s->from, id));
	return id ? s->ids[id] : 0;
}

static bool selects(const struct selection *s, const struct btf_type *t)
{
	const char *name = name_at(s, t->name_off);
	size_t prefix = strlen(TRACEPOINT_PREFIX);

	if (btf_is_typedef(t) && !strncmp(name, TRACEPOINT_PREFIX, prefix))
		return is_wanted(s, name + prefix);
	return (btf_is_composite(t) || btf_is_any_enum(t) || btf_is_typedef(t) || btf_is_func(t)) &&
	       is_wanted(s, name);
}

static int copy_selected(struct selection *s)
{
	__u32 id, count = btf__type_cnt(s->from);
	int err = 0;

	for (id = 1; err >= 0 && id < count; id++)
		if (selects(s, btf__type_by_id(s->from, id)))
			err = copy(s, id);
	return err < 0 ? err : 0;
}

struct btf *types__select(const struct btf *kernel)
{
	struct selection s = {.from = kernel, .to = btf__new_empty()};
	struct sendpath *programs = programs__open();
	int err = -ENOMEM;

	s.ids = calloc(btf__type_cnt(kernel), sizeof(s.ids[0]));
	if (s.to && s.ids && programs) {
		collect_names(&s.names, bpf_object__btf(programs->obj));
		err = s.names.failed ? -ENOMEM : copy_selected(&s);
	}
	sendpath__destroy(programs);
	free(s.names.all);
	free(s.ids);
	if (!err)
		return s.to;
	btf__free(s.to);
	errno = -err;
	return NULL;
}
