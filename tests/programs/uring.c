// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sends by io_uring with plain syscalls: no library hides the requests to the kernel. Prints its
 * own counts as one JSON object. Each zero-copy send has a notification of its own, which reports a
 * copy if --report requested that.
 *
 *   uring --port P [OPTION...]
 *   uring --probe		exits with 0 if the kernel has the operation, else with
 * 	77 and a line with the reason
 */
#include "common.h"

#include <linux/errqueue.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SKIP	     77
#define ENTRIES	     64
#define IS_SEND	     1 /* user_data of the sends, which are counted */
#define WAKE_UP_SIZE 4096
/* Some headers lack these values of the kernel's interface. */
#define SEND_ZC_REPORT_USAGE (1U << 3)
#define USAGE_ZC_COPIED	     (1U << 31)

struct config {
	const char *address, *md5;
	unsigned long port;
	unsigned long sends, size;
	unsigned int operation; /* an IORING_OP_ constant */
	bool report, poll, probe;
	bool worker;	      /* a worker of io_uring sends */
	bool local;	      /* over a Unix socket that nobody reads */
	bool unmapped;	      /* from memory that cannot be read */
	bool cancelled;	      /* each read fails, and its linked sends are cancelled */
	bool option;	      /* SO_ZEROCOPY, and MSG_ZEROCOPY with each send */
	unsigned long header; /* bytes of a message's first part; 0: the message has one part */
	unsigned long depth;  /* zero-copy sends in flight */
	unsigned long linked; /* sends linked to a read, which another syscall completes; or 0 */
	const char *wake;     /* the syscall that completes the read */
};

struct counts {
	unsigned long sends, bytes, failed, completions, copied;
	int error;
};

struct ring {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static struct counts counts;

static void *map(int fd, size_t size, off_t offset)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

/* Makes a ring; returns false if the kernel allows none. */
static bool make_ring(struct ring *r, bool poll)
{
	struct io_uring_params p = {.flags = poll ? IORING_SETUP_SQPOLL : 0};
	char *sq, *cq;

	r->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &p);
	if (r->fd < 0)
		return false;
	sq = map(r->fd, p.sq_off.array + p.sq_entries * sizeof(unsigned int), IORING_OFF_SQ_RING);
	cq = map(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		 IORING_OFF_CQ_RING);
	r->sqes = map(r->fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	r->sq_tail = (void *)(sq + p.sq_off.tail);
	r->sq_mask = (void *)(sq + p.sq_off.ring_mask);
	r->sq_array = (void *)(sq + p.sq_off.array);
	r->cq_head = (void *)(cq + p.cq_off.head);
	r->cq_tail = (void *)(cq + p.cq_off.tail);
	r->cq_mask = (void *)(cq + p.cq_off.ring_mask);
	r->cqes = (void *)(cq + p.cq_off.cqes);
	return true;
}

static bool has_operation(struct ring *r, unsigned int operation)
{
	struct io_uring_probe *probe = calloc(1, sizeof(*probe) + 256 * sizeof(probe->ops[0]));
	bool has;

	if (!probe)
		die("probe");
	has = !syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_PROBE, probe, 256) &&
	      operation <= probe->last_op && probe->ops[operation].flags & IO_URING_OP_SUPPORTED;
	free(probe);
	return has;
}

static int probe(const struct config *c)
{
	struct ring ring;

	if (!make_ring(&ring, false)) {
		printf("the kernel allows no io_uring: %s\n", strerror(errno));
		return SKIP;
	}
	if (!has_operation(&ring, c->operation)) {
		puts("this kernel's io_uring has no zero-copy sends");
		return SKIP;
	}
	return 0;
}

static bool is_zerocopy(const struct config *c)
{
	return c->operation == IORING_OP_SEND_ZC || c->operation == IORING_OP_SENDMSG_ZC;
}

/* The message, which must stay valid until the kernel has read it. */
static struct iovec iov;
static struct iovec parts[2];
static struct msghdr message = {.msg_iov = parts};

static struct io_uring_sqe *next_entry(struct ring *r, unsigned int operation, unsigned int flags,
				       int fd)
{
	unsigned int tail = *r->sq_tail, index = tail & *r->sq_mask;
	struct io_uring_sqe *e = &r->sqes[index];

	memset(e, 0, sizeof(*e));
	e->opcode = (__u8)operation;
	e->flags = (__u8)flags;
	e->fd = fd;
	r->sq_array[index] = index;
	return e;
}

static void queue_send(struct ring *r, const struct config *c, int fd, unsigned int flags)
{
	bool by_message = c->operation == IORING_OP_SENDMSG_ZC || c->operation == IORING_OP_SENDMSG;
	struct io_uring_sqe *e =
		next_entry(r, c->operation, (c->worker ? IOSQE_ASYNC : 0) | flags, fd);

	e->addr = (unsigned long)(by_message ? (void *)&message : iov.iov_base);
	e->len = by_message ? 1 : (unsigned int)iov.iov_len;
	e->msg_flags = MSG_NOSIGNAL | MSG_WAITALL | (c->option ? 0x4000000 : 0); /* MSG_ZEROCOPY */
	e->ioprio = c->report ? SEND_ZC_REPORT_USAGE : 0;
	e->user_data = IS_SEND;
	__atomic_store_n(r->sq_tail, *r->sq_tail + 1, __ATOMIC_RELEASE);
}

static void submit(struct ring *r, const struct config *c, unsigned int entries)
{
	if (syscall(SYS_io_uring_enter, r->fd, entries, 0, c->poll ? IORING_ENTER_SQ_WAKEUP : 0,
		    NULL, 0) < 0)
		die("io_uring_enter");
}

static char wake_up[WAKE_UP_SIZE];

static void queue_read(struct ring *r, int fd)
{
	static char into[sizeof(wake_up)];
	struct io_uring_sqe *e = next_entry(r, IORING_OP_READ, IOSQE_IO_LINK, fd);

	e->addr = (unsigned long)into;
	e->len = sizeof(into);
	__atomic_store_n(r->sq_tail, *r->sq_tail + 1, __ATOMIC_RELEASE);
}

/* Makes a syscall that completes the read; at its end, task work runs the read and linked sends. */
static void wake(const struct config *c, int fd)
{
	struct iovec part = {wake_up, sizeof(wake_up)};
	struct mmsghdr one = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
	ssize_t n;

	if (!strcmp(c->wake, "sendto"))
		n = send(fd, wake_up, sizeof(wake_up), 0);
	else if (!strcmp(c->wake, "sendmsg"))
		n = sendmsg(fd, &one.msg_hdr, 0);
	else if (!strcmp(c->wake, "sendmmsg"))
		n = sendmmsg(fd, &one, 1, 0) == 1 ? (ssize_t)one.msg_len : -1;
	else
		n = write(fd, wake_up, sizeof(wake_up));
	if (n != sizeof(wake_up))
		die(c->wake);
}

static void count_entry(const struct io_uring_cqe *e)
{
	if (e->user_data != IS_SEND) {
		if (e->res != sizeof(wake_up) && e->res != -EBADF)
			die("read");
	} else if (e->flags & IORING_CQE_F_NOTIF) {
		counts.completions++;
		if ((unsigned int)e->res & USAGE_ZC_COPIED)
			counts.copied++;
	} else if (e->res < 0) {
		counts.failed++;
		counts.error = -e->res;
	} else {
		counts.sends++;
		counts.bytes += (unsigned long)e->res;
	}
}

/*
 * Waits until at most `left` results and notifications are outstanding. A result announces its
 * notification; a cancelled send announces none, but has one.
 */
static void reap(struct ring *r, unsigned long *results, unsigned long *owed, unsigned long left)
{
	unsigned int head;

	while (*results + *owed > left) {
		head = *r->cq_head;
		if (head == __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE)) {
			if (syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL,
				    0) < 0 &&
			    errno != EINTR)
				die("io_uring_enter");
			continue;
		}
		count_entry(&r->cqes[head & *r->cq_mask]);
		if (r->cqes[head & *r->cq_mask].flags & IORING_CQE_F_NOTIF)
			*owed -= *owed > 0;
		else
			--*results;
		if (r->cqes[head & *r->cq_mask].flags & IORING_CQE_F_MORE)
			++*owed;
		__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	}
}

static int connect_to(const struct config *c)
{
	struct sockaddr_storage to;
	socklen_t length = endpoint(c->address, c->port, &to);
	int fd = socket(to.ss_family, SOCK_STREAM, 0), one = 1;

	if (fd < 0)
		die("socket");
	if (c->md5)
		sign(fd, c->md5);
	if (connect(fd, (struct sockaddr *)&to, length))
		die("connect");
	if (c->option && setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		die("SO_ZEROCOPY");
	return fd;
}

static int unix_socket(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die("socketpair");
	return ends[0];
}

/* Reads the completions of MSG_ZEROCOPY from the error queue. */
static void drain(int fd)
{
	char control[512];
	struct msghdr msg = {.msg_control = control};
	struct sock_extended_err *e;
	unsigned long completions = 0;

	while (completions < counts.sends) {
		msg.msg_controllen = sizeof(control);
		if (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
			poll(&(struct pollfd){.fd = fd}, 1, -1);
			continue;
		}
		e = (void *)CMSG_DATA(CMSG_FIRSTHDR(&msg));
		completions += e->ee_data - e->ee_info + 1;
		if (e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
			counts.copied += e->ee_data - e->ee_info + 1;
	}
	counts.completions = completions;
}

/* Sends one after the other. Each has ended before the next is submitted, so none is cut short. */
static void send_each(struct ring *r, const struct config *c, int fd)
{
	unsigned long i, results = 0, owed = 0;

	for (i = 0; i < c->sends; i++) {
		results++;
		queue_send(r, c, fd, 0);
		submit(r, c, 1);
		reap(r, &results, &owed, is_zerocopy(c) ? c->depth - 1 : 0);
	}
	reap(r, &results, &owed, 0);
}

/*
 * Submits a read without data yet, and sends linked to it; another syscall then completes the read.
 * If the sends are to be cancelled, the read fails at once.
 */
static void send_linked(struct ring *r, const struct config *c, int fd)
{
	unsigned long i, sent, results, owed = 0;
	int ends[2];

	if (strcmp(c->wake, "write") ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends))
		die(c->wake);
	for (sent = 0; sent < c->sends; sent += c->linked) {
		results = 1 + c->linked;
		queue_read(r, c->cancelled ? -1 : ends[0]);
		for (i = 1; i <= c->linked; i++)
			queue_send(r, c, fd, i < c->linked ? IOSQE_IO_LINK : 0);
		submit(r, c, (unsigned int)results);
		if (!c->cancelled)
			wake(c, ends[1]);
		reap(r, &results, &owed, 0);
	}
}

static void *make_buffer(const struct config *c)
{
	void *buffer;

	if (c->unmapped)
		return mmap(NULL, c->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	buffer = malloc(c->size);
	if (!buffer)
		die("buffer");
	return memset(buffer, 'u', c->size);
}

static int transmit(const struct config *c)
{
	int fd = c->local ? unix_socket() : connect_to(c);
	struct ring ring;

	if (!make_ring(&ring, c->poll))
		die("io_uring_setup");
	iov = (struct iovec){make_buffer(c), c->size};
	parts[0] = (struct iovec){iov.iov_base, c->header ? c->header : c->size};
	parts[1] = (struct iovec){(char *)iov.iov_base + c->header, c->size - c->header};
	message.msg_iovlen = c->header ? 2 : 1;
	(c->linked ? send_linked : send_each)(&ring, c, fd);
	if (c->option)
		drain(fd);
	printf("{\"sends\": %lu, \"bytes\": %lu, \"failed\": %lu, \"errno\": %d, "
	       "\"completions\": %lu, \"copied\": %lu}\n",
	       counts.sends, counts.bytes, counts.failed, counts.error, counts.completions,
	       counts.copied);
	return 0;
}

static void read_operation(struct argp_state *state, const char *name, void *at)
{
	static const struct {
		const char *name;
		unsigned int operation;
	} names[] = {{"send", IORING_OP_SEND},
		     {"sendmsg", IORING_OP_SENDMSG},
		     {"send-zc", IORING_OP_SEND_ZC},
		     {"sendmsg-zc", IORING_OP_SENDMSG_ZC}};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i].name))
			break;
	if (i == sizeof(names) / sizeof(names[0]))
		argp_error(state, "%s: no such way", name);
	*(unsigned int *)at = names[i].operation;
}

static const struct row rows[] = {
	{"address", 'a', "ADDRESS", "IPv4 or IPv6 (127.0.0.1)", .at = AT(address)},
	{"port", 'p', "PORT", "to connect to", AT(port), .max = 65535},
	{"sends", 'n', "N", "how many (1000)", AT(sends), .max = 1000000000},
	{"size", 's', "BYTES", "of each (16384)", AT(size), .max = 1 << 30},
	{"by", 'b', "NAME", "send, sendmsg, send-zc (default) or sendmsg-zc", AT(operation),
	 .read = read_operation},
	{"header", 'H', "BYTES", "with sendmsg-zc: give the first part of a message BYTES bytes",
	 AT(header), .max = 4096},
	{"depth", 'd', "N", "zero-copy sends in flight at most (9)", AT(depth), .max = 4096},
	{"report", 'r', NULL, "request a report of copies", .at = AT(report)},
	{"worker", 'w', NULL, "let a worker thread send", .at = AT(worker)},
	{"poll", 'q', NULL, "let a kernel thread read submissions", .at = AT(poll)},
	{"flag", 'f', NULL, "with SO_ZEROCOPY and MSG_ZEROCOPY, as by sendmsg()", .at = AT(option)},
	{"linked", 'l', "N", "link N sends to a read that another syscall completes", AT(linked),
	 .max = ENTRIES - 1},
	{"wake", 'k', "NAME", "that is: write (default), sendto, sendmsg or sendmmsg",
	 .at = AT(wake)},
	{"md5", '5', "ADDRESS", "sign what goes to it and comes from it (TCP-MD5)", .at = AT(md5)},
	{"unix", 'u', NULL, "send over a Unix socket", .at = AT(local)},
	{"unmapped", 'm', NULL, "send from memory that cannot be read", .at = AT(unmapped)},
	{"cancelled", 'c', NULL, "with --linked: each read fails, and cancels its sends",
	 .at = AT(cancelled)},
	{"probe", 'P', NULL, "only test whether the kernel can do it", .at = AT(probe)},
	{.name = NULL},
};

int main(int argc, char **argv)
{
	struct config c = {.address = "127.0.0.1",
			   .sends = 1000,
			   .wake = "write",
			   .size = 16384,
			   .depth = 9,
			   .operation = IORING_OP_SEND_ZC};

	read_options(rows, &c, argc, argv);
	return c.probe ? probe(&c) : transmit(&c);
}
