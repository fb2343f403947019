// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sends at random, so that windows open and close in the middle of any action. Threads share
 * sockets, send with and without MSG_ZEROCOPY, wait or do not, read their error queues or do not,
 * close sockets, in order or by a reset, and connect again. Processes are forked, send on inherited
 * sockets and are killed. Sockets go from one process to another. It counts nothing: the tests
 * check that an observer's counts add up. Runs until it is ended.
 *
 *   storm --port P [--seed N] [--threads N]
 */
#include "common.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SOCKETS	    6
#define THREADS_MAX 16
#define SIZE_BITS   17

struct slot {
	pthread_rwlock_t lock; /* senders lock it for reading, closers for writing */
	int fd;
};

static struct slot slots[SOCKETS];
static struct config {
	unsigned long port, seed, threads;
} config = {.seed = 1, .threads = 2};
static char *buffer;
static int neighbour; /* socket over which processes pass sockets to each other */

static uint32_t below(uint64_t *state, uint32_t n)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)(*state * 0x2545f4914f6cdd1dULL >> 33) % n;
}

static bool chance(uint64_t *random, uint32_t percent)
{
	return below(random, 100) < percent;
}

static int open_socket(uint64_t *random)
{
	struct sockaddr_storage to;
	socklen_t length = endpoint("127.0.0.1", config.port, &to);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		die("socket");
	if (chance(random, 85) && setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		die("SO_ZEROCOPY");
	if (connect(fd, (struct sockaddr *)&to, length))
		die("connect");
	return fd;
}

/* Ignores errors except EFAULT: the other end, or another thread, may have closed the socket. */
static void send_once(int fd, uint64_t *random)
{
	size_t size = chance(random, 2) ? 0 : below(random, 1U << below(random, SIZE_BITS) | 1) + 1;
	int flags = MSG_NOSIGNAL;

	if (chance(random, 75))
		flags |= MSG_ZEROCOPY;
	if (chance(random, 60))
		flags |= MSG_DONTWAIT;
	if (send(fd, buffer, size, flags) < 0 && errno == EFAULT)
		die("send");
}

static void read_notifications(int fd, uint64_t *random)
{
	unsigned int most = 1 + below(random, 64);
	char control[128];
	struct msghdr msg = {.msg_control = control};

	do {
		msg.msg_controllen = sizeof(control);
	} while (most-- && recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0);
}

static void replace(struct slot *slot, int fd, uint64_t *random)
{
	struct linger none = {.l_onoff = 1};

	pthread_rwlock_wrlock(&slot->lock);
	if (chance(random, 30))
		setsockopt(slot->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(slot->fd);
	slot->fd = fd;
	pthread_rwlock_unlock(&slot->lock);
}

/* Forks a child that sends on inherited sockets, and ends by itself or by a signal. */
static void fork_sender(uint64_t *random)
{
	unsigned int sends = below(random, 20), i;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (i = 0; i < sends; i++)
			send_once(slots[below(random, SOCKETS)].fd, random);
		_exit(0);
	}
	if (pid < 0)
		die("fork");
	if (chance(random, 50))
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void pass(int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct iovec byte = {"s", 1};
	struct msghdr msg = {.msg_iov = &byte,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	sendmsg(neighbour, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Receives a socket that the other process passed. Returns it, or -1. */
static int passed(void)
{
	char data, control[CMSG_SPACE(sizeof(int))];
	struct iovec byte = {&data, 1};
	struct msghdr msg = {.msg_iov = &byte,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *header;
	int fd = -1;

	if (recvmsg(neighbour, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
		return -1;
	header = CMSG_FIRSTHDR(&msg);
	if (header)
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

static void with_a_socket(struct slot *slot, uint64_t *random)
{
	pthread_rwlock_rdlock(&slot->lock);
	switch (below(random, 24)) {
	case 0:
		pass(slot->fd);
		break;
	case 1 ... 4:
		read_notifications(slot->fd, random);
		break;
	default:
		send_once(slot->fd, random);
	}
	pthread_rwlock_unlock(&slot->lock);
}

static void *worker(void *argument)
{
	uint64_t random = (uintptr_t)argument | 1;
	struct slot *slot;
	int fd;

	for (;;) {
		slot = &slots[below(&random, SOCKETS)];
		switch (below(&random, 100)) {
		case 0:
			fork_sender(&random);
			break;
		case 1:
			replace(slot, open_socket(&random), &random);
			break;
		case 2:
			fd = passed();
			if (fd >= 0)
				replace(slot, fd, &random);
			break;
		default:
			with_a_socket(slot, &random);
		}
	}
	return NULL;
}

static void be_a_process(unsigned int which)
{
	uint64_t random = config.seed * 2 + which + 1;
	pthread_t thread;
	unsigned long i;

	for (i = 0; i < SOCKETS; i++) {
		pthread_rwlock_init(&slots[i].lock, NULL);
		slots[i].fd = open_socket(&random);
	}
	for (i = 1; i < config.threads; i++)
		if (pthread_create(&thread, NULL, worker,
				   (void *)(uintptr_t)((random + i) * 0x9e3779b97f4a7c15ULL)))
			die("pthread_create");
	worker((void *)(uintptr_t)(random * 0x9e3779b97f4a7c15ULL));
}

static const struct row rows[] = {
	{"port", 'p', "PORT", "of a receiver on 127.0.0.1", AT(port), .max = 65535},
	{"seed", 's', "N", "seed of all random choices (1)", AT(seed), .max = ~0UL},
	{"threads", 't', "N", "of each process (2)", AT(threads), .max = THREADS_MAX},
	{.name = NULL},
};

int main(int argc, char **argv)
{
	int ends[2];

	read_options(rows, &config, argc, argv);
	buffer = malloc(1 << SIZE_BITS);
	if (!buffer || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends))
		die("starting");
	memset(buffer, 's', 1 << SIZE_BITS);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		neighbour = ends[1];
		be_a_process(1);
	}
	neighbour = ends[0];
	be_a_process(0);
	return 0;
}
