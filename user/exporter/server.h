/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GET /metrics by HTTP, in the thread that calls: one request a connection, few connections at
 * once, and each for some seconds at most, whatever its client does or leaves undone. Where there
 * are too many, the oldest of the address that has most of them goes.
 */
#pragma once

#include "user/options/options.h"

/* Makes the text, to be freed; NULL where it cannot. */
typedef char *(*server_text)(void *context, bool open_metrics);

/*
 * Listens where the options, which must stay, say; false: an error line says why not. A process has
 * one server.
 */
bool server__open(const struct exporter_options *asked, server_text make, void *context);
/* If it is open. */
void server__close(void);
unsigned int server__port(void);
/* Readable: there is something to do for server__run, which else is to be called now and then. */
int server__fd(void);
void server__run(void);

/*
 * Is a request's Host an address, localhost or one of the names, with a port or without? A page in
 * a page in a browser could give its own host name this machine's address (DNS rebinding), and
 * would read what it is answered.
 */
bool server__has_name(const struct exporter_options *asked, const char *host);
