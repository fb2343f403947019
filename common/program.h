/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the programs end, report failures and write. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <time.h>

struct argp_state;

/* Exit statuses. */
#define STATUS_OK     0
#define STATUS_FAILED 1 /* failed while running */
#define STATUS_USAGE  2 /* wrong usage */
#define STATUS_SYSTEM 3 /* this system cannot do it */

/*
 * A failure: one line for a person, and the exit status that fits. Functions return a negative
 * errno and write the line here. The first failure stays, because it explains later ones.
 */
struct failure {
	int status;	       /* 0: nothing failed */
	char text[4096 + 256]; /* room for a path */
};

/*
 * Writes the failure, unless err is 0. Returns err, so that a caller can write: return
 * failure__set(...). %m is the error's text.
 */
int failure__set(struct failure *f, int status, int err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Copies the failure `from` to f, unless f has one. */
void failure__adopt(struct failure *f, const struct failure *from);

/*
 * Must be the first call of main. If a standard stream is closed, no file that is opened later
 * takes its place. A write beyond the file size limit fails instead of ending the program. At the
 * end, text that standard output did not take is reported, and the program fails unless it has
 * failed already.
 */
void program__begin(void);

/*
 * Prints a line on stderr, after all of stdout, with the program's name, as safe text: quoted text,
 * such as an option's value or a file name, may come from anybody.
 */
void program__complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Complains, and returns what its caller returns: an exit status, or false. */
#define program__fail(status, ...) (program__complain(__VA_ARGS__), (status))

/*
 * Complains about wrong usage. argp then ends the program with STATUS_USAGE; without argp's exit,
 * as under a fuzzer, it returns EINVAL.
 */
error_t program__refuse(const struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Ends the program by a signal that it caught, so that a shell sees the signal. */
void program__die_by(int sig);

/* Writes all of the text despite interruptions. 0, or -errno after writing perhaps a part of it. */
int program__write_all(int fd, const char *text, size_t size);

/* Appends to a text, in a buffer of this size; what does not fit is cut off. */
void text__append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns the seconds since a time of CLOCK_MONOTONIC. */
double elapsed_since(const struct timespec *then);

/*
 * Copies text that others chose, such as a process's name. A byte that is not printable ASCII
 * becomes \xNN, so that a terminal does not obey it. Safe text is not changed, so it may pass
 * through several programs. The result ends with a zero and is cut to the buffer (four bytes per
 * character suffice). Returns out.
 */
const char *safe_text(const char *text, char *out, size_t size);
