/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GET /metrics over HTTP, in the calling thread: one request per connection, few connections at
 * once, and each for some seconds at most, whatever its client does. If there are too many, the
 * oldest of the address with the most is closed.
 */
#pragma once

#include "user/options/options.h"

/* Makes the text, which the caller frees; NULL if it cannot. */
typedef char *(*server_text)(void *context, bool open_metrics);

/*
 * Listens as the options say, which must stay valid. Returns false after an error line. A process
 * has one server.
 */
bool server__open(const struct exporter_options *asked, server_text make, void *context);
/* Closes the server if it is open. */
void server__close(void);
unsigned int server__port(void);
/* A descriptor that is readable when server__run() has work; it must also be called regularly. */
int server__fd(void);
void server__run(void);

/*
 * Is a request's Host an address, localhost or one of the names, with or without a port? A page in
 * a browser could otherwise map its own host name to this machine (DNS rebinding), and read the
 * answers.
 */
bool server__has_name(const struct exporter_options *asked, const char *host);
