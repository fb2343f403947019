/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests that the analyzer passes a load to the load generator without losing an option. */
#include "tests/unit/unit.h"

#include <argp.h>
#include <string.h>

#include "loadgen/options/options.h"
#include "user/run/generator.h"

static const char *const messages[] = {
	"--workload=stream",
	"--variant=sendfile",
	"--size=65536",
	"--fields=1",
	"--threads=3",
	"--inflight=7",
	"--rcvlowat=5",
	"--verify",
	"--working-set=1048576",
	"--pick=random",
	"--seed=9",
	"--align=4096",
	"--file-dir=/tmp",
	"--rate=1000",
	"--socket=nodelay,sndbuf=1048576,rcvbuf=1048576,congestion=fifteen_letters,device=veth0",
	"--warmup=0.500000000",
	"--messages=12",
	"--pin=none",
	"--address=::1",
	"--port=4000",
	"--netns=there",
};

static const char *const borrowed[] = {
	"--variant=uring_zc", "--registered",  "--reuse-early", "--verify",
	"--huge-pages",	      "--socket=more", "--link=veth",	"--duration=2.000000000",
};

static const char *const elsewhere[] = {"--variant=onecopy", "--peer=there:5000",
					"--key=/there/key"};

static const char *const served[] = {
	"--workload=procinfo",	"--server-model=epoll", "--connections=2000",
	"--client-model=epoll", "--backlog=9",
};

static struct load_options parsed(const char *const *given, size_t count)
{
	char *argv[64] = {(char *)"loadgen"};
	struct load_options o;

	memcpy(&argv[1], given, count * sizeof(*given));
	assert_int_equal(argp_parse(&load_argp, (int)count + 1, argv, ARGP_NO_EXIT, NULL, &o), 0);
	return o;
}

/* Asserts that the arguments have each given option, and that they give the same load. */
static void survives(const char *const *given, size_t count)
{
	struct load_options o = parsed(given, count), again;
	struct load load = load_options__nth(&o, 0);
	struct load_arguments a, b;

	assert_int_equal(load_arguments__fill(&a, "loadgen", &load, 42), 0);
	assert_null(a.values[a.count]);
	assert_string_equal(a.values[a.count - 1], "--control=42");
	for (size_t i = 0; i < count; i++) {
		size_t j = 0;

		while (j < a.count && strcmp(a.values[j], given[i]))
			j++;
		if (j == a.count)
			fail_msg("%s is lost", given[i]);
	}
	again = parsed((const char *const *)a.values + 1, a.count - 2);
	load = load_options__nth(&again, 0);
	assert_int_equal(load_arguments__fill(&b, "loadgen", &load, 42), 0);
	assert_int_equal(a.count, b.count);
	for (size_t i = 0; i < a.count; i++)
		assert_string_equal(a.values[i], b.values[i]);
	load_arguments__free(&a);
	load_arguments__free(&b);
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void every_option_of_a_load_is_passed_on(void **state)
{
	survives(messages, COUNT(messages));
	survives(borrowed, COUNT(borrowed));
	survives(elsewhere, COUNT(elsewhere));
	survives(served, COUNT(served));
}

/* Skips --field-size, because only the number of fields that follows from it is passed on. */
static void no_option_is_forgotten_here(void **state)
{
	const struct {
		const char *const *given;
		size_t count;
	} all[] = {{messages, COUNT(messages)},
		   {borrowed, COUNT(borrowed)},
		   {elsewhere, COUNT(elsewhere)},
		   {served, COUNT(served)}};

	for (const struct argp_option *o = load_argp.options; o->name || o->doc; o++) {
		bool found = !o->name || !strcmp(o->name, "field-size");

		for (size_t i = 0; i < COUNT(all); i++)
			for (size_t j = 0; j < all[i].count; j++)
				found |= o->name &&
					 !strncmp(all[i].given[j] + 2, o->name, strlen(o->name));
		if (!found)
			fail_msg("--%s", o->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_option_of_a_load_is_passed_on),
		cmocka_unit_test(no_option_is_forgotten_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
