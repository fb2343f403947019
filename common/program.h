/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the programs end, fail and write. */
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
 * Why something did not work: one line for a person, and the exit status that
 * fits. Functions return a negative errno and leave the words here; the first
 * failure wins, because it explains the rest.
 */
struct failure {
	int status; /* 0: nothing failed */
	char text[256];
};

/* Returns err, so that a caller can return the call. */
int failure__set(struct failure *f, int status, int err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Takes over another's failure unless f has one. */
void failure__adopt(struct failure *f, const struct failure *from);

/*
 * To be called first in main: what is opened later must not become a standard stream, where those
 * are closed; a file that may not grow fails a write instead of ending the program; and at the
 * end a text that standard output did not take is said, and fails what had not failed yet.
 */
void program__begin(void);

/*
 * Prints a line on stderr, behind all of stdout, after the program's name, as safe text: what it
 * cites, such as an option's value or a file's name, may be anybody's.
 */
void program__complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * The same of wrong usage, by argp, which ends the program with STATUS_USAGE; else, as where it is
 * fuzzed, EINVAL.
 */
error_t program__refuse(const struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Ends the program by a signal that it caught, so that a shell sees the signal. */
void program__die_by(int sig);

/*
 * Opens a file that the user names for output, with O_CREAT or not. It follows no symbolic link at
 * the end, which another may have put there, but the kernel's own, such as /dev/stdout, and does
 * not wait for the reader of a FIFO. -errno.
 */
int program__open_output(const char *path, int flags);
/* What -errno of this means, or of opening a regular file, in words. */
const char *program__why(int err);

/*
 * The same without making it, "-" being standard output: 0 with its descriptor, or -1 where there
 * is none yet and its folder takes one; so that nothing is measured in vain, and no empty file
 * left. -errno.
 */
int program__reach_output(const char *path, int flags, int *fd);

/* Writes all of the text, whatever interrupts. 0 or -errno; part of it may then be written. */
int program__write_all(int fd, const char *text, size_t size);

/* Seconds since then, by CLOCK_MONOTONIC. */
double elapsed_since(const struct timespec *then);

/*
 * Copies text that others chose, such as a process's name: a byte that is not printable
 * ASCII becomes \xNN, so that a terminal does not obey it. What is safe stays as it is, so that a
 * line may pass through several programs. Always ends with a zero; what does not fit (four bytes a
 * character do) is cut. Returns out.
 */
const char *safe_text(const char *text, char *out, size_t size);
