/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "common/units.h"
#include "loadgen/data/dataset.h"
#include "loadgen/load.h"
#include "loadgen/receive/peer.h"
#include "loadgen/system/listener.h"

#define REPLY_TIMEOUT_MS 5000
#define TRIES		 8

static int fail(const struct load *load, int err, const char *why, struct failure *f)
{
	return failure__set(f, STATUS_FAILED, err, "--peer %s: %s", load->peer, why);
}

static int explain(const struct load *load, const struct wire_message *m, int err,
		   struct failure *f)
{
	if (err == -EPROTO)
		return failure__set(
			f, STATUS_FAILED, err,
			"--peer %s: it speaks version %u, we speak %u: install the same "
			"version on both machines",
			load->peer, m->version, WIRE_VERSION);
	return fail(load, err,
		    err == -ETIMEDOUT ? "it does not answer: is it loadgen serve?"
		    : err == -EPIPE   ? "it closed the connection: is it loadgen serve?"
		    : err == -EBADMSG ? "what answers there is not loadgen serve"
				      : strerror(-err),
		    f);
}

/* Says something, signed or not, and reads its reply, signed alike; to CONTROL, or CHALLENGE. */
static int exchange(int fd, struct wire_message *said, const uint8_t *secret,
		    struct wire_message *answer, const struct load *load, struct failure *f)
{
	char text[WIRE_TEXT];
	int err = wire__send(fd, said, secret);

	if (!err)
		err = wire__await(fd, answer, REPLY_TIMEOUT_MS);
	if (err)
		return explain(load, answer, err, f);
	if (answer->q.err)
		return failure__set(f, STATUS_FAILED, -ECONNREFUSED, "--peer %s: it refuses: %s",
				    load->peer, safe_text(answer->text, text, sizeof(text)));
	if (secret && !wire__is_signed(answer, secret))
		return fail(load, -EACCES, "it does not prove that it has the --key", f);
	if (said->q.type == WIRE_CONTROL && answer->q.type == WIRE_CHALLENGE)
		return 0;
	answer->q.type ^= WIRE_REPLY;
	if (memcmp(&answer->q, &said->q, sizeof(said->q)))
		return fail(load, -EPROTO, "what it answers cannot be: is it loadgen serve?", f);
	return 0;
}

/* With a key, each end proves to the other that it has it, for this load. */
static int agree(struct peer *p, int fd, struct wire_message *control, struct wire_message *answer,
		 const struct load *load, struct failure *f)
{
	struct key key;
	int err = load->key ? key__read(&key, load->key, f) : 0;

	if (!err)
		err = exchange(fd, control, NULL, answer, load, f);
	if (err)
		return err;
	if (!load->key && answer->q.type == WIRE_CHALLENGE)
		return fail(load, -EACCES, "it asks for a key: give --key FILE, the same as there",
			    f);
	if (load->key && answer->q.type != WIRE_CHALLENGE)
		return fail(load, -EACCES,
			    "it asks for no key: give it the same --key, or leave --key out here",
			    f);
	memcpy(p->secret, answer->proof, sizeof(p->secret));
	if (!load->key)
		return 0;
	wire__agree(&key, control, answer, p->secret);
	control->q.type = WIRE_PROOF;
	return exchange(fd, control, p->secret, answer, load, f);
}

int peer__greet(struct peer *p, int fd, const struct load *load, struct failure *f)
{
	struct picker picker = dataset__picker(load);
	uint32_t flags = (load->verify ? WIRE_VERIFY : 0) | (picker.random ? WIRE_RANDOM : 0) |
			 (load->rcvlowat > 1 ? WIRE_MARKS : 0);
	struct wire_message answer = {0},
			    control = {.q = {.type = WIRE_CONTROL,
					     .slot = load->threads,
					     .values = {load->message_bytes, flags, picker.fields,
							picker.count, picker.seed}}};
	int err;

	wire__random(control.proof);
	err = agree(p, fd, &control, &answer, load, f);
	safe_text(answer.text, p->machine, sizeof(p->machine));
	return err;
}

/* One that has many strangers may close the connection of who had no time yet to say who it is. */
int peer__open(struct peer *p, struct listener *l, const struct load *load, struct failure *f)
{
	struct load plain = *load; /* what is set on sockets is for the messages' */
	struct failure why = {0};
	char host[256], port[8];
	int err = units__endpoint(load->peer, host, sizeof(host), port);

	*l = (struct listener){.fd = -1};
	plain.socket = (struct socket_options){0};
	if (err)
		return fail(load, err, "give HOST:PORT", f);
	err = listener__resolve(l, host, port, 0);
	if (err)
		return fail(load, -EINVAL, gai_strerror(err), f);
	for (int i = 0; i < TRIES && (!i || err == -EPIPE); i++) {
		listener__close(l);
		*f = (struct failure){0};
		l->fd = listener__connect(l, &plain, &why);
		if (l->fd < 0)
			return failure__set(f, STATUS_FAILED, l->fd,
					    "--peer %s: cannot connect: %s: does loadgen serve "
					    "run there?",
					    load->peer, strerror(-l->fd));
		err = peer__greet(p, l->fd, load, f);
	}
	return err;
}

int peer__introduce(const struct peer *p, int fd, unsigned int slot, uint32_t connection,
		    const struct load *load, struct failure *f)
{
	struct wire_message answer = {0},
			    said = {.q = {.type = WIRE_DATA, .slot = slot, .values = {connection}}};

	return exchange(fd, &said, p->secret, &answer, load, f);
}
