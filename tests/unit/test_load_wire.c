/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What goes over the wire to a receiver elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs the above */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/receive/wire.h"

static const struct wire_hello full = {
	.version = WIRE_VERSION,
	.kind = WIRE_DATA,
	.slot = 0x01020304,
	.connection = 0xfffffffe,
	.message_bytes = 1ULL << 40,
	.flags = WIRE_VERIFY | WIRE_RANDOM | WIRE_MARKS,
	.fields = 1024,
	.picked_from = 1ULL << 33,
	.seed = INT64_MAX,
	.secret = {1, [SECRET_BYTES - 1] = 255},
	.text = "Linux",
};

static void a_hello_survives(void **state)
{
	unsigned char bytes[WIRE_HELLO_BYTES];
	struct wire_hello h;

	(void)state;
	memset(&h, 0, sizeof(h)); /* what lies between its members is compared, too */
	wire__put_hello(bytes, &full);
	assert_int_equal(wire__get_hello(bytes, &h), 0);
	assert_memory_equal(&h, &full, sizeof(h));
	assert_int_equal(bytes[8], 1); /* big-endian, wherever we run */
	assert_int_equal(bytes[11], 4);
}

static void others_are_told_from_other_versions(void **state)
{
	unsigned char bytes[WIRE_HELLO_BYTES];
	struct wire_hello h;

	(void)state;
	wire__put_hello(bytes, &full);
	bytes[5] = 9;
	assert_int_equal(wire__get_hello(bytes, &h), -EPROTO);
	assert_int_equal(h.version, 9);
	bytes[0] = 'X';
	assert_int_equal(wire__get_hello(bytes, &h), -EBADMSG);
}

static void text_always_ends(void **state)
{
	unsigned char bytes[WIRE_HELLO_BYTES];
	struct wire_hello h = full;

	(void)state;
	memset(h.text, 'x', sizeof(h.text));
	wire__put_hello(bytes, &h);
	assert_int_equal(wire__get_hello(bytes, &h), 0);
	assert_int_equal(strlen(h.text), WIRE_TEXT - 1);
}

static void messages_survive_a_socket(void **state)
{
	struct wire_message m = {WIRE_STATE, 5, 6, -ENOMEM, {1, 1ULL << 63, 3}}, got;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(wire__read(pair[1], &got, 1), -ETIMEDOUT);
	assert_int_equal(wire__send(pair[0], &m), 0);
	assert_int_equal(wire__read(pair[1], &got, 1000), 0);
	assert_memory_equal(&m, &got, sizeof(m));
	assert_int_equal(write(pair[0], "half", 4), 4);
	close(pair[0]);
	assert_int_equal(wire__read(pair[1], &got, 1000), -EPIPE);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_survives),
		cmocka_unit_test(others_are_told_from_other_versions),
		cmocka_unit_test(text_always_ends),
		cmocka_unit_test(messages_survive_a_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
