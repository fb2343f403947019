/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests pure parts of many connections: processes, models, the protocol's counters. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "loadgen/serving/server.h"
#include "loadgen/system/netstat.h"

static const char rest[] = " S 1 1 1 0 -1 4194560 7 8 9 10 1250 250 3 4 20 0 1 0 5";

static int parse(const char *head, struct procinfo *p)
{
	char line[256];

	strcpy(line, head);
	strcat(line, rest);
	return procinfo__parse(line, p);
}

static void a_name_may_hold_anything(void **state)
{
	struct procinfo p;

	assert_int_equal(parse("42 (a) b (c)", &p), 0);
	assert_int_equal(p.pid, 42);
	assert_string_equal(p.name, "a) b (c");
	assert_int_equal(p.user, 1250);
	assert_int_equal(p.system, 250);
	assert_int_equal(parse("7 (0123456789abcdefgh)", &p), 0);
	assert_string_equal(p.name, "0123456789abcde");
	assert_int_equal(procinfo__parse("", &p), -EINVAL);
	assert_int_equal(procinfo__parse("1 (x) S 1", &p), -EINVAL);
	assert_int_equal(procinfo__parse(")1(", &p), -EINVAL);
}

static void the_most_cpu_time_comes_first(void **state)
{
	static const unsigned long long times[] = {5, 9, 1, 9, 30};
	struct procinfo top[PROCINFO_TOP];
	char text[PROCINFO_TEXT];
	size_t count = 0, length;

	for (int i = 0; i < 5; i++) {
		struct procinfo p = {.pid = i, .name = "x\n", .user = times[i]};

		count = procinfo__keep(top, count, &p);
	}
	assert_int_equal(count, PROCINFO_TOP);
	assert_int_equal(top[0].pid, 4);
	assert_int_equal(top[1].pid, 1); /* of equal processes, the first stays first */
	length = procinfo__text(top, count, text);
	assert_int_equal(length, strlen(text));
	assert_string_equal(strchr(text, '\n') + 1, "1 x? 0.09 0.00\n");
}

static void every_model_is_complete(void **state)
{
	for (size_t i = 0; i < serve_model_count; i++) {
		const struct serve_model *m = &serve_models[i];

		assert_true(m->name && m->name[0] && m->serve);
		assert_null(strchr(m->name, ','));
		assert_ptr_equal(serve_model__find(m->name), m);
		assert_true(!m->most || m->limit);
	}
	assert_null(serve_model__find("all")); /* "all" is a word of the option, not a model */
	assert_null(serve_model__find("forked"));
}

static void protocol_counters_are_differences(void **state)
{
	struct netstat before = {.read = true}, after = {.read = true};
	struct json_object *o, *value;

	netstat__parse(&before, "TcpExt: Other ListenDrops TCPSynRetrans\n", "TcpExt: -1 7 100\n");
	netstat__parse(&after, "TcpExt: Other ListenDrops TCPSynRetrans\n", "TcpExt: -1 9 100\n");
	netstat__parse(&after, "Tcp: RetransSegs\n", "Udp: 5\n"); /* the two lines are not a pair */
	o = netstat__json(&before, &after);
	assert_true(json_object_object_get_ex(o, "listen_drops", &value));
	assert_int_equal(json_object_get_int(value), 2);
	assert_true(json_object_object_get_ex(o, "syn_retransmits", &value));
	assert_int_equal(json_object_get_int(value), 0);
	assert_true(json_object_object_get_ex(o, "retransmits", &value));
	assert_null(value); /* unknown is not 0 */
	json_object_put(o);
	before.read = false;
	assert_null(netstat__json(&before, &after));
}

static int64_t count_of(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(o, key, &value));
	return json_object_get_int64(value);
}

static void sockets_are_summed_and_bounded(void **state)
{
	struct tcp_state none = {0}, a = {.info = {.tcpi_total_retrans = 3,
						   .tcpi_snd_cwnd = 10,
						   .tcpi_rtt = 50,
						   .tcpi_snd_mss = 1460},
					  .congestion = "reno"};
	struct tcp_state b = {.info = {.tcpi_total_retrans = 5,
				       .tcpi_snd_cwnd = 4,
				       .tcpi_rtt = 20,
				       .tcpi_snd_mss = 536}};
	struct tcp_sockets all = {0};
	struct json_object *o;

	assert_null(tcp_sockets__json(&all));
	tcp_sockets__add_socket(&all, &none, &a);
	tcp_sockets__add_socket(&all, &a, &b);
	o = tcp_sockets__json(&all);
	assert_int_equal(count_of(o, "sockets"), 2);
	assert_int_equal(count_of(o, "retransmits"), 5);
	assert_int_equal(count_of(o, "cwnd_min"), 4);
	assert_int_equal(count_of(o, "cwnd_mean"), 7);
	assert_int_equal(count_of(o, "cwnd_max"), 10);
	assert_int_equal(count_of(o, "rtt_max_us"), 50);
	assert_int_equal(count_of(o, "mss_min"), 536);
	assert_string_equal(all.congestion, "reno");
	json_object_put(o);
}

static void a_count_of_the_kernel_may_wrap_around(void **state)
{
	struct tcp_state before = {.info = {.tcpi_total_retrans = UINT32_MAX}},
			 after = {.info = {.tcpi_total_retrans = 2}};
	struct tcp_sockets all = {0};
	struct json_object *o;

	tcp_sockets__add_socket(&all, &before, &after);
	o = tcp_sockets__json(&all);
	assert_int_equal(count_of(o, "retransmits"), 3);
	json_object_put(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_may_hold_anything),
		cmocka_unit_test(the_most_cpu_time_comes_first),
		cmocka_unit_test(every_model_is_complete),
		cmocka_unit_test(protocol_counters_are_differences),
		cmocka_unit_test(sockets_are_summed_and_bounded),
		cmocka_unit_test(a_count_of_the_kernel_may_wrap_around),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
