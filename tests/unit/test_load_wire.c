/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the messages to a receiver on another machine. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/receive/wire.h"

static const uint8_t secret[SECRET_BYTES] = {3, 1, 4};

static const struct wire_message full = {
	.q = {.type = REQUEST_STATE,
	      .number = 5,
	      .slot = 0x01020304,
	      .err = -ENOMEM,
	      .values = {1ULL << 40, 1ULL << 63, 3, INT64_MAX}},
	.proof = {1, [SECRET_BYTES - 1] = 255},
	.text = "Linux",
};

/* Returns a socket from which a sent message can be read, and the message as on the wire. */
static int send_message(struct wire_message *m, const uint8_t *key, struct wire_message *wire)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(wire__send(pair[0], m, key), 0);
	assert_int_equal(recv(pair[1], wire, sizeof(*wire), MSG_PEEK), sizeof(*wire));
	close(pair[0]);
	return pair[1];
}

/* Receives these bytes of a message, after *got earlier bytes. */
static int receive(const void *bytes, size_t size, struct wire_message *m, size_t *got)
{
	int pair[2], err;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(write(pair[0], (const char *)bytes + *got, size), size);
	err = wire__receive(pair[1], m, got);
	close(pair[0]);
	close(pair[1]);
	return err;
}

static void a_message_survives(void **state)
{
	struct wire_message m = full, wire, got;
	const unsigned char *bytes = (void *)&wire;
	int fd = send_message(&m, NULL, &wire);

	assert_int_equal(bytes[16], 1); /* big-endian on any machine */
	assert_int_equal(bytes[19], 4);
	assert_int_equal(wire__await(fd, &got, 1000), 0);
	assert_memory_equal(&got, &m, sizeof(m));
	assert_int_equal(got.version, WIRE_VERSION);
	close(fd);
}

static void a_message_comes_in_parts(void **state)
{
	struct wire_message m = full, wire, got;
	size_t so_far = 0;

	close(send_message(&m, NULL, &wire));
	assert_int_equal(receive(&wire, 3, &got, &so_far), -EAGAIN);
	assert_int_equal(receive(&wire, 100, &got, &so_far), -EAGAIN);
	assert_int_equal(receive(&wire, sizeof(wire) - 104, &got, &so_far), -EAGAIN);
	assert_int_equal(receive(&wire, 1, &got, &so_far), 0);
	assert_int_equal(so_far, 0); /* nothing of the next message was read */
	assert_memory_equal(&got, &m, sizeof(m));
}

static void other_programs_are_distinguished_from_other_versions(void **state)
{
	struct wire_message m = full, wire, got = {0};
	size_t so_far = 0;

	close(send_message(&m, NULL, &wire));
	((unsigned char *)&wire)[5] = 9;
	assert_int_equal(receive(&wire, 6, &got, &so_far), -EPROTO);
	assert_int_equal(got.version, 9);
	wire.magic[0] = 'X';
	so_far = 0;
	assert_int_equal(receive(&wire, 6, &got, &so_far), -EBADMSG);
}

static void text_always_ends(void **state)
{
	struct wire_message m = full, got;
	int fd;

	memset(m.text, 'x', sizeof(m.text));
	fd = send_message(&m, NULL, &got);
	assert_int_equal(wire__await(fd, &got, 1000), 0);
	assert_int_equal(strlen(got.text), WIRE_TEXT - 1);
	close(fd);
}

static void each_byte_of_a_message_is_signed(void **state)
{
	struct wire_message m = full, got;
	int fd = send_message(&m, secret, &got);

	assert_int_equal(wire__await(fd, &got, 1000), 0);
	assert_true(wire__is_signed(&got, secret));
	for (size_t i = 0; i < sizeof(got); i++) {
		((unsigned char *)&got)[i] ^= 1;
		assert_false(wire__is_signed(&got, secret));
		((unsigned char *)&got)[i] ^= 1;
	}
	close(fd);
}

static void a_secret_is_of_the_key_and_both_nonces(void **state)
{
	struct key key = {16, "0123456789abcdef"}, other = {16, "0123456789abcdeg"};
	struct wire_message control = full, challenge = full;
	uint8_t one[SECRET_BYTES], two[SECRET_BYTES];

	wire__agree(&key, &control, &challenge, one);
	wire__agree(&other, &control, &challenge, two);
	assert_memory_not_equal(one, two, SECRET_BYTES);
	control.q.values[LOAD_FLAGS] ^= WIRE_VERIFY;
	wire__agree(&key, &control, &challenge, two);
	assert_memory_not_equal(one, two, SECRET_BYTES);
	control = full;
	challenge.proof[5]++;
	wire__agree(&key, &control, &challenge, two);
	assert_memory_not_equal(one, two, SECRET_BYTES);
}

static void silence_and_ends_are_distinguished(void **state)
{
	struct wire_message got;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(wire__await(pair[1], &got, 1), -ETIMEDOUT);
	assert_int_equal(write(pair[0], "SPLG", 4), 4);
	assert_int_equal(wire__await(pair[1], &got, 1), -ETIMEDOUT);
	close(pair[0]);
	assert_int_equal(wire__await(pair[1], &got, 1000), -EPIPE);
	close(pair[1]);
}

/* Closes the far end with a byte unread, so that the kernel resets the connection. */
static int reset_connection(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), near = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(address);
	int far;

	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(connect(near, (struct sockaddr *)&address, size), 0);
	far = accept(listener, NULL, NULL);
	assert_int_equal(write(near, "", 1), 1);
	assert_int_equal(recv(far, &(char){0}, 1, MSG_PEEK), 1);
	close(far);
	close(listener);
	return near;
}

static void a_reset_connection_is_a_closed_one(void **state)
{
	int to_send = reset_connection(), to_receive = reset_connection();
	struct wire_message m = full;
	size_t so_far = 0;

	assert_int_equal(wire__send(to_send, &m, secret), -EPIPE);
	assert_int_equal(wire__receive(to_receive, &m, &so_far), -EPIPE);
	close(to_send);
	close(to_receive);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_survives),
		cmocka_unit_test(a_message_comes_in_parts),
		cmocka_unit_test(other_programs_are_distinguished_from_other_versions),
		cmocka_unit_test(text_always_ends),
		cmocka_unit_test(each_byte_of_a_message_is_signed),
		cmocka_unit_test(a_secret_is_of_the_key_and_both_nonces),
		cmocka_unit_test(silence_and_ends_are_distinguished),
		cmocka_unit_test(a_reset_connection_is_a_closed_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
