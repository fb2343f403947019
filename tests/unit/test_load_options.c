/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "loadgen/options/options.h"
#include "loadgen/serving/server.h"
#include "loadgen/system/child.h"

static char why[256];

/* Sets options, given as key and value pairs, ended by NULL; then checks combinations. */
static int read_options(struct load_options *o, ...)
{
	va_list args;
	const char *name;
	int err = 0;

	load_options__init(o);
	va_start(args, o);
	while (!err && (name = va_arg(args, const char *)))
		err = load_options__set(o, name, va_arg(args, const char *), why, sizeof(why));
	va_end(args);
	return err ? err : load_options__resolve(o, why, sizeof(why));
}

/* Returns a configuration by its place in the lists, on the first link. */
static struct load cell_of(const struct load_options *o, size_t variant, size_t size,
			   size_t threads)
{
	return load_options__nth(o,
				 variant + o->variants.count * (threads + o->threads.count * size));
}

static void nothing_given_is_a_load(void **state)
{
	struct load_options o;
	struct load l;

	assert_int_equal(read_options(&o, NULL), 0);
	l = cell_of(&o, 0, 0, 0);
	assert_string_equal(l.variant, "zerocopy");
	assert_int_equal(l.message_bytes, 16384);
	assert_int_equal(l.fields, 8);
	assert_int_equal(l.threads, 1);
	assert_int_equal(l.inflight, 64);
}

static unsigned int inflight(const char *size)
{
	struct load_options o;

	assert_int_equal(read_options(&o, "size", size, NULL), 0);
	return cell_of(&o, 0, 0, 0).inflight;
}

static void as_many_bytes_are_in_flight_of_small_messages_as_of_large_ones(void **state)
{
	assert_int_equal(inflight("64"), 1024);
	assert_int_equal(inflight("4K"), 256);
	assert_int_equal(inflight("32K"), 32);
	assert_int_equal(inflight("16M"), 32);
}

static void lists_make_a_grid(void **state)
{
	struct load_options o;
	struct load l;

	assert_int_equal(
		read_options(&o, "variant", "all", "size", "256,4K,64K", "threads", "1,2,4", NULL),
		0);
	assert_int_equal(o.variants.count, 3);
	assert_false(o.every);
	assert_int_equal(o.sizes.count, 3);
	assert_int_equal(o.threads.count, 3);
	l = cell_of(&o, 1, 2, 1);
	assert_string_equal(l.variant, "onecopy");
	assert_int_equal(l.message_bytes, 65536);
	assert_int_equal(l.threads, 2);
	assert_int_equal(read_options(&o, "size", "1K,2K", "size", "4K", NULL), 0);
	assert_int_equal(o.sizes.count, 1);
}

static void links_are_what_varies_last(void **state)
{
	struct load_options o;
	struct load l;

	assert_int_equal(
		read_options(&o, "variant", "twocopy,onecopy", "link", "loopback,veth", NULL), 0);
	assert_int_equal(load_options__cells(&o), 4);
	assert_int_equal(load_options__compared(&o), 2);
	l = load_options__nth(&o, 1);
	assert_false(l.link);
	assert_string_equal(l.address, "127.0.0.1");
	l = load_options__nth(&o, 2);
	assert_true(l.link);
	assert_string_equal(l.variant, "twocopy");
	assert_string_not_equal(l.address, "127.0.0.1");
	assert_int_equal(read_options(&o, "link", "loopback,veth", "address", "::1", NULL),
			 -EINVAL);
	assert_int_equal(read_options(&o, "link", "loopback,token-ring", NULL), -EINVAL);
}

static void two_of_size_fields_and_field_size_give_the_third(void **state)
{
	struct load_options o;

	assert_int_equal(read_options(&o, "fields", "4", "field-size", "1K", NULL), 0);
	assert_int_equal(cell_of(&o, 0, 0, 0).message_bytes, 4096);
	assert_int_equal(read_options(&o, "field-size", "100", NULL), 0);
	assert_int_equal(cell_of(&o, 0, 0, 0).message_bytes, 800);
	assert_int_equal(read_options(&o, "size", "1K,4K", "field-size", "512", NULL), 0);
	assert_int_equal(cell_of(&o, 0, 1, 0).fields, 8);
	assert_int_equal(cell_of(&o, 0, 0, 0).fields, 2);
	assert_int_equal(read_options(&o, "size", "4K", "fields", "4", "field-size", "1K", NULL),
			 0);
}

static void refuses(const char *words, const char *name, const char *value)
{
	struct load_options o;

	assert_int_equal(read_options(&o, name, value, NULL), -EINVAL);
	assert_non_null(strstr(why, words));
	assert_non_null(strstr(why, value));
	assert_null(strchr(why, '\n'));
}

static void impossible_values_are_refused_by_name(void **state)
{
	refuses("--variant threecopy: unknown; there are twocopy, onecopy, zerocopy, null",
		"variant", "threecopy");
	refuses("--size", "size", "0");
	refuses("--size", "size", "63");
	refuses("--size", "size", "17M");
	refuses("--size", "size", "9E");
	refuses("--size", "size", "64,");
	refuses("--size", "size", "1K,,2K");
	refuses("--threads", "threads", "0");
	refuses("--threads", "threads", "1025");
	refuses("--fields", "fields", "0");
	refuses("--fields", "fields", "1025");
	refuses("--field-size", "field-size", "0");
	refuses("--duration", "duration", "0");
	refuses("--duration", "duration", "-1");
	refuses("--warmup", "warmup", "soon");
	refuses("--messages", "messages", "0");
	refuses("--inflight", "inflight", "0");
	refuses("--pin", "pin", "some");
	refuses("--address", "address", "localhost");
	refuses("--port", "port", "65536");
	refuses("--netns", "netns", "../x");
}

static void contradictions_are_refused(void **state)
{
	struct load_options o;

	assert_int_equal(read_options(&o, "size", "4K", "fields", "8", "field-size", "1K", NULL),
			 -EINVAL);
	assert_int_equal(read_options(&o, "size", "4K", "field-size", "1000", NULL), -EINVAL);
	assert_int_equal(read_options(&o, "size", "64", "field-size", "128", NULL), -EINVAL);
	assert_int_equal(read_options(&o, "size", "64", "fields", "65", NULL), -EINVAL);
	assert_non_null(strstr(why, "--fields 65"));
	assert_int_equal(read_options(&o, "fields", "1", "field-size", "1", NULL), -EINVAL);
	assert_int_equal(read_options(&o, "messages", "5", "duration", "1", NULL), -EINVAL);
	assert_int_equal(read_options(&o, "netns", "x", NULL), -EINVAL);
}

static void what_is_sent_from_when_and_on_what_socket(void **state)
{
	struct load_options o;
	struct load l;

	assert_int_equal(read_options(&o, "working-set", "1G", "pick", "random", "seed", "7",
				      "align", "4K", "rate", "500", "socket",
				      "nodelay,sndbuf=64K,congestion=reno,device=lo", NULL),
			 0);
	l = cell_of(&o, 0, 0, 0);
	assert_int_equal(l.working_set, 1 << 30);
	assert_int_equal(l.pick, PICK_RANDOM);
	assert_int_equal(l.seed, 7);
	assert_int_equal(l.align, 4096);
	assert_int_equal(l.rate, 500);
	assert_true(l.socket.nodelay);
	assert_false(l.socket.more);
	assert_int_equal(l.socket.sndbuf, 65536);
	assert_string_equal(l.socket.congestion, "reno");
	assert_string_equal(l.socket.device, "lo");
	assert_int_equal(read_options(&o, "socket", "nodelay", "socket", "rcvbuf=1M", NULL), 0);
	assert_false(o.load.socket.nodelay); /* a repeated option replaces the earlier one */

	refuses("--working-set", "working-set", "63");
	refuses("--working-set 16400", "working-set", "16400"); /* its fields need more room */
	refuses("--pick", "pick", "some");
	refuses("give --working-set", "pick", "random");
	refuses("--align", "align", "48");
	refuses("--align", "align", "8");
	refuses("--rate", "rate", "0");
	refuses("--socket", "socket", "nodelay=1");
	refuses("--socket", "socket", "cork");
	refuses("--socket", "socket", "congestion=0123456789abcdef");
	refuses("--socket sndbuf=", "socket", "sndbuf=0");
	refuses("sendfile", "file-dir", "/tmp");
}

static void what_a_variant_lacks_is_refused_or_left_out(void **state)
{
	struct load_options o;

	assert_int_equal(read_options(&o, "registered", "", NULL), -EINVAL);
	assert_int_equal(read_options(&o, "reuse-early", "", NULL), -EINVAL);
	assert_non_null(strstr(why, "--verify"));
	assert_int_equal(read_options(&o, "variant", "writev", "socket", "more", NULL), -EINVAL);
	assert_int_equal(read_options(&o, "variant", "sendfile,null", "huge-pages", "", NULL),
			 -EINVAL);
	assert_int_equal(read_options(&o, "variant", "every", "registered", "", "reuse-early", "",
				      "verify", "", "huge-pages", "", NULL),
			 0);
	for (size_t i = 0; i < o.variants.count; i++) {
		struct load l = cell_of(&o, i, 0, 0);

		assert_int_equal(l.registered, !strcmp(l.variant, "uring_zc"));
		assert_int_equal(l.huge_pages, !!strcmp(l.variant, "sendfile"));
		if (!strcmp(l.variant, "onecopy"))
			assert_false(l.reuse_early);
		if (!strcmp(l.variant, "splice"))
			assert_true(l.reuse_early);
	}
}

static void lists_have_an_end(void **state)
{
	struct load_options o;
	char list[3 * (LIST_MAX + 1)] = "1";

	for (int i = 1; i < LIST_MAX; i++)
		strcat(list, ",1");
	assert_int_equal(read_options(&o, "threads", list, NULL), 0);
	strcat(list, ",1");
	assert_int_equal(read_options(&o, "threads", list, NULL), -EINVAL);
}

static void processors_are_split_in_halves(void **state)
{
	struct cpus c;
	cpu_set_t allowed;

	CPU_ZERO(&allowed);
	CPU_SET(3, &allowed);
	cpus__split(&c, &allowed);
	assert_false(c.split);
	CPU_SET(5, &allowed);
	CPU_SET(9, &allowed);
	cpus__split(&c, &allowed);
	assert_true(c.split);
	assert_int_equal(CPU_COUNT(&c.sender), 1);
	assert_true(CPU_ISSET(3, &c.sender));
	assert_int_equal(CPU_COUNT(&c.receiver), 2);
}

static void models_vary_before_connections(void **state)
{
	struct load_options o;
	struct load l;

	assert_int_equal(read_options(&o, "workload", "procinfo", "server-model", "all", NULL), 0);
	assert_int_equal(load_options__cells(&o), 3 * serve_model_count);
	l = load_options__nth(&o, 1);
	assert_string_equal(l.server_model, "threaded");
	assert_int_equal(l.connections, 10);
	l = load_options__nth(&o, serve_model_count);
	assert_string_equal(l.server_model, "iterative");
	assert_int_equal(l.connections, 50);
	assert_int_equal(l.client_model, CLIENT_THREADED);
	assert_int_equal(read_options(&o, "workload", "procinfo", "connections", "10000", NULL), 0);
	assert_int_equal(load_options__nth(&o, 0).client_model, CLIENT_EPOLL);
}

static void select_is_refused_by_name_and_left_out_of_all(void **state)
{
	struct load_options o;
	struct load l;

	assert_int_equal(read_options(&o, "workload", "procinfo", "server-model", "epoll,select",
				      "connections", "10,2000", NULL),
			 -EINVAL);
	assert_non_null(strstr(why, "FD_SETSIZE"));
	assert_int_equal(read_options(&o, "workload", "procinfo", "server-model", "all",
				      "connections", "10,2000", NULL),
			 0);
	l = load_options__nth(&o, 2);
	assert_string_equal(l.server_model, "select");
	assert_null(load__impossible(&l, why, sizeof(why)));
	l = load_options__nth(&o, serve_model_count + 2);
	assert_non_null(load__impossible(&l, why, sizeof(why)));
}

static void workloads_have_separate_options(void **state)
{
	struct load_options o;

	assert_int_equal(read_options(&o, "backlog", "5", NULL), -EINVAL);
	assert_non_null(strstr(why, "--backlog"));
	assert_int_equal(read_options(&o, "workload", "procinfo", "size", "4K", NULL), -EINVAL);
	assert_non_null(strstr(why, "--size"));
	assert_int_equal(read_options(&o, "workload", "none", NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_given_is_a_load),
		cmocka_unit_test(lists_make_a_grid),
		cmocka_unit_test(links_are_what_varies_last),
		cmocka_unit_test(as_many_bytes_are_in_flight_of_small_messages_as_of_large_ones),
		cmocka_unit_test(two_of_size_fields_and_field_size_give_the_third),
		cmocka_unit_test(impossible_values_are_refused_by_name),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(what_is_sent_from_when_and_on_what_socket),
		cmocka_unit_test(what_a_variant_lacks_is_refused_or_left_out),
		cmocka_unit_test(lists_have_an_end),
		cmocka_unit_test(processors_are_split_in_halves),
		cmocka_unit_test(models_vary_before_connections),
		cmocka_unit_test(select_is_refused_by_name_and_left_out_of_all),
		cmocka_unit_test(workloads_have_separate_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
