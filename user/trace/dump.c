// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/tracer_private.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The form in which the elements of a map are written. */
enum how {
	DUMP_ELEMENTS, /* each by itself; of a per-CPU map, the sum over the CPUs */
	DUMP_FIRST,    /* the only element */
	DUMP_PAIRS,    /* key and value of a hash */
	DUMP_SHARES,   /* the sum over shares */
};

static const struct dumped {
	const char *map;
	enum how how;
} dumped[] = {
	{"totals", DUMP_FIRST},
	{"calls", DUMP_ELEMENTS},
	{"cause_infos", DUMP_PAIRS},
	{"cause_counters", DUMP_ELEMENTS},
	{"spans", DUMP_ELEMENTS},
	{"pinned_peaks", DUMP_FIRST},
	{"uring_pinned_peaks", DUMP_FIRST},
	{"stage_slots", DUMP_SHARES},
	{"groups", DUMP_PAIRS},
	{"peers", DUMP_PAIRS},
	{"uring_requests", DUMP_ELEMENTS},
	{"group_paths", DUMP_PAIRS},
	{"send_shapes", DUMP_ELEMENTS},
	{"send_waits", DUMP_ELEMENTS},
};

static const char *const variables[] = {"pinned",     "uring_pinned",	"groups_rest",
					"peers_rest", "refusal_limits", "open_queues"};

struct writer {
	const struct btf *btf;
	FILE *out;
	bool sparse; /* leaves out members that are 0 */
};

static const struct btf_type *type_of(const struct btf *btf, __u32 id)
{
	return btf__type_by_id(btf, (__u32)btf__resolve_type(btf, id));
}

static bool is_zero(const char *data, size_t size)
{
	return !size || (!data[0] && !memcmp(data, data + 1, size - 1));
}

static __u64 number_at(const void *data, size_t size)
{
	__u64 n = 0;

	memcpy(&n, data, size); /* little-endian, as all supported machines */
	return n;
}

void dump__text(FILE *out, const char *text, size_t size)
{
	fputc('"', out);
	for (; size && *text; size--, text++)
		if (*text >= ' ' && *text <= '~' && *text != '"' && *text != '\\')
			fputc(*text, out);
		else
			fprintf(out, "\\u%04x", (unsigned char)*text);
	fputc('"', out);
}

static void write_value(const struct writer *w, __u32 id, const char *data);

static void write_array(const struct writer *w, const struct btf_array *array, const char *data)
{
	const struct btf_type *element = type_of(w->btf, array->type);
	size_t size = (size_t)btf__resolve_size(w->btf, array->type);
	const char *separator = "";

	if (size == 1 && btf_int_encoding(element) & (BTF_INT_CHAR | BTF_INT_SIGNED)) {
		dump__text(w->out, data, array->nelems);
		return;
	}
	fputc('{', w->out);
	for (__u32 i = 0; i < array->nelems; i++, data += size) {
		if (is_zero(data, size))
			continue;
		fprintf(w->out, "%s\"%u\":", separator, i);
		write_value(w, array->type, data);
		separator = ",";
	}
	fputc('}', w->out);
}

static void write_struct(const struct writer *w, const struct btf_type *type, const char *data)
{
	const struct btf_member *member = btf_members(type);
	const char *separator = "";

	fputc('{', w->out);
	for (__u32 i = 0; i < btf_vlen(type); i++, member++) {
		const char *value = data + btf_member_bit_offset(type, i) / 8;

		if (w->sparse && is_zero(value, (size_t)btf__resolve_size(w->btf, member->type)))
			continue;
		fprintf(w->out, "%s\"%s\":", separator,
			btf__name_by_offset(w->btf, member->name_off));
		write_value(w, member->type, value);
		separator = ",";
	}
	fputc('}', w->out);
}

static void write_value(const struct writer *w, __u32 id, const char *data)
{
	const struct btf_type *type = type_of(w->btf, id);

	if (btf_is_array(type))
		write_array(w, btf_array(type), data);
	else if (btf_is_struct(type))
		write_struct(w, type, data);
	else
		fprintf(w->out, "%llu", (unsigned long long)number_at(data, type->size));
}

static void add_value(const struct btf *btf, __u32 id, char *to, const char *from);

static void add_array(const struct btf *btf, const struct btf_array *array, char *to,
		      const char *from)
{
	size_t size = (size_t)btf__resolve_size(btf, array->type);

	/* Most buckets of a histogram are zero. */
	for (__u32 i = 0; i < array->nelems; i++)
		if (!is_zero(from + i * size, size))
			add_value(btf, array->type, to + i * size, from + i * size);
}

/* Merges a bound. A minimum of 0 means that there is none, or that the first bucket has values. */
static void add_bound(const char *name, char *to, const char *from)
{
	__u64 a = number_at(to, sizeof(a)), b = number_at(from, sizeof(b));

	if (name[1] == 'i' ? b && (!a || b < a) : b > a)
		memcpy(to, from, sizeof(b));
}

/* Adds members, except bounds: those named min or max, and all members of a peak. */
static void add_struct(const struct btf *btf, const struct btf_type *type, char *to,
		       const char *from)
{
	bool peak = !strcmp(btf__name_by_offset(btf, type->name_off), "pinned_peak");
	const struct btf_member *member = btf_members(type);
	const char *name;
	__u32 i, offset;

	for (i = 0; i < btf_vlen(type); i++, member++) {
		name = peak ? "max" : btf__name_by_offset(btf, member->name_off);
		offset = btf_member_bit_offset(type, i) / 8;
		if (!strcmp(name, "min") || !strcmp(name, "max"))
			add_bound(name, to + offset, from + offset);
		else
			add_value(btf, member->type, to + offset, from + offset);
	}
}

static void add_value(const struct btf *btf, __u32 id, char *to, const char *from)
{
	const struct btf_type *type = type_of(btf, id);
	__u64 sum;

	if (btf_is_array(type)) {
		add_array(btf, btf_array(type), to, from);
	} else if (btf_is_struct(type)) {
		add_struct(btf, type, to, from);
	} else {
		sum = number_at(to, type->size) + number_at(from, type->size);
		memcpy(to, &sum, type->size);
	}
}

size_t tracer__stride(const struct bpf_map *map)
{
	return (bpf_map__value_size(map) + 7) / 8 * 8;
}

size_t tracer__parts(const struct bpf_map *map)
{
	return bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_ARRAY ? (size_t)libbpf_num_possible_cpus()
							       : 1;
}

/* Sums an element over the CPUs, or over shares, which are `count` elements apart. 0 or -errno. */
static int read_element(const struct writer *w, const struct bpf_map *map, __u32 index, __u32 count,
			char *sum, char *buffer)
{
	size_t size = bpf_map__value_size(map), stride = tracer__stride(map);
	size_t parts = tracer__parts(map), i;
	__u32 type = bpf_map__btf_value_type_id(map);
	int err = 0;

	memset(sum, 0, size);
	for (; index < bpf_map__max_entries(map) && !err; index += count) {
		err = bpf_map__lookup_elem(map, &index, sizeof(index), buffer, parts * stride, 0);
		for (i = 0; i < parts && !err; i++)
			if (!is_zero(buffer + i * stride, size))
				add_value(w->btf, type, sum, buffer + i * stride);
	}
	return err;
}

int tracer__sum(struct tracer *t, const char *name, __u32 index, void *sum)
{
	struct writer w = {.btf = bpf_object__btf(t->skel->obj)};
	const struct bpf_map *map = bpf_object__find_map_by_name(t->skel->obj, name);
	char *buffer = malloc(tracer__stride(map) * tracer__parts(map));
	int err = buffer ? read_element(&w, map, index, bpf_map__max_entries(map), sum, buffer)
			 : -ENOMEM;

	free(buffer);
	return err;
}

static int write_elements(const struct writer *w, const struct bpf_map *map, __u32 count,
			  bool the_only, char *sum, char *buffer)
{
	const char *separator = "";
	int err = 0;

	for (__u32 i = 0; i < count && !err; i++) {
		err = read_element(w, map, i, count, sum, buffer);
		if (err || (!the_only && is_zero(sum, bpf_map__value_size(map))))
			continue;
		if (!the_only)
			fprintf(w->out, "%s\"%u\":", separator, i);
		write_value(w, bpf_map__btf_value_type_id(map), sum);
		separator = ",";
	}
	return err;
}

/* Writes keys and values, without an element that a program removes meanwhile. */
static int write_pairs(const struct writer *w, const struct bpf_map *map, char *value)
{
	size_t key_size = bpf_map__key_size(map), size = bpf_map__value_size(map);
	char *key = calloc(2, key_size), *next = key + key_size, *before = NULL;
	const char *separator = "";
	int err = key ? 0 : -ENOMEM;

	while (!err && !bpf_map__get_next_key(map, before, next, key_size)) {
		before = memcpy(key, next, key_size);
		if (bpf_map__lookup_elem(map, key, key_size, value, size, 0))
			continue;
		fprintf(w->out, "%s[", separator);
		write_value(w, bpf_map__btf_key_type_id(map), key);
		fputc(',', w->out);
		write_value(w, bpf_map__btf_value_type_id(map), value);
		fputc(']', w->out);
		separator = ",";
	}
	free(key);
	return err;
}

static int write_map(const struct writer *w, const struct bpf_map *map, enum how how, __u32 shares)
{
	char *sum = malloc(tracer__stride(map));
	char *buffer = malloc(tracer__stride(map) * tracer__parts(map));
	int err = sum && buffer ? 0 : -ENOMEM;
	__u32 count = bpf_map__max_entries(map) / (how == DUMP_SHARES ? shares : 1);
	const char *frame = how == DUMP_FIRST ? "" : how == DUMP_PAIRS ? "[]" : "{}";

	fprintf(w->out, "%.1s", frame);
	if (!err)
		err = how == DUMP_PAIRS
			      ? write_pairs(w, map, sum)
			      : write_elements(w, map, count, how == DUMP_FIRST, sum, buffer);
	fprintf(w->out, "%s", frame[0] ? frame + 1 : "");
	free(sum);
	free(buffer);
	return err;
}

/* Writes a variable of the loaded programs; data is their section of variables. */
static void write_variable(const struct writer *w, const struct bpf_map *bss, const char *name,
			   const char *data)
{
	const struct btf_type *section = btf__type_by_id(w->btf, bpf_map__btf_value_type_id(bss));
	const struct btf_var_secinfo *place = btf_var_secinfos(section);
	const struct btf_type *variable;

	for (__u32 i = 0; i < btf_vlen(section); i++, place++) {
		variable = btf__type_by_id(w->btf, place->type);
		if (strcmp(btf__name_by_offset(w->btf, variable->name_off), name))
			continue;
		fprintf(w->out, ",\"%s\":", name);
		write_value(w, variable->type, data + place->offset);
	}
}

static int dump(struct tracer *t, enum counted what, FILE *out)
{
	size_t maps = what == ALL_COUNTS ? sizeof(dumped) / sizeof(dumped[0]) : 2;
	struct writer w = {.btf = bpf_object__btf(t->skel->obj), .out = out};
	const struct bpf_map *map;
	int err = 0;

	fprintf(out, "{\"in_sends\":%llu", (unsigned long long)tracer__in_sends(t));
	for (size_t i = 0; i < maps && !err; i++) {
		map = bpf_object__find_map_by_name(t->skel->obj, dumped[i].map);
		if (bpf_map__fd(map) < 0)
			continue;
		fprintf(out, ",\"%s\":", dumped[i].map);
		err = write_map(&w, map, dumped[i].how, t->skel->rodata->stage_shares);
	}
	for (size_t i = 0; what == ALL_COUNTS && i < sizeof(variables) / sizeof(variables[0]); i++)
		write_variable(&w, t->skel->maps.bss, variables[i], (const char *)t->skel->bss);
	fputc('}', out);
	return err;
}

char *tracer__dump(struct tracer *t, enum counted what)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int err = out ? dump(t, what, out) : -ENOMEM;

	if (out && fclose(out))
		err = -errno;
	if (!err)
		return text;
	free(text);
	return NULL;
}

void tracer__write_group(struct tracer *t, const struct group_key *key, const struct group *counts,
			 FILE *out)
{
	struct writer w = {.btf = bpf_object__btf(t->skel->obj), .out = out, .sparse = true};
	const struct bpf_map *map = t->skel->maps.groups;
	char path[CGROUP_TEXT_MAX];

	tracer__group_path(t, key, path);
	fputc('[', out);
	write_value(&w, bpf_map__btf_key_type_id(map), (const char *)key);
	fputc(',', out);
	write_value(&w, bpf_map__btf_value_type_id(map), (const char *)counts);
	fputc(',', out);
	dump__text(out, path, sizeof(path));
	fputc(']', out);
}
