/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* loadgen serve: the receiver alone, for senders on other machines. */
#ifndef SENDPATH_SERVE_H
#define SENDPATH_SERVE_H

/* Parses its options and serves until a signal. The exit status. */
int serve__main(int argc, char **argv);

#endif
