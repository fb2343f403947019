/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sender's end of --peer (wire.h): how it connects, and its agent in the place of a receiving
 * process. The other end is session.h.
 */
#pragma once

#include "loadgen/receive/wire.h"

struct listener;
struct load;
struct receiver_process;

struct peer {
	const char *name;	      /* HOST:PORT */
	uint8_t secret[SECRET_BYTES]; /* of the session */
	char machine[WIRE_TEXT];      /* as it calls itself */
};

/*
 * Connects to load->peer and agrees on the load. l then has the address to connect to,
 * and for fd the conversation, which is to be handed to receiver__start().
 */
int peer__open(struct peer *p, struct listener *l, const struct load *load, struct failure *f);

/* The same over fd, which is connected, for p with its name. */
int peer__greet(struct peer *p, int fd, const struct load *load, struct failure *f);

/* Says which connection of which session fd is. */
int peer__introduce(const struct peer *p, int fd, unsigned int slot, uint32_t connection,
		    struct failure *f);

/*
 * In the receiving process's place: passes the same requests on to the peer, and keeps the slots
 * as it reports them, until the other end of the channel closes. Returns on failure, with words.
 */
void peer__serve(const struct peer *p, const struct receiver_process *r, struct failure *f);
