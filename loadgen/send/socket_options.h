/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is asked of a socket before its connection is made, and whether it was given. */
#pragma once

#include "loadgen/system/failure.h"

struct load;

/* Of the sending end, not yet connected. 0 or a negative errno. */
int socket_options__send(int fd, const struct load *load, struct failure *f);

/* Of the receiving end, not yet listening: connections that it accepts inherit them. */
int socket_options__receive(int fd, const struct load *load, struct failure *f);
