/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The protocol between a sender and a receiver on another machine (loadgen serve), over
 * TCP to one port of the receiver. Every connection begins with a hello and its
 * answer; all numbers are big-endian.
 *
 *   sender                           receiver
 *   hello CONTROL {the load}    ->
 *                               <-   with a key: hello CHALLENGE {random bytes}
 *   hello PROOF {their HMAC}    ->
 *                               <-   hello ACCEPTED {token}, or REFUSED {why}
 *   messages, numbered          ->   their replies; at the end of file the session ends
 *
 *   hello DATA {token, slot}    ->
 *                               <-   hello ACCEPTED; from then on the sender's bytes
 *
 * A receiver that hears something else closes the connection; of a hello of another
 * version it says so first. Neither end trusts the other: peer_agent.c checks what a
 * receiver says, guests.c and sessions.c bound what a sender can have. Nothing is encrypted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "loadgen/receive/secret.h"

#define WIRE_VERSION 4
#define WIRE_TEXT    96

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

struct wire_hello {
	uint16_t version; /* of a hello to be sent: WIRE_VERSION */
	uint16_t kind;
	uint32_t slot;		/* DATA; CONTROL: how many connections there will be */
	uint32_t connection;	/* DATA: its identity */
	uint64_t message_bytes; /* CONTROL */
	uint32_t flags;		/* CONTROL */
	uint32_t fields;	/* CONTROL, as are the next two: of a picker (picker.h) */
	uint64_t picked_from;
	uint64_t seed;
	uint8_t secret[SECRET_BYTES]; /* DATA, ACCEPTED: the token; CHALLENGE; PROOF */
	char text[WIRE_TEXT];	      /* REFUSED: why; ACCEPTED: the receiver's machine */
};
#define WIRE_HELLO_BYTES (4 + 2 + 2 + 4 * 2 + 8 + 4 + 4 + 8 * 2 + SECRET_BYTES + WIRE_TEXT)

/* EXPECT is answered once so much was received; each answer has the slot's state. */
enum wire_type { WIRE_MARK = 1, WIRE_CPU_TIME, WIRE_EXPECT, WIRE_STATE };

#define WIRE_VALUES 8
struct wire_message {
	uint32_t type;
	uint32_t number; /* a reply has that of its request */
	uint32_t slot;
	int32_t err; /* of a reply: 0 or a negative errno */
	uint64_t values[WIRE_VALUES];
};
#define WIRE_MESSAGE_BYTES (4 * 4 + 8 * WIRE_VALUES)

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

#define WIRE_HEAD_BYTES 8 /* tells of another protocol or version; it may say less than a hello */

void wire__put_hello(unsigned char bytes[WIRE_HELLO_BYTES], const struct wire_hello *h);
/* -EBADMSG: not a hello of ours at all; -EPROTO: of another version, which is in h. */
int wire__get_hello(const unsigned char bytes[WIRE_HELLO_BYTES], struct wire_hello *h);
/* The same of its head alone. */
int wire__get_head(const unsigned char bytes[WIRE_HEAD_BYTES], struct wire_hello *h);

/* The same over a socket. -ETIMEDOUT when it stays silent, -EPIPE when it is closed. */
int wire__send_hello(int fd, const struct wire_hello *h);
int wire__read_hello(int fd, struct wire_hello *h, int timeout_ms);
int wire__send(int fd, const struct wire_message *m);
int wire__read(int fd, struct wire_message *m, int timeout_ms);
