// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which of a kernel's types are kept, and that they stay what they were. */
#include "user/kernel/types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct btf_type *find(const struct btf *btf, const char *name, __u32 kind)
{
	int id = btf__find_by_name_kind(btf, name, kind);

	return id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
}

/* Its index; -1: the type has none of this name. */
static int member_of(const struct btf *btf, const struct btf_type *t, const char *name)
{
	int i;

	for (i = 0; i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), name))
			return i;
	return -1;
}

/* struct upid {int unused; int nr; struct pid_namespace *ns; union {int unused; int level;}; } */
static int add_upid(struct btf *kernel, int number)
{
	int namespace = btf__add_struct(kernel, "pid_namespace", 64);
	int pointer = btf__add_ptr(kernel, namespace), anonymous, id;

	anonymous = btf__add_union(kernel, NULL, 4);
	btf__add_field(kernel, "no_program_has_this", number, 0, 0);
	btf__add_field(kernel, "level", number, 0, 0);
	id = btf__add_struct(kernel, "upid", 24);
	btf__add_field(kernel, "no_program_has_this", number, 0, 0);
	btf__add_field(kernel, "nr", number, 32, 0);
	btf__add_field(kernel, "ns", pointer, 64, 0);
	btf__add_field(kernel, "", anonymous, 128, 0);
	btf__add_field(kernel, "zerocopy", number, 163, 1);
	return id;
}

static void add_tracepoint(struct btf *kernel, const char *name, int number, int args)
{
	int id = btf__add_func_proto(kernel, 0);

	while (args--)
		btf__add_func_param(kernel, "argument", number);
	btf__add_typedef(kernel, name, btf__add_ptr(kernel, id));
}

static struct btf *make_kernel(void)
{
	struct btf *kernel = btf__new_empty();
	int number = btf__add_int(kernel, "int", 4, BTF_INT_SIGNED);

	add_upid(kernel, number);
	btf__add_struct(kernel, "no_program_names_this", 8);
	btf__add_enum(kernel, "sock_flags", 4);
	btf__add_enum_value(kernel, "SOCK_OTHER", 1);
	btf__add_enum_value(kernel, "SOCK_ZEROCOPY", 17);
	add_tracepoint(kernel, "btf_trace_sock_send_length", number, 4);
	add_tracepoint(kernel, "btf_trace_of_nobody", number, 2);
	btf__add_func(kernel, "tcp_sendmsg", BTF_FUNC_STATIC, btf__add_func_proto(kernel, number));
	btf__add_func(kernel, "of_nobody", BTF_FUNC_STATIC, btf__add_func_proto(kernel, number));
	return kernel;
}

static int setup(void **state)
{
	struct btf *kernel = make_kernel();

	*state = types__select(kernel);
	btf__free(kernel);
	return !*state;
}

static int teardown(void **state)
{
	btf__free(*state);
	return 0;
}

static void test_keeps_what_is_named(void **state)
{
	assert_non_null(find(*state, "upid", BTF_KIND_STRUCT));
	assert_non_null(find(*state, "tcp_sendmsg", BTF_KIND_FUNC));
	assert_null(find(*state, "no_program_names_this", BTF_KIND_STRUCT));
	assert_null(find(*state, "of_nobody", BTF_KIND_FUNC));
	assert_null(find(*state, "btf_trace_of_nobody", BTF_KIND_TYPEDEF));
}

static void test_members_stay_in_place(void **state)
{
	const struct btf_type *t = find(*state, "upid", BTF_KIND_STRUCT), *inner;
	int nr = member_of(*state, t, "nr"), bit = member_of(*state, t, "zerocopy");
	int anonymous = member_of(*state, t, "");

	assert_int_equal(t->size, 24);
	assert_int_equal(member_of(*state, t, "no_program_has_this"), -1);
	assert_int_equal(btf_member_bit_offset(t, (__u32)nr), 32);
	assert_int_equal(btf_member_bit_offset(t, (__u32)bit), 163);
	assert_int_equal(btf_member_bitfield_size(t, (__u32)bit), 1);
	inner = btf__type_by_id(*state, btf_members(t)[anonymous].type);
	assert_true(btf_is_union(inner));
	assert_int_equal(member_of(*state, inner, "level"), 0);
	assert_int_equal(btf_vlen(inner), 1);
}

static void test_pointers_end_there(void **state)
{
	const struct btf_type *t = find(*state, "upid", BTF_KIND_STRUCT);
	int ns = member_of(*state, t, "ns");
	const struct btf_type *pointer = btf__type_by_id(*state, btf_members(t)[ns].type);

	assert_true(btf_is_ptr(pointer));
	assert_int_equal(pointer->type, 0);
}

static void test_values_of_an_enum(void **state)
{
	const struct btf_type *t = find(*state, "sock_flags", BTF_KIND_ENUM);

	assert_int_equal(btf_vlen(t), 1);
	assert_int_equal(btf_enum(t)[0].val, 17);
}

static void test_arguments_of_a_tracepoint(void **state)
{
	const struct btf_type *t = find(*state, "btf_trace_sock_send_length", BTF_KIND_TYPEDEF);

	t = btf__type_by_id(*state, btf__type_by_id(*state, t->type)->type);
	assert_true(btf_is_func_proto(t));
	assert_int_equal(btf_vlen(t), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_what_is_named),
		cmocka_unit_test(test_members_stay_in_place),
		cmocka_unit_test(test_pointers_end_there),
		cmocka_unit_test(test_values_of_an_enum),
		cmocka_unit_test(test_arguments_of_a_tracepoint),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
