/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The protocol between a sender and a receiver on another machine (loadgen serve), over TCP to
 * one port of the receiver. Every connection begins with hellos; all numbers are big-endian.
 *
 *   sender                                receiver
 *   hello CONTROL {the load, a nonce}  ->
 *                                      <-  with a key: hello CHALLENGE {another nonce}
 *   hello PROOF                        ->
 *                                      <-  hello ACCEPTED, or REFUSED {why}
 *   messages, numbered from 1          ->  their replies; at the end of file the session ends
 *
 *   hello DATA {slot}                  ->
 *                                      <-  hello ACCEPTED; from then on the sender's bytes
 *
 * A session has a secret: with a key, its HMAC-SHA256 of CONTROL and CHALLENGE; without, random
 * bytes that the first ACCEPTED brings. All that comes after is signed, by an HMAC with that
 * secret: so each end proves to have the key, for this load and this time. Who relays cannot
 * change the load, open a connection, or send or answer a message. Nothing is encrypted, and the
 * sender's bytes are not signed.
 *
 * A receiver that is sent something else closes the connection; of a hello of another version it
 * says so first: hellos keep their size. Neither end trusts the other: peer_agent.c checks what a
 * receiver says, pending.c and session.c bound what a sender can have.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/program.h"

#define WIRE_VERSION 5
#define WIRE_TEXT    96
#define SECRET_BYTES 32
#define KEY_MIN	     16
#define KEY_MAX	     4096

enum wire_kind {
	WIRE_CONTROL = 1,
	WIRE_DATA,
	WIRE_ACCEPTED,
	WIRE_REFUSED,
	WIRE_CHALLENGE,
	WIRE_PROOF
};

#define WIRE_VERIFY (1u << 0)
#define WIRE_RANDOM (1u << 1) /* of a picker */
#define WIRE_MARKS  (1u << 2) /* MARK may come */

/* As it is on the wire, but for the order of bytes. */
struct wire_hello {
	char magic[4];
	uint16_t version; /* with magic: another protocol or version shows by these alone */
	uint16_t kind;
	uint32_t slot;		/* DATA; CONTROL: how many connections there will be */
	uint32_t connection;	/* DATA: its identity */
	uint64_t message_bytes; /* CONTROL, as are those below */
	uint32_t flags;
	uint32_t fields; /* of a picker (picker.h), as are the next two */
	uint64_t picked_from;
	uint64_t seed;
	uint8_t secret[SECRET_BYTES]; /* a nonce or the signature */
	char text[WIRE_TEXT];	      /* REFUSED: why; ACCEPTED: the receiver's machine */
};
#define WIRE_HEAD_BYTES offsetof(struct wire_hello, kind)

/* EXPECT is answered once so much was received; each answer has the slot's state. */
enum wire_type { WIRE_MARK = 1, WIRE_CPU_TIME, WIRE_EXPECT, WIRE_STATE };

/* The values of a slot's state, in the order of the message. */
enum {
	STATE_RECEIVED,
	STATE_ENDED,
	STATE_CHECKED,
	STATE_BAD,
	STATE_MESSAGE,
	STATE_OFFSET,
	STATE_BYTES
};

#define WIRE_VALUES 8
#define WIRE_REPLY  (1u << 31) /* of a type: so that no request passes for its own reply */
struct wire_message {
	uint32_t type;
	uint32_t number; /* a reply has that of its request */
	uint32_t slot;
	int32_t err; /* of a reply: 0 or a negative errno */
	uint64_t values[WIRE_VALUES];
	uint8_t signature[SECRET_BYTES];
};

struct key {
	size_t bytes; /* 0: none */
	uint8_t of[KEY_MAX];
};

/* All of the file but a last newline. 0 or a negative errno with words. */
int key__read(struct key *k, const char *path, struct failure *f);

void wire__random(uint8_t secret[SECRET_BYTES]);

/* What only who has the key can make of these two. */
void wire__agree(const struct key *k, const struct wire_hello *control,
		 const struct wire_hello *challenge, uint8_t secret[SECRET_BYTES]);

/* Signed with the secret, or NULL: as it is. Completes h. Does not wait: 0 or -errno. */
int wire__send_hello(int fd, struct wire_hello *h, const uint8_t *secret);

/* -ETIMEDOUT when it stays silent, -EPIPE when it is closed, or as the next. */
int wire__read_hello(int fd, struct wire_hello *h, int timeout_ms);

/* Puts what came so far in order. -EAGAIN: it is not whole; -EBADMSG: not a hello of ours at all;
 * -EPROTO: of another version, which is in h. */
int wire__open_hello(struct wire_hello *h, size_t got);
bool wire__is_signed(const struct wire_hello *h, const uint8_t secret[SECRET_BYTES]);

/* Signs a message for the wire; or has one from there, -EBADMSG where the signature is not right.
 */
void wire__seal(struct wire_message *m, const uint8_t secret[SECRET_BYTES]);
int wire__open(struct wire_message *m, const uint8_t secret[SECRET_BYTES]);

/* All of it by the deadline, or as wire__read_hello(). */
int wire__read_all(int fd, void *to, size_t size, int timeout_ms);
