/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <assert.h>
#include <endian.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loadgen/receive/wire.h"
#include "loadgen/send/sender.h"

static const char magic[] = {'S', 'P', 'L', 'G'};

static_assert(sizeof(struct wire_message) == 176, "older versions read as much");
static_assert(sizeof(struct wire_state) == sizeof(uint64_t) * REQUEST_VALUES, "its values");

int key__read(struct key *k, const char *path, struct failure *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat s = {0};
	ssize_t n = fd < 0 || fstat(fd, &s) ? -1 : read(fd, k->of, sizeof(k->of));
	int err = n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	if (err)
		return failure__set(f, STATUS_USAGE, err, "--key %s: %s", path, strerror(-err));
	if (s.st_mode & (S_IRWXG | S_IRWXO))
		return failure__set(f, STATUS_USAGE, -EPERM,
				    "--key %s: other users may read it: chmod 600 %s", path, path);
	k->bytes = (size_t)n - (n && k->of[n - 1] == '\n');
	if (k->bytes < KEY_MIN)
		return failure__set(f, STATUS_USAGE, -EINVAL,
				    "--key %s: a key has %d bytes or more, such as openssl rand "
				    "-hex 32 prints",
				    path, KEY_MIN);
	return 0;
}

void wire__random(uint8_t secret[SECRET_BYTES])
{
	if (getentropy(secret, SECRET_BYTES))
		abort();
}

static void hmac(size_t key_bytes, const uint8_t *key, size_t size, const void *of, uint8_t *to)
{
	struct hmac_sha256_ctx context;

	hmac_sha256_set_key(&context, key_bytes, key);
	hmac_sha256_update(&context, size, of);
	hmac_sha256_digest(&context, SECRET_BYTES, to);
}

/* Converts a message between host and network byte order. */
static struct wire_message reordered(struct wire_message m)
{
	m.version = htobe16(m.version);
	m.q.type = htobe32(m.q.type);
	m.q.number = htobe32(m.q.number);
	m.q.slot = htobe32(m.q.slot);
	m.q.err = (int32_t)htobe32((uint32_t)m.q.err);
	for (int i = 0; i < REQUEST_VALUES; i++)
		m.q.values[i] = htobe64(m.q.values[i]);
	return m;
}

void wire__agree(const struct key *k, const struct wire_message *control,
		 const struct wire_message *challenge, uint8_t secret[SECRET_BYTES])
{
	struct wire_message both[] = {reordered(*control), reordered(*challenge)};

	hmac(k->bytes, k->of, sizeof(both), both, secret);
}

static void sign(const struct wire_message *m, const uint8_t *secret, uint8_t *signature)
{
	struct wire_message wire = reordered(*m);

	hmac(SECRET_BYTES, secret, offsetof(struct wire_message, proof), &wire, signature);
}

bool wire__is_signed(const struct wire_message *m, const uint8_t secret[SECRET_BYTES])
{
	uint8_t signature[SECRET_BYTES];

	sign(m, secret, signature);
	return memeql_sec(signature, m->proof, SECRET_BYTES);
}

/* poll() reports room when a third of the buffer is free, or more. */
bool wire__has_room(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, timeout_ms) > 0;
}

/* Returns -EPIPE for ECONNRESET: the peer may have closed its end with unread bytes. */
static int explain_end(void)
{
	return errno == ECONNRESET ? -EPIPE : -errno;
}

int wire__send(int fd, struct wire_message *m, const uint8_t *secret)
{
	struct wire_message wire;
	ssize_t n;

	memcpy(m->magic, magic, sizeof(magic));
	m->version = WIRE_VERSION;
	if (secret)
		sign(m, secret, m->proof);
	wire = reordered(*m);
	n = send(fd, &wire, sizeof(wire), MSG_DONTWAIT | MSG_NOSIGNAL);
	return n < 0 ? explain_end() : n == sizeof(wire) ? 0 : -EAGAIN;
}

int wire__receive(int fd, struct wire_message *m, size_t *got)
{
	ssize_t n = recv(fd, (char *)m + *got, sizeof(*m) - *got, MSG_DONTWAIT);

	if (n <= 0)
		return n ? explain_end() : -EPIPE;
	*got += (size_t)n;
	if (*got < offsetof(struct wire_message, zero))
		return -EAGAIN;
	if (memcmp(m->magic, magic, sizeof(magic)))
		return -EBADMSG;
	if (be16toh(m->version) == WIRE_VERSION && *got < sizeof(*m))
		return -EAGAIN;
	*got = 0;
	*m = reordered(*m);
	m->text[WIRE_TEXT - 1] = '\0';
	return m->version == WIRE_VERSION ? 0 : -EPROTO;
}

int wire__await(int fd, struct wire_message *m, int timeout_ms)
{
	uint64_t now, end = now_ns() + (uint64_t)timeout_ms * 1000000;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t got = 0;
	int err = -EAGAIN;

	while (err == -EAGAIN && (now = now_ns()) < end)
		if (poll(&p, 1, (int)((end - now) / 1000000) + 1) > 0)
			err = wire__receive(fd, m, &got);
	return err == -EAGAIN ? -ETIMEDOUT : err;
}
