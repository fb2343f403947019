// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <argp.h>
#include <fcntl.h>
#include <nss.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/program.h"

#ifdef SENDPATH_STATIC
#define IS_STATIC 1
#else
#define IS_STATIC 0
#endif

static void open_standard_streams(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || open("/dev/null", O_RDWR) == fd)
			continue;
		program__complain("/dev/null cannot be opened: %s", strerror(errno));
		_exit(STATUS_SYSTEM);
	}
}

/* Catches SIGXFSZ instead of ignoring it: started programs would inherit an ignored signal. */
static void let_write_fail(int sig)
{
	(void)sig;
}

static bool check_output(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	program__complain("standard output did not take all of the text: is its disk full, its "
			  "reader gone?");
	return false;
}

static void end(int status, void *unused)
{
	(void)unused;
	if (!check_output())
		_exit(status ? status : STATUS_FAILED);
}

/*
 * Restricts NSS to two modules that are part of a static program. Other modules would be loaded
 * together with the system's C library, which may be of another version than the program's own.
 */
static void use_built_in_nss(void)
{
	__nss_configure_lookup("passwd", "files");
	__nss_configure_lookup("group", "files");
	__nss_configure_lookup("initgroups", "files");
	__nss_configure_lookup("hosts", "files dns");
}

void program__begin(void)
{
	struct sigaction action = {.sa_handler = let_write_fail, .sa_flags = SA_RESTART};

	open_standard_streams();
	/* If a parent left SIGCHLD ignored, the status of a child would be lost. */
	signal(SIGCHLD, SIG_DFL);
	if (IS_STATIC)
		use_built_in_nss();
	sigaction(SIGXFSZ, &action, NULL);
	on_exit(end, NULL);
}

/* Returns safe text, which the caller frees; NULL: no memory. */
__attribute__((format(printf, 1, 0))) static char *format_line(const char *format, va_list args)
{
	char *text, *line;
	size_t room;

	if (vasprintf(&text, format, args) < 0)
		return NULL;
	room = 4 * strlen(text) + 1;
	line = malloc(room);
	if (line)
		safe_text(text, line, room);
	free(text);
	return line;
}

void program__complain(const char *format, ...)
{
	va_list args;
	char *line;

	va_start(args, format);
	line = format_line(format, args);
	va_end(args);
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, line ? line : "out of memory");
	free(line);
}

error_t program__refuse(const struct argp_state *state, const char *format, ...)
{
	va_list args;
	char *line;

	va_start(args, format);
	line = format_line(format, args);
	va_end(args);
	argp_failure(state, STATUS_USAGE, 0, "%s", line ? line : "out of memory");
	free(line);
	return EINVAL;
}

void program__die_by(int sig)
{
	check_output();
	fflush(NULL);
	signal(sig, SIG_DFL);
	raise(sig);
}

int program__write_all(int fd, const char *text, size_t size)
{
	ssize_t n;

	while (size) {
		n = TEMP_FAILURE_RETRY(write(fd, text, size));
		if (n < 0)
			return -errno;
		text += n;
		size -= (size_t)n;
	}
	return 0;
}

void text__append(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

double elapsed_since(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - then->tv_sec) + (double)(now.tv_nsec - then->tv_nsec) / 1e9;
}

const char *safe_text(const char *text, char *out, size_t size)
{
	size_t used = 0;

	for (; *text && used + 5 <= size; text++) {
		if (*text >= ' ' && *text <= '~')
			out[used++] = *text;
		else
			used += (size_t)snprintf(out + used, size - used, "\\x%02x",
						 (unsigned char)*text);
	}
	out[used] = 0;
	return out;
}

int failure__set(struct failure *f, int status, int err, const char *format, ...)
{
	va_list args;

	if (!err || f->status)
		return err;
	f->status = status;
	errno = -err;
	va_start(args, format);
	vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);
	return err;
}

void failure__adopt(struct failure *f, const struct failure *from)
{
	if (!f->status && from->status)
		*f = *from;
}
