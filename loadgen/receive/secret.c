/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loadgen/receive/secret.h"

void secret__random(uint8_t secret[SECRET_BYTES])
{
	/* Whole for so few bytes, once the kernel has gathered enough at boot. */
	while (getrandom(secret, SECRET_BYTES, 0) != SECRET_BYTES)
		if (errno != EINTR)
			abort();
}

bool secret__equal(const uint8_t a[SECRET_BYTES], const uint8_t b[SECRET_BYTES])
{
	return memeql_sec(a, b, SECRET_BYTES);
}

static int read_file(struct key *k, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, k->of, sizeof(k->of));
	int err = n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	k->bytes = n < 0 ? 0 : (size_t)n;
	if (k->bytes && k->of[k->bytes - 1] == '\n')
		k->bytes--;
	return err;
}

int key__read(struct key *k, const char *path, struct failure *f)
{
	struct stat s;
	int err = read_file(k, path);

	if (err)
		return failure__set(f, STATUS_USAGE, err, "--key %s: %s", path, strerror(-err));
	if (!stat(path, &s) && s.st_mode & (S_IRWXG | S_IRWXO))
		return failure__set(f, STATUS_USAGE, -EPERM,
				    "--key %s: others may read it: chmod 600 %s", path, path);
	if (k->bytes < KEY_MIN)
		return failure__set(f, STATUS_USAGE, -EINVAL,
				    "--key %s: a key has %d bytes or more, such as openssl rand "
				    "-hex 32 prints",
				    path, KEY_MIN);
	return 0;
}

void key__prove(const struct key *k, const uint8_t challenge[SECRET_BYTES],
		uint8_t proof[SECRET_BYTES])
{
	struct hmac_sha256_ctx context;

	hmac_sha256_set_key(&context, k->bytes, k->of);
	hmac_sha256_update(&context, SECRET_BYTES, challenge);
	hmac_sha256_digest(&context, SECRET_BYTES, proof);
}
