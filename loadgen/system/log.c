/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "loadgen/system/log.h"

#define LINES_MAX 10  /* per second */
#define LINE_MAX  512 /* less than PIPE_BUF, so that a pipe takes the whole line or nothing */

static unsigned int lines, left_out;
static int own = -1;

void log__begin(void)
{
	own = open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Writes a line. If stderr could not be opened anew, it may block: checks first for room. */
static bool write_line(const char *text, size_t size)
{
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

	if (own < 0 && poll(&p, 1, 0) <= 0)
		return false;
	return write(own < 0 ? STDERR_FILENO : own, text, size) == (ssize_t)size;
}

static bool write_count(void)
{
	char text[LINE_MAX];
	int size = snprintf(text, sizeof(text), "loadgen: %u more lines were left out\n", left_out);

	if (!write_line(text, (size_t)size))
		return false;
	left_out = 0;
	return true;
}

static void begin_second(void)
{
	static time_t second;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec == second)
		return;
	second = now.tv_sec;
	lines = left_out && !write_count() ? LINES_MAX : 0;
}

void log__line(const char *format, ...)
{
	char text[LINE_MAX] = "loadgen: ";
	size_t size = strlen(text);
	va_list args;

	/* Formats before begin_second(), which may write and so change %m. */
	va_start(args, format);
	vsnprintf(text + size, sizeof(text) - size - 1, format, args);
	va_end(args);
	begin_second();
	strcat(text, "\n");
	if (lines++ >= LINES_MAX || !write_line(text, strlen(text)))
		left_out++;
}

bool log__is_behind(void)
{
	begin_second();
	return left_out;
}

void log__end(void)
{
	if (left_out)
		write_count();
}
