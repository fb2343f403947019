/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "loadgen/run/control.h"

static sigset_t stop_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	return set;
}

int control__open(struct control *c, int fd, struct failure *f)
{
	sigset_t stops = stop_signals();
	int type = 0;
	socklen_t length = sizeof(type);

	signal(SIGPIPE, SIG_IGN);
	*c = (struct control){.fd = fd, .driven = fd >= 0};
	if (!c->driven) {
		c->fd = signalfd(-1, &stops, SFD_CLOEXEC);
		return 0;
	}
	/* Ctrl-C reaches the whole process group. The driver reacts to it, not this process. */
	signal(SIGINT, SIG_IGN);
	getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length);
	return type == SOCK_SEQPACKET
		       ? 0
		       : failure__set(f, STATUS_USAGE, -ENOTSOCK,
				      "--control %d: not a SOCK_SEQPACKET socket", fd);
}

void control__catch_signals(const struct control *c)
{
	sigset_t stops = stop_signals();

	if (!c->driven)
		sigprocmask(SIG_BLOCK, &stops, NULL);
}

static int read_signal(struct control *c)
{
	sigset_t stops = stop_signals();
	struct signalfd_siginfo info;

	if (read(c->fd, &info, sizeof(info)) != sizeof(info))
		return -EIO;
	c->signal = (int)info.ssi_signo;
	/* A second signal ends the program at once. */
	sigprocmask(SIG_UNBLOCK, &stops, NULL);
	return CONTROL_STOP;
}

int control__read(struct control *c, struct failure *f)
{
	ssize_t n;

	if (!c->driven)
		return read_signal(c);
	n = TEMP_FAILURE_RETRY(read(c->fd, &c->message, sizeof(c->message)));
	if (n <= 0)
		return failure__set(f, STATUS_FAILED, -EPIPE, "the driver is gone");
	if ((size_t)n < offsetof(struct control_message, text) ||
	    c->message.version != CONTROL_VERSION)
		return failure__set(f, STATUS_FAILED, -EPROTO,
				    "the driver has another version of the control protocol");
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

int control__send(struct control *c, enum control_type type, const char *text, struct failure *f)
{
	size_t length = strlen(text), head = offsetof(struct control_message, text);
	struct iovec packet[] = {{&c->message, head}, {(char *)text, length}};

	if (!c->driven)
		return 0;
	if (length > CONTROL_TEXT_MAX)
		return failure__set(f, STATUS_FAILED, -EMSGSIZE, "the result is too long");
	c->message.version = CONTROL_VERSION;
	c->message.type = (__u16)type;
	c->message.length = (__u32)length;
	/* Not send(): a tracer of this process's sends must see only the workload. */
	if (writev(c->fd, packet, 2) == (ssize_t)(head + length))
		return 0;
	return failure__set(f, STATUS_FAILED, -errno, "the driver is gone: %m");
}
