/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "loadgen/run/control.h"

struct control {
	int fd; /* the driver's socket, or our signals */
	bool driven;
	int signal;
	struct control_message message;
};

static sigset_t stop_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	return set;
}

int control__create(struct control **control, int fd, struct failure *f)
{
	struct control *c = calloc(1, sizeof(*c));
	sigset_t stops = stop_signals();
	int type = 0;
	socklen_t length = sizeof(type);

	if (!c)
		return failure__set(f, STATUS_FAILED, -ENOMEM, "out of memory");
	signal(SIGPIPE, SIG_IGN);
	c->driven = fd >= 0;
	if (c->driven) {
		/* A Ctrl-C reaches the whole group; what it means is the driver's to say. */
		signal(SIGINT, SIG_IGN);
		c->fd = fd;
		getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length);
		if (type == SOCK_SEQPACKET) {
			*control = c;
			return 0;
		}
		free(c);
		return failure__set(f, STATUS_USAGE, -ENOTSOCK,
				    "--control %d: not a SOCK_SEQPACKET socket", fd);
	}
	/* Blocked before any thread or process exists, so that all of them inherit it. */
	sigprocmask(SIG_BLOCK, &stops, NULL);
	c->fd = signalfd(-1, &stops, SFD_CLOEXEC);
	*control = c;
	return 0;
}

void control__destroy(struct control *c)
{
	if (!c)
		return;
	close(c->fd);
	free(c);
}

int control__fd(const struct control *c)
{
	return c->fd;
}

int control__signal(const struct control *c)
{
	return c->signal;
}

static int read_signal(struct control *c)
{
	sigset_t stops = stop_signals();
	struct signalfd_siginfo info;

	if (read(c->fd, &info, sizeof(info)) != sizeof(info))
		return -EIO;
	c->signal = (int)info.ssi_signo;
	/* Whoever asks twice does not want to wait for a clean end. */
	sigprocmask(SIG_UNBLOCK, &stops, NULL);
	return CONTROL_STOP;
}

int control__read(struct control *c, struct failure *f)
{
	ssize_t n;

	if (!c->driven)
		return read_signal(c);
	do
		n = read(c->fd, &c->message, sizeof(c->message));
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return failure__set(f, STATUS_FAILED, -EPIPE, "the driver is gone");
	if ((size_t)n < offsetof(struct control_message, text) ||
	    c->message.version != CONTROL_VERSION)
		return failure__set(f, STATUS_FAILED, -EPROTO,
				    "the driver speaks another version of the control protocol");
	return c->message.type;
}

int control__await(struct control *c, enum control_type type, int *stopped, struct failure *f)
{
	while (c->driven) {
		int got = control__read(c, f);

		if (got < 0)
			return got;
		if (got == (int)type)
			return 0;
		if (got != CONTROL_STOP)
			return failure__set(f, STATUS_FAILED, -EPROTO,
					    "the driver sent message %d where %d was due", got,
					    type);
		*stopped = 1;
	}
	return 0;
}

/* Text that is already in place; only as much as there is goes out. */
static int send_message(struct control *c, enum control_type type, size_t length, struct failure *f)
{
	struct iovec packet[] = {
		{&c->message, offsetof(struct control_message, text)},
		{c->message.text, length},
	};
	size_t size = packet[0].iov_len + length;

	if (!c->driven)
		return 0;
	c->message.version = CONTROL_VERSION;
	c->message.type = (__u16)type;
	c->message.length = (__u32)length;
	/* Not send(): a tracer of this process's sends shall see the workload alone. */
	if (writev(c->fd, packet, 2) == (ssize_t)size)
		return 0;
	return failure__set(f, STATUS_FAILED, -errno, "the driver is gone: %m");
}

int control__hello(struct control *c, pid_t sender, pid_t receiver, struct failure *f)
{
	c->message.sender_pid = sender;
	c->message.receiver_pid = receiver;
	return send_message(c, CONTROL_HELLO, 0, f);
}

int control__parked(struct control *c, unsigned int port, struct failure *f)
{
	c->message.port = (__u16)port;
	return send_message(c, CONTROL_PARKED, 0, f);
}

int control__result(struct control *c, const char *json, struct failure *f)
{
	size_t length = strlen(json);

	if (length > CONTROL_TEXT_MAX)
		return failure__set(f, STATUS_FAILED, -EMSGSIZE, "the result is too long");
	memcpy(c->message.text, json, length);
	return send_message(c, CONTROL_RESULT, length, f);
}

void control__error(struct control *c, const struct failure *what)
{
	struct failure ignored = {0};
	size_t length = strlen(what->text);

	c->message.status = what->status;
	memcpy(c->message.text, what->text, length);
	send_message(c, CONTROL_ERROR, length, &ignored);
}
