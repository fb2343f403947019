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

static const uint8_t secret[SECRET_BYTES] = {3, 1, 4};

static const struct wire_hello full = {
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

/* What is sent of a hello, as it is on the wire. */
static void send_hello(struct wire_hello *h, const uint8_t *key, struct wire_hello *wire)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(wire__send_hello(pair[0], h, key), 0);
	assert_int_equal(read(pair[1], wire, sizeof(*wire)), sizeof(*wire));
	close(pair[0]);
	close(pair[1]);
}

static void a_hello_survives(void **state)
{
	struct wire_hello h = full, got;
	const unsigned char *bytes = (void *)&got;

	(void)state;
	send_hello(&h, NULL, &got);
	assert_int_equal(bytes[8], 1); /* big-endian, wherever we run */
	assert_int_equal(bytes[11], 4);
	assert_int_equal(wire__open_hello(&got, sizeof(got)), 0);
	assert_memory_equal(&got, &h, sizeof(h));
	assert_int_equal(got.version, WIRE_VERSION);
	assert_int_equal(got.seed, full.seed);
}

static void others_are_told_from_other_versions(void **state)
{
	struct wire_hello h = full, got;

	(void)state;
	send_hello(&h, NULL, &got);
	assert_int_equal(wire__open_hello(&got, WIRE_HEAD_BYTES - 1), -EAGAIN);
	assert_int_equal(wire__open_hello(&got, sizeof(got) - 1), -EAGAIN);
	((unsigned char *)&got)[5] = 9;
	assert_int_equal(wire__open_hello(&got, WIRE_HEAD_BYTES), -EPROTO);
	assert_int_equal(got.version, 9);
	got.magic[0] = 'X';
	assert_int_equal(wire__open_hello(&got, WIRE_HEAD_BYTES), -EBADMSG);
}

static void text_always_ends(void **state)
{
	struct wire_hello h = full, got;

	(void)state;
	memset(h.text, 'x', sizeof(h.text));
	send_hello(&h, NULL, &got);
	assert_int_equal(wire__open_hello(&got, sizeof(got)), 0);
	assert_int_equal(strlen(got.text), WIRE_TEXT - 1);
}

static void each_byte_of_a_hello_is_signed(void **state)
{
	struct wire_hello h = full, got;

	(void)state;
	send_hello(&h, secret, &got);
	assert_int_equal(wire__open_hello(&got, sizeof(got)), 0);
	assert_true(wire__is_signed(&got, secret));
	for (size_t i = 0; i < sizeof(got); i++) {
		((unsigned char *)&got)[i] ^= 1;
		assert_false(wire__is_signed(&got, secret));
		((unsigned char *)&got)[i] ^= 1;
	}
}

static void a_secret_is_of_the_key_and_both_hellos(void **state)
{
	struct key key = {16, "0123456789abcdef"}, other = {16, "0123456789abcdeg"};
	struct wire_hello control = full, challenge = full;
	uint8_t one[SECRET_BYTES], two[SECRET_BYTES];

	(void)state;
	wire__agree(&key, &control, &challenge, one);
	wire__agree(&other, &control, &challenge, two);
	assert_memory_not_equal(one, two, SECRET_BYTES);
	control.flags ^= WIRE_VERIFY;
	wire__agree(&key, &control, &challenge, two);
	assert_memory_not_equal(one, two, SECRET_BYTES);
	control = full;
	challenge.secret[5]++;
	wire__agree(&key, &control, &challenge, two);
	assert_memory_not_equal(one, two, SECRET_BYTES);
}

static void each_byte_of_a_message_is_signed(void **state)
{
	struct wire_message m = {WIRE_STATE, 5, 6, -ENOMEM, {1, 1ULL << 63, 3}, {0}}, got = m;

	(void)state;
	wire__seal(&got, secret);
	for (size_t i = 0; i < sizeof(got); i++) {
		struct wire_message bad = got;

		((unsigned char *)&bad)[i] ^= 1;
		assert_int_equal(wire__open(&bad, secret), -EBADMSG);
	}
	assert_int_equal(wire__open(&got, secret), 0);
	assert_memory_equal(&got, &m, offsetof(struct wire_message, signature));
}

static void silence_and_ends_are_told_apart(void **state)
{
	char got[8];
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(wire__read_all(pair[1], got, sizeof(got), 1), -ETIMEDOUT);
	assert_int_equal(write(pair[0], "half", 4), 4);
	assert_int_equal(wire__read_all(pair[1], got, sizeof(got), 1), -ETIMEDOUT);
	close(pair[0]);
	assert_int_equal(wire__read_all(pair[1], got, sizeof(got), 1000), -EPIPE);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_survives),
		cmocka_unit_test(others_are_told_from_other_versions),
		cmocka_unit_test(text_always_ends),
		cmocka_unit_test(each_byte_of_a_hello_is_signed),
		cmocka_unit_test(a_secret_is_of_the_key_and_both_hellos),
		cmocka_unit_test(each_byte_of_a_message_is_signed),
		cmocka_unit_test(silence_and_ends_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
