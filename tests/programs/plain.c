// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop that a reader of the kernel's page on MSG_ZEROCOPY writes: sends a buffer again and
 * again, and reads the error queue after each send. It starts its own receiver, at a loopback or
 * another address. Prints the rate of received data as JSON.
 *
 * Several buffers are sent in turn, whether their sends are complete or not, because they are never
 * written to. A single buffer stays in the cache.
 *
 *   plain --size BYTES --threads N --seconds T --warmup T
 *         [--buffers N] [--fields N] [--congestion NAME] [--pin]
 *         [--address ADDRESS] [--netns NAME]
 */
#include "common.h"

#include <fcntl.h>
#include <linux/errqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RECEIVE_SIZE (64 << 10)
#define THREADS_MAX  64
#define FIELDS_MAX   64

struct config {
	unsigned long size, threads, buffers;
	unsigned long fields;	/* fields of a buffer, each with memory of its own */
	const char *address;	/* the receiver's address */
	const char *netns;	/* the receiver's network namespace; NULL: ours */
	const char *congestion; /* NULL: the system's default */
	bool pin;		/* sender to CPU 0, receiver to CPU 1 */
	double seconds, warmup;
};

/* Memory that both processes share. */
struct shared {
	_Alignas(128) atomic_ulong received[THREADS_MAX][16]; /* one cache line per thread */
};

static struct config config = {.size = 64 << 10,
			       .threads = 1,
			       .buffers = 1,
			       .fields = 1,
			       .address = "127.0.0.1",
			       .seconds = 1,
			       .warmup = 1};
static struct shared *shared;
static atomic_bool stopped;
static unsigned short port;

static bool read_completions(int fd)
{
	char control[128];
	struct msghdr msg = {.msg_control = control, .msg_controllen = sizeof(control)};
	bool any = false;

	while (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
		any = true;
		msg.msg_controllen = sizeof(control);
	}
	if (errno != EAGAIN)
		die("error queue");
	return any;
}

static void send_until_stopped(int fd, struct iovec (*buffers)[FIELDS_MAX])
{
	struct msghdr message = {.msg_iovlen = config.fields};
	struct pollfd wait = {.fd = fd};
	unsigned long turn = 0;

	while (!atomic_load_explicit(&stopped, memory_order_relaxed)) {
		message.msg_iov = buffers[turn];
		if (sendmsg(fd, &message, MSG_ZEROCOPY | MSG_NOSIGNAL) >= 0) {
			read_completions(fd);
			turn = turn + 1 < config.buffers ? turn + 1 : 0;
		} else if (errno != ENOBUFS) {
			die("send");
		} else if (!read_completions(fd) && poll(&wait, 1, 100) < 0) {
			die("poll");
		}
	}
}

/* Returns the buffers. The last field of a buffer is longer if the size does not divide evenly. */
static struct iovec (*make_buffers(void))[FIELDS_MAX]
{
	struct iovec(*buffers)[FIELDS_MAX] = calloc(config.buffers, sizeof(*buffers));
	unsigned long i, f;

	for (i = 0; buffers && i < config.buffers; i++)
		for (f = 0; f < config.fields; f++) {
			size_t size = config.size / config.fields;

			size += f + 1 < config.fields ? 0 : config.size % config.fields;
			buffers[i][f] = (struct iovec){malloc(size), size};
			if (!buffers[i][f].iov_base)
				return NULL;
			memset(buffers[i][f].iov_base, 'p', size);
		}
	return buffers;
}

static void free_buffers(struct iovec (*buffers)[FIELDS_MAX])
{
	unsigned long i, f;

	for (i = 0; i < config.buffers; i++)
		for (f = 0; f < config.fields; f++)
			free(buffers[i][f].iov_base);
	free(buffers);
}

static void *sender(void *unused)
{
	struct sockaddr_storage to;
	socklen_t length = endpoint(config.address, port, &to);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	struct iovec(*buffers)[FIELDS_MAX] = make_buffers();

	(void)unused;
	if (fd < 0 || !buffers || setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)) ||
	    (config.congestion && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, config.congestion,
					     (socklen_t)strlen(config.congestion))) ||
	    connect(fd, (struct sockaddr *)&to, length))
		die("connecting");
	send_until_stopped(fd, buffers);
	close(fd);
	free_buffers(buffers);
	return NULL;
}

struct taker {
	int fd;
	unsigned long index;
};

static void *receiver(void *argument)
{
	const struct taker *t = argument;
	atomic_ulong *received = shared->received[t->index];
	char *buffer = malloc(RECEIVE_SIZE);
	ssize_t n;

	if (!buffer)
		die("buffer");
	while ((n = recv(t->fd, buffer, RECEIVE_SIZE, 0)) > 0)
		atomic_store_explicit(received,
				      atomic_load_explicit(received, memory_order_relaxed) +
					      (unsigned long)n,
				      memory_order_relaxed);
	free(buffer);
	return NULL;
}

static void receive_all(int listener)
{
	struct taker takers[THREADS_MAX];
	pthread_t threads[THREADS_MAX];
	unsigned long i;

	for (i = 0; i < config.threads; i++) {
		takers[i] = (struct taker){accept(listener, NULL, NULL), i};
		if (takers[i].fd < 0 || pthread_create(&threads[i], NULL, receiver, &takers[i]))
			die("accepting");
	}
	for (i = 0; i < config.threads; i++)
		pthread_join(threads[i], NULL);
}

/* Enters a network namespace. Sockets that are created in it stay in it. */
static void enter(const char *netns)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	fd = open(path, O_RDONLY);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
}

static int listen_there(void)
{
	struct sockaddr_storage at;
	socklen_t length = endpoint(config.address, 0, &at);
	int fd, here = open("/proc/self/ns/net", O_RDONLY);

	if (config.netns)
		enter(config.netns);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (config.netns && setns(here, CLONE_NEWNET))
		die("our own network namespace");
	close(here);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, length) || listen(fd, THREADS_MAX) ||
	    getsockname(fd, (struct sockaddr *)&at, &length))
		die("listening");
	port = ntohs(((struct sockaddr_in *)&at)->sin_port);
	return fd;
}

static uint64_t received(void)
{
	uint64_t sum = 0;
	unsigned long i;

	for (i = 0; i < config.threads; i++)
		sum += atomic_load_explicit(shared->received[i], memory_order_relaxed);
	return sum;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void wait_for(double seconds)
{
	struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

	while (nanosleep(&t, &t))
		;
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (config.pin && sched_setaffinity(0, sizeof(set), &set))
		die("--pin");
}

static double bits_per_second(void)
{
	pthread_t threads[THREADS_MAX];
	uint64_t before, bytes;
	double begun, took;
	unsigned long i;

	for (i = 0; i < config.threads; i++)
		if (pthread_create(&threads[i], NULL, sender, NULL))
			die("thread");
	wait_for(config.warmup);
	before = received();
	begun = now();
	wait_for(config.seconds);
	bytes = received() - before;
	took = now() - begun;
	atomic_store(&stopped, true);
	for (i = 0; i < config.threads; i++)
		pthread_join(threads[i], NULL);
	return (double)bytes * 8 / took;
}

static void read_seconds(struct argp_state *state, const char *text, void *at)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0 && value < 3600))
		argp_error(state, "%s: not a number of seconds", text);
	*(double *)at = value;
}

static const struct row rows[] = {
	{"size", 's', "BYTES", "of a send (65536)", AT(size), .max = 1 << 30},
	{"threads", 't', "N", "one connection each (1)", AT(threads), .max = THREADS_MAX},
	{"seconds", 'd', "T", "measured (1)", AT(seconds), .read = read_seconds},
	{"warmup", 'w', "T", "before (1)", AT(warmup), .read = read_seconds},
	{"buffers", 'b', "N", "buffers of a thread, used in turn (1)", AT(buffers), .max = 4096},
	{"fields", 'f', "N", "pieces of memory per send (1)", AT(fields), .max = FIELDS_MAX},
	{"address", 'a', "ADDRESS", "of the receiver (127.0.0.1)", .at = AT(address)},
	{"netns", 'n', "NAME", "and its network namespace (ours)", .at = AT(netns)},
	{"congestion", 'c', "NAME", "TCP congestion control (the system's)", .at = AT(congestion)},
	{"pin", 'p', NULL, "the ends to CPUs 0 and 1", .at = AT(pin)},
	{.name = NULL},
};

int main(int argc, char **argv)
{
	int listener, status;
	double rate;
	pid_t child;

	read_options(rows, &config, argc, argv);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("memory");
	listener = listen_there();
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin_to(1);
		receive_all(listener);
		_exit(0);
	}
	close(listener);
	pin_to(0);
	rate = bits_per_second();
	if (waitpid(child, &status, 0) != child || status)
		die("the receiver");
	printf("{\"throughput_bps\": %.0f}\n", rate);
	return 0;
}
