// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Opens and closes sockets: each makes a few zero-copy sends over loopback and is closed, so that
 * the kernel gives its memory to the next. The sockets end in four ways by turns, in three of them
 * with sends in flight. Prints its own counts as one JSON object.
 *
 *   churn [--sockets N] [--threads N] [--unread]
 *
 * Each connection ends by a reset, because with connections in TIME_WAIT, ports would run out. With
 * --unread, each makes one to eight sends of several sizes, between plain ones, and is closed at
 * once; its error queue is never read, and another thread receives.
 */
#include "common.h"

#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define THREADS_MAX 64
/*
 * The last send is held back (MSG_MORE) until it is pushed, or for 200 ms. All other sends leave at
 * once, without pacing, so that none shares a ubuf with the next.
 */
#define SENDS	3
#define SIZE	4096
#define UNPACED "reno"

struct config {
	unsigned long sockets, threads;
	bool unread;
};

struct counts {
	unsigned long sends;
	unsigned long unsent;				  /* sends whose data were discarded */
	unsigned long notifications, completions, copied; /* read from error queues */
};

/* The connections of a thread, with both ends of each. */
struct worker {
	pthread_t thread;
	unsigned long sockets;
	int listener;
	struct sockaddr_in at;
	struct counts counts;
};

static struct config config = {.sockets = 1000, .threads = 2};
static char data[60000];

static void close_by_reset(int fd)
{
	struct linger none = {.l_onoff = 1};

	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)) || close(fd))
		die("close");
}

/* Pushes the data that were held back; later sends do not wait for acknowledgements. */
static void push(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("TCP_NODELAY");
}

static int connect_to(const struct worker *w)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, UNPACED, sizeof(UNPACED) - 1) ||
	    connect(fd, (const struct sockaddr *)&w->at, sizeof(w->at)))
		die("connecting");
	push(fd);
	return fd;
}

static void send_all(struct worker *w, int fd)
{
	int flags = MSG_ZEROCOPY | MSG_DONTWAIT | MSG_NOSIGNAL, i;

	for (i = 1; i <= SENDS; i++)
		if (send(fd, data, SIZE, i < SENDS ? flags : flags | MSG_MORE) != SIZE)
			die("send");
	w->counts.sends += SENDS;
}

static void receive_all(int fd)
{
	char into[SENDS * SIZE];

	if (recv(fd, into, sizeof(into), MSG_WAITALL) != sizeof(into))
		die("recv");
}

/* Reads a notification. Returns how many sends it covers; 0: there is none. */
static unsigned long read_notification(struct worker *w, int fd)
{
	char control[128];
	struct msghdr msg = {.msg_control = control, .msg_controllen = sizeof(control)};
	struct sock_extended_err *e;
	unsigned long sends;

	if (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
		if (errno != EAGAIN)
			die("error queue");
		return 0;
	}
	e = (struct sock_extended_err *)CMSG_DATA(CMSG_FIRSTHDR(&msg));
	sends = e->ee_data - e->ee_info + 1;
	w->counts.notifications++;
	w->counts.completions += sends;
	if (e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
		w->counts.copied += sends;
	return sends;
}

static void read_completions(struct worker *w, int fd)
{
	unsigned long waiting = SENDS, sends;
	struct pollfd wait = {.fd = fd};

	while (waiting) {
		sends = read_notification(w, fd);
		if (!sends && poll(&wait, 1, -1) < 0)
			die("poll");
		waiting -= sends;
	}
}

static void await_reset(int fd)
{
	struct pollfd wait = {.fd = fd};

	if (poll(&wait, 1, -1) < 0)
		die("poll");
}

/* Returns how many sends are unsent (SIOCOUTQNSD) or unread (SIOCINQ). Dies if one is partial. */
static unsigned long whole_sends(int fd, unsigned long request)
{
	int bytes;

	if (ioctl(fd, request, &bytes))
		die("ioctl");
	if (bytes % SIZE) {
		errno = EMSGSIZE;
		die("a send went out in part");
	}
	return (unsigned long)bytes / SIZE;
}

/* Ends a connection after all data are received, and all completions are read. */
static void end_read(struct worker *w, int fd, int other)
{
	push(fd);
	receive_all(other);
	read_completions(w, fd);
	close_by_reset(fd);
	close(other);
}

/* Closes the sender with sends in flight, which are received afterwards. */
static void end_closed(struct worker *w, int fd, int other)
{
	(void)w;
	close(fd);
	receive_all(other);
	close_by_reset(other);
}

/* Closes the sender, which discards the sends in flight. */
static void end_aborted(struct worker *w, int fd, int other)
{
	close_by_reset(fd);
	await_reset(other);
	w->counts.unsent += SENDS - whole_sends(other, SIOCINQ);
	close(other);
}

/* Closes the receiver, which discards the sends in flight; then reads the completions. */
static void end_refused(struct worker *w, int fd, int other)
{
	close_by_reset(other);
	read_completions(w, fd);
	w->counts.unsent += whole_sends(fd, SIOCOUTQNSD);
	close(fd);
}

static void *receive(void *argument)
{
	struct worker *w = argument;
	char into[65536];
	unsigned long i;
	int fd;

	for (i = 0; i < w->sockets; i++) {
		fd = accept(w->listener, NULL, NULL);
		if (fd < 0)
			die("accept");
		while (recv(fd, into, sizeof(into), 0) > 0)
			;
		close(fd);
	}
	return NULL;
}

static void send_between_plain(struct worker *w, int fd, unsigned int *seed)
{
	static const size_t sizes[] = {1, 100, SIZE, 20000, sizeof(data)};
	int sends = 1 + rand_r(seed) % 8;

	w->counts.sends += (unsigned long)sends;
	while (sends--) {
		if (send(fd, data, sizes[rand_r(seed) % 5], MSG_ZEROCOPY) <= 0 ||
		    (rand_r(seed) % 3 == 0 && send(fd, data, sizes[1 + rand_r(seed) % 3], 0) <= 0))
			die("send");
	}
}

static void *worker_unread(void *argument)
{
	struct worker *w = argument;
	unsigned int seed = w->at.sin_port;
	pthread_t receiver;
	unsigned long i;
	int fd;

	if (pthread_create(&receiver, NULL, receive, w))
		die("thread");
	for (i = 0; i < w->sockets; i++) {
		fd = connect_to(w);
		send_between_plain(w, fd, &seed);
		close(fd);
	}
	pthread_join(receiver, NULL);
	return NULL;
}

static void *worker(void *argument)
{
	static void (*const ends[])(struct worker *, int, int) = {end_read, end_closed, end_aborted,
								  end_refused};
	struct worker *w = argument;
	unsigned long i;
	int fd, other;

	for (i = 0; i < w->sockets; i++) {
		fd = connect_to(w);
		other = accept(w->listener, NULL, NULL);
		if (other < 0)
			die("accept");
		send_all(w, fd);
		ends[i % (sizeof(ends) / sizeof(ends[0]))](w, fd, other);
	}
	return NULL;
}

static void start(struct worker *w)
{
	struct sockaddr_storage at;
	socklen_t length = endpoint("127.0.0.1", 0, &at);

	w->listener = socket(AF_INET, SOCK_STREAM, 0);
	if (w->listener < 0 || bind(w->listener, (struct sockaddr *)&at, length) ||
	    listen(w->listener, SOMAXCONN))
		die("listening");
	length = sizeof(w->at);
	if (getsockname(w->listener, (struct sockaddr *)&w->at, &length) ||
	    pthread_create(&w->thread, NULL, config.unread ? worker_unread : worker, w))
		die("thread");
}

static void add(struct counts *sum, const struct counts *of)
{
	sum->sends += of->sends;
	sum->unsent += of->unsent;
	sum->notifications += of->notifications;
	sum->completions += of->completions;
	sum->copied += of->copied;
}

static const struct row rows[] = {
	{"sockets", 'n', "N", "one after the other, of all threads (1000)", AT(sockets),
	 .max = 1000000000},
	{"threads", 't', "N", "(2)", AT(threads), .max = THREADS_MAX},
	{"unread", 'u', NULL, "close at once, without reading what was completed",
	 .at = AT(unread)},
	{.name = NULL},
};

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	struct counts sum = {0};
	unsigned long i;

	read_options(rows, &config, argc, argv);
	if (!config.threads) {
		fputs("churn: --threads is at least 1\n", stderr);
		return 2;
	}
	for (i = 0; i < config.threads; i++) {
		workers[i].sockets = config.sockets / config.threads;
		start(&workers[i]);
	}
	for (i = 0; i < config.threads; i++) {
		pthread_join(workers[i].thread, NULL);
		add(&sum, &workers[i].counts);
	}
	printf("{\"sends\": %lu, \"unsent\": %lu, "
	       "\"notifications\": %lu, \"completions\": %lu, \"copied\": %lu}\n",
	       sum.sends, sum.unsent, sum.notifications, sum.completions, sum.copied);
	return 0;
}
