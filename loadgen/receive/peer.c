/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/program.h"
#include "common/units.h"
#include "loadgen/data/dataset.h"
#include "loadgen/load.h"
#include "loadgen/receive/listener.h"
#include "loadgen/receive/peer.h"

#define HELLO_TIMEOUT_MS 5000

static int resolve(struct listener *l, const struct load *load, struct failure *f)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
	char host[256], port[8];
	int err = units__endpoint(load->peer, host, sizeof(host), port);

	if (!err)
		err = getaddrinfo(host, port, &hints, &found);
	if (err)
		return failure__set(f, STATUS_FAILED, -EINVAL, "--peer %s: %s", load->peer,
				    err == -EINVAL ? "give HOST:PORT" : gai_strerror(err));
	memcpy(&l->address, found->ai_addr, found->ai_addrlen);
	l->length = found->ai_addrlen;
	l->port = listener__port_of(&l->address);
	freeaddrinfo(found);
	return 0;
}

static int refused(const struct load *load, const struct wire_hello *h, int err, struct failure *f)
{
	char text[WIRE_TEXT];

	if (err == -EPROTO)
		return failure__set(
			f, STATUS_FAILED, err,
			"--peer %s: it speaks version %u, we speak %u: install the same "
			"version on both machines",
			load->peer, h->version, WIRE_VERSION);
	if (err)
		return failure__set(f, STATUS_FAILED, err, "--peer %s: %s", load->peer,
				    err == -ETIMEDOUT ? "it does not answer: is it loadgen serve?"
				    : err == -EPIPE
					    ? "it closed the connection: is it loadgen serve?"
				    : err == -EBADMSG ? "what answers there is not loadgen serve"
						      : strerror(-err));
	return failure__set(f, STATUS_FAILED, -ECONNREFUSED, "--peer %s: it refuses: %s",
			    load->peer, safe_text(h->text, text, sizeof(text)));
}

static int exchange(int fd, struct wire_hello *h, const struct load *load, struct failure *f)
{
	int err;

	h->version = WIRE_VERSION;
	err = wire__send_hello(fd, h);
	if (!err)
		err = wire__read_hello(fd, h, HELLO_TIMEOUT_MS);
	return err ? refused(load, h, err, f) : 0;
}

/* Answers what h asks: who sends, has a key. */
static int prove(int fd, struct wire_hello *h, const struct load *load, struct failure *f)
{
	struct wire_hello proof = {.kind = WIRE_PROOF};
	struct key key;
	int err;

	if (!load->key)
		return failure__set(
			f, STATUS_FAILED, -EACCES,
			"--peer %s: it asks for a key: give --key FILE, the same as there",
			load->peer);
	err = key__read(&key, load->key, f);
	if (err)
		return err;
	key__prove(&key, h->secret, proof.secret);
	*h = proof;
	return exchange(fd, h, load, f);
}

static int greet(int fd, struct wire_hello *h, const struct load *load, struct failure *f)
{
	int err = exchange(fd, h, load, f);

	if (!err && h->kind == WIRE_CHALLENGE)
		err = prove(fd, h, load, f);
	if (err)
		return err;
	return h->kind == WIRE_ACCEPTED ? 0 : refused(load, h, 0, f);
}

int peer__open(struct peer *p, struct listener *l, const struct load *load, struct failure *f)
{
	struct picker picker = dataset__picker(load);
	struct wire_hello h = {
		.kind = WIRE_CONTROL,
		.slot = load->threads,
		.message_bytes = load->message_bytes,
		.flags = (load->verify ? WIRE_VERIFY : 0) | (picker.random ? WIRE_RANDOM : 0) |
			 (load->rcvlowat > 1 ? WIRE_MARKS : 0),
		.fields = picker.fields,
		.picked_from = picker.count,
		.seed = picker.seed,
	};
	struct load plain = *load; /* what is set on sockets is for the messages' */
	struct failure why = {0};
	int err;

	plain.socket = (struct socket_options){0};
	*l = (struct listener){.fd = -1};
	err = resolve(l, load, f);
	if (err)
		return err;
	l->fd = listener__connect(l, &plain, &why);
	if (l->fd < 0)
		return failure__set(f, STATUS_FAILED, l->fd,
				    "--peer %s: cannot connect: %s: does loadgen serve run there?",
				    load->peer, strerror(-l->fd));
	err = greet(l->fd, &h, load, f);
	if (err) {
		listener__close(l);
		return err;
	}
	memcpy(p->token, h.secret, sizeof(p->token));
	safe_text(h.text, p->machine, sizeof(p->machine));
	return 0;
}

int peer__introduce(const struct peer *p, int fd, unsigned int slot, uint32_t connection,
		    const struct load *load, struct failure *f)
{
	struct wire_hello h = {
		.kind = WIRE_DATA,
		.slot = slot,
		.connection = connection,
	};

	memcpy(h.secret, p->token, sizeof(h.secret));
	return greet(fd, &h, load, f);
}
