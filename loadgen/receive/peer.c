/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "common/units.h"
#include "loadgen/data/dataset.h"
#include "loadgen/load.h"
#include "loadgen/receive/peer.h"
#include "loadgen/system/listener.h"

#define HELLO_TIMEOUT_MS 5000
#define TRIES		 8

static int fail(const struct load *load, int err, const char *why, struct failure *f)
{
	return failure__set(f, STATUS_FAILED, err, "--peer %s: %s", load->peer, why);
}

static int explain(const struct load *load, const struct wire_hello *h, int err, struct failure *f)
{
	if (err == -EPROTO)
		return failure__set(
			f, STATUS_FAILED, err,
			"--peer %s: it speaks version %u, we speak %u: install the same "
			"version on both machines",
			load->peer, h->version, WIRE_VERSION);
	return fail(load, err,
		    err == -ETIMEDOUT ? "it does not answer: is it loadgen serve?"
		    : err == -EPIPE   ? "it closed the connection: is it loadgen serve?"
		    : err == -EBADMSG ? "what answers there is not loadgen serve"
				      : strerror(-err),
		    f);
}

/* Sends a hello, with or without a signature, and reads what answers it. */
static int exchange(int fd, struct wire_hello *said, const uint8_t *secret, struct wire_hello *h,
		    const struct load *load, struct failure *f)
{
	char text[WIRE_TEXT];
	int err = wire__send_hello(fd, said, secret);

	if (!err)
		err = wire__read_hello(fd, h, HELLO_TIMEOUT_MS);
	if (err)
		return explain(load, h, err, f);
	if (h->kind != WIRE_REFUSED)
		return 0;
	return failure__set(f, STATUS_FAILED, -ECONNREFUSED, "--peer %s: it refuses: %s",
			    load->peer, safe_text(h->text, text, sizeof(text)));
}

/* Did it accept what was said, and does it sign that as who knows the secret? */
static int check_accepted(const struct wire_hello *said, const uint8_t *secret,
			  const struct wire_hello *h, const struct load *load, struct failure *f)
{
	if (h->kind != WIRE_ACCEPTED || h->slot != said->slot || h->connection != said->connection)
		return fail(load, -EPROTO, "what it answers cannot be: is it loadgen serve?", f);
	if (secret && !wire__is_signed(h, secret))
		return fail(load, -EACCES, "it does not prove that it has the --key", f);
	return 0;
}

/* With a key, each end proves to the other that it has it, for this load. */
static int agree(struct peer *p, int fd, struct wire_hello *control, struct wire_hello *h,
		 const struct load *load, struct failure *f)
{
	struct wire_hello proof = {.kind = WIRE_PROOF};
	struct key key;
	int err = load->key ? key__read(&key, load->key, f) : 0;

	if (!err)
		err = exchange(fd, control, NULL, h, load, f);
	if (err)
		return err;
	if (h->kind != WIRE_CHALLENGE)
		return load->key ? fail(load, -EACCES,
					"it asks for no key: give it the same --key, or leave "
					"--key out here",
					f)
				 : 0;
	if (!load->key)
		return fail(load, -EACCES, "it asks for a key: give --key FILE, the same as there",
			    f);
	wire__agree(&key, control, h, p->secret);
	return exchange(fd, &proof, p->secret, h, load, f);
}

int peer__greet(struct peer *p, int fd, const struct load *load, struct failure *f)
{
	struct picker picker = dataset__picker(load);
	struct wire_hello control = {
		.kind = WIRE_CONTROL,
		.slot = load->threads,
		.message_bytes = load->message_bytes,
		.flags = (load->verify ? WIRE_VERIFY : 0) | (picker.random ? WIRE_RANDOM : 0) |
			 (load->rcvlowat > 1 ? WIRE_MARKS : 0),
		.fields = picker.fields,
		.picked_from = picker.count,
		.seed = picker.seed,
	};
	struct wire_hello h = {0};
	int err;

	wire__random(control.secret);
	err = agree(p, fd, &control, &h, load, f);
	if (!err)
		err = check_accepted(&control, load->key ? p->secret : NULL, &h, load, f);
	if (!load->key)
		memcpy(p->secret, h.secret, sizeof(p->secret));
	safe_text(h.text, p->machine, sizeof(p->machine));
	return err;
}

static int try(struct peer *p, struct listener *l, const struct load *load, struct failure *f)
{
	struct load plain = *load; /* what is set on sockets is for the messages' */
	struct failure why = {0};
	int err;

	plain.socket = (struct socket_options){0};
	l->fd = listener__connect(l, &plain, &why);
	if (l->fd < 0)
		return failure__set(f, STATUS_FAILED, l->fd,
				    "--peer %s: cannot connect: %s: does loadgen serve run there?",
				    load->peer, strerror(-l->fd));
	err = peer__greet(p, l->fd, load, f);
	if (err)
		listener__close(l);
	return err;
}

/* One that has many strangers may close the connection of who had no time yet to say who it is. */
int peer__open(struct peer *p, struct listener *l, const struct load *load, struct failure *f)
{
	char host[256], port[8];
	int err = units__endpoint(load->peer, host, sizeof(host), port);

	*l = (struct listener){.fd = -1};
	if (err)
		return fail(load, err, "give HOST:PORT", f);
	err = listener__resolve(l, host, port, 0);
	if (err)
		return fail(load, -EINVAL, gai_strerror(err), f);
	for (int i = 0; i < TRIES && (!i || err == -EPIPE); i++) {
		*f = (struct failure){0};
		err = try(p, l, load, f);
	}
	return err;
}

int peer__introduce(const struct peer *p, int fd, unsigned int slot, uint32_t connection,
		    const struct load *load, struct failure *f)
{
	struct wire_hello h = {0},
			  said = {.kind = WIRE_DATA, .slot = slot, .connection = connection};
	int err = exchange(fd, &said, p->secret, &h, load, f);

	return err ? err : check_accepted(&said, p->secret, &h, load, f);
}
