// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests by which names clients may address the exporter. */
#include "tests/unit/unit.h"

#include <string.h>

#include "user/exporter/exporter.h"

static const struct exporter_options two = {.names = {"metrics", "a.example"}, .name_count = 2};

static void test_addresses_localhost_and_given_names(void **state)
{
	static const char *const hosts[] = {"127.0.0.1",     "127.0.0.1:9435", "[::1]",
					    "[fe80::1]:80",  "localhost",      "LOCALHOST:9435",
					    "metrics:65535", "A.Example",      "a.example:"};
	size_t i;

	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		assert_true(server__has_name(&two, hosts[i]));
}

static void test_other_names(void **state)
{
	static const char *const hosts[] = {"",
					    ":9435",
					    "evil.example",
					    "evil.example:9435",
					    "127.0.0.1.evil.example",
					    "127.0.0.1:9435.evil.example",
					    "127.0.0.1@evil.example",
					    "[::1",
					    "[::1].evil.example",
					    "[localhost]",
					    "[127.0.0.1]",
					    "::1",
					    "1",
					    "0x7f000001",
					    "localhost.evil.example",
					    "notlocalhost",
					    "metrics.evil.example",
					    "localhost:x",
					    "localhost localhost"};
	char longest[1024];
	size_t i;

	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		assert_false(server__has_name(&two, hosts[i]));
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	assert_false(server__has_name(&two, longest));
	assert_false(server__has_name(&(struct exporter_options){}, "metrics"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_localhost_and_given_names),
		cmocka_unit_test(test_other_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
