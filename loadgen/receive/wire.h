/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The protocol between a sender and a receiver on another machine (loadgen serve), over TCP to
 * one port of the receiver: requests (child.h) and their replies, all numbers big-endian.
 *
 *   sender                                receiver
 *   CONTROL {the load, a nonce}        ->
 *                                      <-  CHALLENGE {another nonce, whether it has a key}
 *   PROOF {the load}                   ->
 *                                      <-  its reply {the receiver's machine}
 *   MARK, CPU_TIME, STATE,             ->
 *   numbered from 1                    <-  their replies; at the end of file the session ends
 *
 *   DATA {slot, connection}            ->
 *                                      <-  its reply; from then on the sender's bytes
 *
 * A refusal is a reply with an err and the reason. A session has a secret: the HMAC-SHA256 of
 * CONTROL and CHALLENGE by the key, which is empty if none was given. All messages after these are
 * signed by an HMAC with that secret, which proves that each end has the key, for this load and
 * this time. A relay cannot change the load, open a connection, or send or answer a message, unless
 * the key is empty. Nothing is encrypted, and the sender's bytes are not signed.
 *
 * A receiver closes a connection that sends anything else. It replies first if only the version
 * differs: messages have the same size in all versions. Neither end trusts the other: peer.c checks
 * what a receiver reports, session.c limits what a sender can use.
 */
#pragma once

#include "common/program.h"
#include "loadgen/data/pattern.h"
#include "loadgen/system/child.h"

struct listener;
struct load;
struct receiver_process;

#define WIRE_VERSION 7
#define WIRE_TEXT    64
#define SECRET_BYTES 32

/* Message types in addition to those of child.h. */
enum wire_type { WIRE_CONTROL = 16, WIRE_PROOF, WIRE_DATA };

#define WIRE_REPLY     (1u << 31) /* bit of a reply's type: no request looks like its reply */
#define WIRE_CHALLENGE (WIRE_CONTROL | WIRE_REPLY)

/*
 * The values of CONTROL and PROOF, whose slot is the number of connections. CHALLENGE says whether
 * the receiver has a key, DATA carries a connection's identity.
 */
enum { LOAD_MESSAGE_BYTES, LOAD_FLAGS, LOAD_FIELDS, LOAD_PICKED_FROM, LOAD_SEED };

#define WIRE_VERIFY (1u << 0)
#define WIRE_RANDOM (1u << 1) /* the picker is random */
#define WIRE_MARKS  (1u << 2) /* MARK is allowed */

/*
 * The values of a reply to STATE; err set: no more bytes will arrive. The receiver replies every
 * WIRE_LOOK_MS, which shows that a slow connection moves, and finally once the bytes that STATE
 * requests have arrived. One STATE per slot is pending. These replies have no number: a repeated
 * one is harmless, because counts never decrease.
 */
#define WIRE_LOOK_MS 500
struct wire_state {
	uint64_t received;
	struct pattern_verdict found; /* zero except in the last reply */
};

/* A message as on the wire, except for byte order. */
struct wire_message {
	char magic[4];
	uint16_t version; /* with magic, shows another protocol or version */
	uint16_t zero;
	struct request q;
	char text[WIRE_TEXT];	     /* why a request is refused, or the receiver's machine */
	uint8_t proof[SECRET_BYTES]; /* a nonce, or the signature of all members before it */
};

/* The key of a session's ends: the bytes of a file that other users may not read. */
#define KEY_MIN 16
#define KEY_MAX 4096

struct key {
	size_t bytes; /* 0: none */
	uint8_t of[KEY_MAX];
};

/* Reads the key file, without a final newline. Returns 0, or -errno with the reason in f. */
int key__read(struct key *k, const char *path, struct failure *f);

void wire__random(uint8_t secret[SECRET_BYTES]);

/* Computes a session's secret: the HMAC of these two messages by the key. */
void wire__agree(const struct key *k, const struct wire_message *control,
		 const struct wire_message *challenge, uint8_t secret[SECRET_BYTES]);

/* Waits for room for a message of wire__send(). Returns false if there is none in time. */
bool wire__has_room(int fd, int timeout_ms);

/*
 * Completes and sends m, signed with the secret unless it is NULL. Does not wait. Returns 0, -EPIPE
 * if the connection is closed, or another -errno.
 */
int wire__send(int fd, struct wire_message *m, const uint8_t *secret);

/*
 * Reads what has arrived of a message; *got bytes of it were read before. Returns -EAGAIN: the
 * message is not complete; -EPIPE: the connection is closed; -EBADMSG: the bytes are no message of
 * this protocol; -EPROTO: the message has another version, which is in m.
 */
int wire__receive(int fd, struct wire_message *m, size_t *got);

/* Reads a whole message by the deadline, else -ETIMEDOUT; other errors as wire__receive(). */
int wire__await(int fd, struct wire_message *m, int timeout_ms);

bool wire__is_signed(const struct wire_message *m, const uint8_t secret[SECRET_BYTES]);

/* The sender's end: its conversation with the receiver elsewhere. */
struct peer {
	const char *name;	      /* HOST:PORT */
	uint8_t secret[SECRET_BYTES]; /* secret of the session */
	char machine[WIRE_TEXT];      /* the receiver's machine, in its own words */
};

/*
 * Connects to load->peer and agrees on the load. Sets l to the address for the connections, and
 * l->fd to this control connection, which receiver__start() takes over.
 */
int peer__open(struct peer *p, struct listener *l, const struct load *load, struct failure *f);

/* Agrees on the load over the connected fd. p->name is set. */
int peer__greet(struct peer *p, int fd, const struct load *load, struct failure *f);

/* Identifies fd as a connection of a session. */
int peer__introduce(const struct peer *p, int fd, unsigned int slot, uint32_t connection,
		    struct failure *f);

/*
 * Runs instead of the receiving process: passes requests on to the peer and updates the slots from
 * its replies, until the other end of the channel closes. Returns on failure, with the reason in f.
 */
void peer__serve(const struct peer *p, const struct receiver_process *r, struct failure *f);

/* The receiver's end: limits of one session. */
struct session_limits {
	size_t bytes;
	double seconds;
};

/*
 * Serves connections, within these limits, until stop is readable. One sender at a time has a
 * session, and must prove that it has the key, which may be empty. Returns 0 or -errno.
 */
int session__serve(int listener, int stop, const struct session_limits *limits,
		   const struct key *key);
