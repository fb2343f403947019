/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <assert.h>
#include <endian.h>
#include <errno.h>
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

static_assert(sizeof(struct wire_hello) == 176, "older versions read as much");
static_assert(sizeof(struct wire_message) == 112, "nothing lies between its members");

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
				    "--key %s: others may read it: chmod 600 %s", path, path);
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

static void sign(size_t key_bytes, const uint8_t *key, size_t size, const void *of, uint8_t *to)
{
	struct hmac_sha256_ctx context;

	hmac_sha256_set_key(&context, key_bytes, key);
	hmac_sha256_update(&context, size, of);
	hmac_sha256_digest(&context, SECRET_BYTES, to);
}

/* Between this machine's order of bytes and the wire's, either way. */
static void reorder(struct wire_hello *h)
{
	h->version = htobe16(h->version);
	h->kind = htobe16(h->kind);
	h->slot = htobe32(h->slot);
	h->connection = htobe32(h->connection);
	h->message_bytes = htobe64(h->message_bytes);
	h->flags = htobe32(h->flags);
	h->fields = htobe32(h->fields);
	h->picked_from = htobe64(h->picked_from);
	h->seed = htobe64(h->seed);
}

static void reorder_message(struct wire_message *m)
{
	m->type = htobe32(m->type);
	m->number = htobe32(m->number);
	m->slot = htobe32(m->slot);
	m->err = (int32_t)htobe32((uint32_t)m->err);
	for (int i = 0; i < WIRE_VALUES; i++)
		m->values[i] = htobe64(m->values[i]);
}

void wire__agree(const struct key *k, const struct wire_hello *control,
		 const struct wire_hello *challenge, uint8_t secret[SECRET_BYTES])
{
	struct wire_hello both[] = {*control, *challenge};

	reorder(&both[0]);
	reorder(&both[1]);
	sign(k->bytes, k->of, sizeof(both), both, secret);
}

static void sign_hello(const struct wire_hello *h, const uint8_t *secret, uint8_t *signature)
{
	struct wire_hello bare = *h;

	memset(bare.secret, 0, sizeof(bare.secret));
	reorder(&bare);
	sign(SECRET_BYTES, secret, sizeof(bare), &bare, signature);
}

bool wire__is_signed(const struct wire_hello *h, const uint8_t secret[SECRET_BYTES])
{
	uint8_t signature[SECRET_BYTES];

	sign_hello(h, secret, signature);
	return memeql_sec(signature, h->secret, SECRET_BYTES);
}

/* What one connection is sent of hellos finds room in any send buffer. */
int wire__send_hello(int fd, struct wire_hello *h, const uint8_t *secret)
{
	struct wire_hello wire;
	ssize_t n;

	memcpy(h->magic, magic, sizeof(magic));
	h->version = WIRE_VERSION;
	if (secret)
		sign_hello(h, secret, h->secret);
	wire = *h;
	reorder(&wire);
	n = send(fd, &wire, sizeof(wire), MSG_DONTWAIT | MSG_NOSIGNAL);
	return n < 0 ? -errno : n == sizeof(wire) ? 0 : -EAGAIN;
}

int wire__open_hello(struct wire_hello *h, size_t got)
{
	if (got < WIRE_HEAD_BYTES)
		return -EAGAIN;
	if (memcmp(h->magic, magic, sizeof(magic)))
		return -EBADMSG;
	if (be16toh(h->version) == WIRE_VERSION && got < sizeof(*h))
		return -EAGAIN;
	reorder(h);
	h->text[WIRE_TEXT - 1] = '\0';
	return h->version == WIRE_VERSION ? 0 : -EPROTO;
}

int wire__read_all(int fd, void *to, size_t size, int timeout_ms)
{
	uint64_t end = now_ns() + (uint64_t)timeout_ms * 1000000;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (size) {
		uint64_t now = now_ns();
		ssize_t n;

		if (now >= end)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)((end - now) / 1000000) + 1) <= 0)
			continue; /* late, or interrupted */
		n = recv(fd, to, size, MSG_DONTWAIT);
		if (n <= 0)
			return !n || errno == ECONNRESET ? -EPIPE : -errno;
		to = (char *)to + n;
		size -= (size_t)n;
	}
	return 0;
}

int wire__read_hello(int fd, struct wire_hello *h, int timeout_ms)
{
	int err = wire__read_all(fd, h, WIRE_HEAD_BYTES, timeout_ms);

	if (!err)
		err = wire__open_hello(h, WIRE_HEAD_BYTES);
	if (err != -EAGAIN)
		return err;
	err = wire__read_all(fd, &h->kind, sizeof(*h) - WIRE_HEAD_BYTES, timeout_ms);
	return err ? err : wire__open_hello(h, sizeof(*h));
}

void wire__seal(struct wire_message *m, const uint8_t secret[SECRET_BYTES])
{
	reorder_message(m);
	sign(SECRET_BYTES, secret, offsetof(struct wire_message, signature), m, m->signature);
}

int wire__open(struct wire_message *m, const uint8_t secret[SECRET_BYTES])
{
	uint8_t signature[SECRET_BYTES];

	sign(SECRET_BYTES, secret, offsetof(struct wire_message, signature), m, signature);
	reorder_message(m);
	return memeql_sec(signature, m->signature, SECRET_BYTES) ? 0 : -EBADMSG;
}
