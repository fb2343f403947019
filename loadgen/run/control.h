/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The protocol between the load generator and its driver, over a connected AF_UNIX
 * SOCK_SEQPACKET socket whose number is given with --control FD. One message per packet,
 * a struct control_message each.
 *
 *   load generator             driver
 *   HELLO {both pids}     ->              no thread, no connection yet
 *                         <-   START      programs attached, counters opened
 *   PARKED {port}         ->              connected, warmed up, nothing in flight
 *                         <-   GO         gate open, counters running
 *   PARKED                ->              window over, nothing in flight
 *                         <-   FINISH     gate closed, counters read
 *   RESULT {JSON text}    ->              then both processes exit
 *
 * The driver may send STOP at any time: the current phase ends early, as if its
 * time were up, and the sequence continues. The load generator may send ERROR
 * {exit status, text} instead of any message, and then exits. If something fails
 * inside the window, it sends the result with an "error" key, which keeps what was
 * measured. End of file means that the other side is gone.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

#include "common/program.h"

#define CONTROL_VERSION	 2
#define CONTROL_TEXT_MAX (96 * 1024)

enum control_type {
	CONTROL_HELLO = 1,
	CONTROL_START,
	CONTROL_PARKED,
	CONTROL_GO,
	CONTROL_STOP,
	CONTROL_FINISH,
	CONTROL_RESULT,
	CONTROL_ERROR,
};

struct control_message {
	__u16 version;		     /* CONTROL_VERSION */
	__u16 type;		     /* enum control_type */
	__u32 length;		     /* bytes of text, no terminating zero */
	__s32 sender_pid;	     /* HELLO */
	__s32 receiver_pid;	     /* HELLO */
	__s32 status;		     /* ERROR: the exit status */
	__u16 port;		     /* PARKED: where the listening end listens */
	char text[CONTROL_TEXT_MAX]; /* RESULT, ERROR; only length bytes are sent */
};

/*
 * The load generator's end of the protocol. Without a driver, Ctrl-C at the terminal acts as STOP.
 */
struct control {
	int fd; /* the driver's socket, or our signals: readable for control__read() */
	bool driven;
	int signal; /* the signal that ended a run without a driver; or 0 */
	struct control_message message;
};

/* Opens the conversation. fd: the driver's socket, or -1. Returns 0 or -errno. */
int control__open(struct control *c, int fd, struct failure *f);

/*
 * Without a driver, reads SIGINT and SIGTERM from now on. Before this call, they end the program at
 * once: while it sets up or connects, there is nothing to report.
 */
void control__catch_signals(const struct control *c);

/* Reads one message, or one signal as a STOP. Returns its type or -errno. */
int control__read(struct control *c, struct failure *f);

/*
 * These two return at once without a driver. control__await() returns 0 or a negative errno; a STOP
 * that arrives first sets *stopped. control__send() sends text and the members of c->message that
 * the caller has set.
 */
int control__await(struct control *c, enum control_type type, int *stopped, struct failure *f);
int control__send(struct control *c, enum control_type type, const char *text, struct failure *f);
