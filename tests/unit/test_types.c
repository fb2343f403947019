// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests the look-up of names in the kernel's types. */
#include "tests/unit/unit.h"

#include "user/kernel/types.h"

#include <stdio.h>
#include <string.h>

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

	btf__add_struct(kernel, "tcp_sendmsg", 4);
	btf__add_typedef(kernel, "sock_send_length", number);
	btf__add_typedef(kernel, "btf_trace_of_no_function", number);
	add_tracepoint(kernel, "btf_trace_sock_send_length", number, 4);
	btf__add_func(kernel, "tcp_sendmsg", BTF_FUNC_STATIC, btf__add_func_proto(kernel, number));
	btf__add_func(kernel, "tcp_sendmsg_locked", BTF_FUNC_STATIC,
		      btf__add_func_proto(kernel, number));
	btf__add_func(kernel, "tcp_sendmsg", BTF_FUNC_STATIC, btf__add_func_proto(kernel, number));
	btf__add_struct(kernel, "fp", 8);
	return kernel;
}

static struct kernel_type find_type(const char *name, enum type_kind kind)
{
	struct kernel_type types[] = {{.name = "absent", .kind = kind},
				      {.name = name, .kind = kind}};
	struct btf *kernel = make_kernel();

	types__find(kernel, types, 2);
	assert_int_equal(types[0].id, 0);
	assert_int_equal(types[0].args, -1);
	/* libbpf, too, finds the first type of this name. */
	if (types[1].id && kind != TYPE_TRACEPOINT)
		assert_int_equal(types[1].id,
				 btf__find_by_name_kind(kernel, name,
							kind == TYPE_FUNCTION ? BTF_KIND_FUNC
									      : BTF_KIND_STRUCT));
	btf__free(kernel);
	return types[1];
}

static void test_kinds_are_distinguished(void **state)
{
	assert_int_not_equal(find_type("tcp_sendmsg", TYPE_FUNCTION).id, 0);
	assert_int_not_equal(find_type("tcp_sendmsg", TYPE_STRUCT).id, 0);
	assert_int_not_equal(find_type("fp", TYPE_STRUCT).id, 0);
	assert_int_equal(find_type("fp", TYPE_FUNCTION).id, 0);
	assert_int_equal(find_type("tcp_sendmsg", TYPE_TRACEPOINT).id, 0);
	assert_int_equal(find_type("tcp_sendms", TYPE_FUNCTION).id, 0);
}

static void test_arguments_of_a_tracepoint(void **state)
{
	assert_int_equal(find_type("sock_send_length", TYPE_TRACEPOINT).args, 3);
	assert_int_equal(find_type("of_no_function", TYPE_TRACEPOINT).args, -1);
	assert_int_equal(find_type("tcp_sendmsg", TYPE_FUNCTION).args, -1);
}

static int add_struct(struct btf *btf, const char *name, int member)
{
	int id = btf__add_struct(btf, name, 8);

	btf__add_field(btf, "member", member, 0, 0);
	return id;
}

/* Returns the kernel's types that remain for programs that read struct outer. */
static struct btf *keep_outer(struct btf *kernel)
{
	struct btf *programs = btf__new_empty(), *needed;
	FILE *file = tmpfile();
	char path[32];

	assert_non_null(file);
	btf__add_struct(programs, "outer___older", 8);
	types__keep(kernel);
	assert_int_equal(types__write_needed(fileno(file), programs), 0);
	types__keep(NULL);
	btf__free(programs);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	needed = btf__parse(path, NULL);
	assert_non_null(needed);
	fclose(file);
	return needed;
}

static void test_needed_types_keep_their_numbers(void **state)
{
	struct btf *kernel = make_kernel(), *needed;
	int first = btf__find_by_name_kind(kernel, "fp", BTF_KIND_STRUCT);
	int inner = add_struct(kernel, "inner", btf__add_ptr(kernel, first));
	int outer = add_struct(kernel, "outer", btf__add_typedef(kernel, "alias", inner));
	const struct btf_member *member;

	add_struct(kernel, "last", outer);
	needed = keep_outer(kernel);
	assert_int_equal(btf__type_cnt(needed), outer + 1);
	assert_int_equal(btf__find_by_name_kind(needed, "outer", BTF_KIND_STRUCT), outer);
	assert_int_equal(btf__find_by_name_kind(needed, "inner", BTF_KIND_STRUCT), inner);
	assert_int_equal(
		btf__resolve_type(needed, btf_members(btf__type_by_id(needed, outer))->type),
		inner);
	member = btf_members(btf__type_by_id(needed, inner));
	assert_string_equal(btf__name_by_offset(needed, member->name_off), "member");
	assert_true(btf_is_ptr(btf__type_by_id(needed, member->type)));
	assert_int_equal(btf__type_by_id(needed, first)->name_off, 0);
	btf__free(needed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_are_distinguished),
		cmocka_unit_test(test_arguments_of_a_tracepoint),
		cmocka_unit_test(test_needed_types_keep_their_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
