// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A sender that is independent of the project. Tests compare records with its own counts, which it
 * prints as one JSON object per line.
 *
 *   peer --port P [OPTION...]     connects, sends, waits for the completions, prints
 * 	its counts
 *   peer --steps ...              prints that it is ready. Then it executes the lines of
 * 	its standard input: "send N", "read" (the error queues), "drain" (wait for all
 * 	completions), "settle" (wait until the kernel holds no data that were sent,
 * 	without reading the error queue) or "quit". It prints its counts after each.
 *
 * All sends come from one buffer that is never written again, so that none waits for a completion
 * unless memory is short (--inflight).
 */
#include "common.h"

#include <linux/bpf.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/tls.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define BATCH_MAX 64
#define PARTS_MAX 64
#define GAP	  8192	/* bytes between parts that must not be adjacent */
#define SETTLE_MS 20000 /* a longer wait is an error */

enum way { BY_SEND, BY_SENDMSG, BY_SENDMMSG, BY_WRITE, BY_WRITEV, WAYS };
static const char *const way_names[] = {"send", "sendmsg", "sendmmsg", "write", "writev"};

struct config {
	bool steps, plain, without_option, tls, sockmap, now, fast_open, defer;
	const char *address, *device, *md5;
	unsigned long port;
	unsigned long sends, size, batch, inflight, connections, parts, buffer;
	enum way way;
	unsigned int timestamps; /* flags of SO_TIMESTAMPING */
};

struct counts {
	unsigned long sends, bytes; /* accepted by the kernel */
	unsigned long failed;
	int last_errno;
	unsigned long completions, copied; /* reported by the error queues */
	unsigned long notifications, timestamps;
};

struct connection {
	int fd;
	unsigned long sent, completed;
};

static struct counts counts;
static struct connection *connections;
static char *buffer;

/* Makes the kernel encrypt what is sent from now on. */
static void encrypt(int fd)
{
	struct tls12_crypto_info_aes_gcm_128 keys = {
		.info = {.version = TLS_1_2_VERSION, .cipher_type = TLS_CIPHER_AES_GCM_128}};

	if (setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")) ||
	    setsockopt(fd, SOL_TLS, TLS_TX, &keys, sizeof(keys)))
		die("kTLS");
}

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	long result = syscall(SYS_bpf, command, attr, sizeof(*attr));

	if (result < 0)
		die("bpf");
	return (int)result;
}

/* Attaches a BPF program that decides about each message from now on; this one passes all. */
static void put_into_sockmap(int fd)
{
	const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = SK_PASS},
		{.code = BPF_JMP | BPF_EXIT}};
	__u32 zero = 0;
	int map = bpf(BPF_MAP_CREATE, &(union bpf_attr){.map_type = BPF_MAP_TYPE_SOCKMAP,
							.key_size = 4,
							.value_size = 4,
							.max_entries = 1});
	int program = bpf(BPF_PROG_LOAD, &(union bpf_attr){.prog_type = BPF_PROG_TYPE_SK_MSG,
							   .insns = (__u64)pass,
							   .insn_cnt = 2,
							   .license = (__u64) "GPL"});

	bpf(BPF_PROG_ATTACH, &(union bpf_attr){.target_fd = (__u32)map,
					       .attach_bpf_fd = (__u32)program,
					       .attach_type = BPF_SK_MSG_VERDICT});
	bpf(BPF_MAP_UPDATE_ELEM,
	    &(union bpf_attr){.map_fd = (__u32)map, .key = (__u64)&zero, .value = (__u64)&fd});
}

static int open_connection(const struct config *c, const struct sockaddr_storage *to,
			   socklen_t length)
{
	int one = 1, fd = socket(to->ss_family, SOCK_STREAM, 0);

	if (fd < 0)
		die("socket");
	if (c->device &&
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, c->device, (socklen_t)strlen(c->device)))
		die(c->device);
	if (!c->plain && !c->without_option &&
	    setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		die("SO_ZEROCOPY");
	if (c->buffer &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &(int){(int)c->buffer}, sizeof(int)))
		die("SO_SNDBUFFORCE");
	if (c->md5)
		sign(fd, c->md5);
	if (c->defer && setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof(one)))
		die("TCP_FASTOPEN_CONNECT");
	if (!c->fast_open && connect(fd, (const struct sockaddr *)to, length))
		die("connect");
	if (c->tls)
		encrypt(fd);
	if (c->sockmap)
		put_into_sockmap(fd);
	if (c->timestamps &&
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &c->timestamps, sizeof(c->timestamps)))
		die("SO_TIMESTAMPING");
	return fd;
}

static void count_one(struct connection *n, ssize_t bytes)
{
	if (bytes < 0) {
		counts.failed++;
		counts.last_errno = errno;
		return;
	}
	n->sent++;
	counts.sends++;
	counts.bytes += (unsigned long)bytes;
}

/* Sends data in the packet that opens the connection. */
static void send_first(const struct config *c, struct connection *n,
		       const struct sockaddr_storage *to, socklen_t length)
{
	int flags = MSG_NOSIGNAL | MSG_FASTOPEN | (c->plain ? 0 : MSG_ZEROCOPY);

	count_one(n, sendto(n->fd, buffer, c->size, flags, (const struct sockaddr *)to, length));
}

static void connect_all(const struct config *c)
{
	struct sockaddr_storage to;
	socklen_t length = endpoint(c->address, c->port, &to);
	unsigned long i;

	connections = calloc(c->connections, sizeof(*connections));
	if (!connections)
		die("connections");
	for (i = 0; i < c->connections; i++) {
		connections[i].fd = open_connection(c, &to, length);
		if (c->fast_open)
			send_first(c, &connections[i], &to, length);
	}
}

static bool expects_completions(const struct config *c)
{
	return !c->plain && !c->without_option && c->way < BY_WRITE;
}

static void read_extended(struct connection *n, const struct sock_extended_err *e)
{
	unsigned long sends;

	if (e->ee_origin == SO_EE_ORIGIN_TIMESTAMPING)
		counts.timestamps++;
	if (e->ee_origin != SO_EE_ORIGIN_ZEROCOPY)
		return;
	sends = e->ee_data - e->ee_info + 1;
	n->completed += sends;
	counts.notifications++;
	counts.completions += sends;
	if (e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
		counts.copied += sends;
}

/* Reads one message of the error queue; returns false if there is none. */
static bool read_error_queue(struct connection *n)
{
	char control[512], data[256];
	struct iovec iov = {data, sizeof(data)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c;

	if (recvmsg(n->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
		if (errno != EAGAIN)
			die("error queue");
		return false;
	}
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		if ((c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR) ||
		    (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR))
			read_extended(n, (struct sock_extended_err *)CMSG_DATA(c));
	return true;
}

/* Waits until at most `left` sends of the connection lack a completion. */
static void drain(struct connection *n, unsigned long left)
{
	struct pollfd wait = {.fd = n->fd};

	while (n->sent - n->completed > left)
		if (!read_error_queue(n) && poll(&wait, 1, -1) < 0 && errno != EINTR)
			die("poll");
}

static void drain_all(const struct config *c)
{
	unsigned long i;

	for (i = 0; i < c->connections && expects_completions(c); i++)
		drain(&connections[i], 0);
}

static void read_all(const struct config *c)
{
	unsigned long i;

	for (i = 0; i < c->connections; i++)
		while (read_error_queue(&connections[i]))
			;
}

/* Returns whether the kernel still holds sent data: unacknowledged, or in a driver. */
static bool is_held(int fd)
{
	unsigned int memory[SK_MEMINFO_VARS];
	socklen_t length = sizeof(memory);
	int unacknowledged;

	if (ioctl(fd, SIOCOUTQ, &unacknowledged) ||
	    getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &length))
		die("looking at what is held");
	return unacknowledged || memory[SK_MEMINFO_WMEM_ALLOC];
}

static void settle_all(const struct config *c)
{
	unsigned long i;
	int ms = 0;

	for (i = 0; i < c->connections; i++) {
		while (is_held(connections[i].fd)) {
			if (ms++ == SETTLE_MS) {
				errno = ETIMEDOUT;
				die("settling");
			}
			poll(NULL, 0, 1);
		}
	}
}

/* Sends several messages by one syscall, each a send of its own. */
static void send_batch(struct connection *n, const struct msghdr *msg, unsigned long batch,
		       int flags)
{
	struct mmsghdr messages[BATCH_MAX] = {};
	unsigned long i;
	int done;

	for (i = 0; i < batch; i++)
		messages[i].msg_hdr = *msg;
	done = sendmmsg(n->fd, messages, (unsigned int)batch, flags);
	if (done < 0)
		count_one(n, done);
	for (i = 0; (int)i < done; i++)
		count_one(n, messages[i].msg_len);
}

/* Returns the distance between the beginnings of two consecutive parts. */
static unsigned long stride(const struct config *c)
{
	return c->size / c->parts + (c->parts > 2 ? GAP : 0);
}

/* Divides a message into parts, for sends by vector. The last part has the remainder. */
static void divide(const struct config *c, struct iovec *iov)
{
	unsigned long i;

	for (i = 0; i < c->parts; i++) {
		iov[i].iov_base = buffer + i * stride(c);
		iov[i].iov_len = c->size / c->parts;
	}
	iov[i - 1].iov_len += c->size % c->parts;
}

/* Makes one syscall. Returns how many of the wanted sends the syscall attempted. */
static unsigned long send_some(const struct config *c, struct connection *n, unsigned long wanted)
{
	int flags = MSG_NOSIGNAL | (c->plain ? 0 : MSG_ZEROCOPY) | (c->now ? MSG_DONTWAIT : 0);
	struct iovec iov[PARTS_MAX];
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = c->parts};
	unsigned long batch = wanted < c->batch ? wanted : c->batch;

	divide(c, iov);
	switch (c->way) {
	case BY_SEND:
		count_one(n, send(n->fd, buffer, c->size, flags));
		return 1;
	case BY_SENDMSG:
		count_one(n, sendmsg(n->fd, &msg, flags));
		return 1;
	case BY_SENDMMSG:
		send_batch(n, &msg, batch, flags);
		return batch;
	case BY_WRITE:
		count_one(n, write(n->fd, buffer, c->size));
		return 1;
	default:
		count_one(n, writev(n->fd, iov, (int)c->parts));
		return 1;
	}
}

/* Sends on each connection in turn. */
static void send_all(const struct config *c, unsigned long sends)
{
	unsigned long done = 0, room = c->way == BY_SENDMMSG ? c->batch : 1, i = 0;
	struct connection *n;

	while (done < sends) {
		n = &connections[i++ % c->connections];
		if (expects_completions(c))
			drain(n, c->inflight > room ? c->inflight - room : 0);
		done += send_some(c, n, sends - done);
	}
}

static void print_counts(void)
{
	printf("{\"sends\": %lu, \"bytes\": %lu, \"failed\": %lu, \"errno\": %d, "
	       "\"completions\": %lu, \"copied\": %lu, \"notifications\": %lu, "
	       "\"timestamps\": %lu}\n",
	       counts.sends, counts.bytes, counts.failed, counts.last_errno, counts.completions,
	       counts.copied, counts.notifications, counts.timestamps);
	fflush(stdout);
}

static void follow_steps(const struct config *c)
{
	unsigned long n;
	char line[128];

	print_counts();
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n")) {
		if (sscanf(line, "send %lu", &n) == 1)
			send_all(c, n);
		else if (!strcmp(line, "read\n"))
			read_all(c);
		else if (!strcmp(line, "drain\n"))
			drain_all(c);
		else if (!strcmp(line, "settle\n"))
			settle_all(c);
		print_counts();
	}
}

static int transmit(const struct config *c)
{
	buffer = malloc(c->parts * stride(c) + c->parts);
	if (!buffer)
		die("buffer");
	memset(buffer, 'p', c->parts * stride(c) + c->parts);
	connect_all(c);
	if (c->steps)
		follow_steps(c);
	else
		send_all(c, c->sends);
	drain_all(c);
	print_counts();
	return 0;
}

static void read_way(struct argp_state *state, const char *name, void *at)
{
	enum way way = 0;

	while (way < WAYS && strcmp(name, way_names[way]))
		way++;
	if (way == WAYS)
		argp_error(state, "%s: no such way", name);
	*(enum way *)at = way;
}

static void read_timestamps(struct argp_state *state, const char *how, void *at)
{
	unsigned int flags = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_TX_SCHED |
			     SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID;

	if (!strcmp(how, "tsonly"))
		flags |= SOF_TIMESTAMPING_OPT_TSONLY;
	else if (strcmp(how, "data"))
		argp_error(state, "%s: give data or tsonly", how);
	*(unsigned int *)at = flags;
}

static const struct row rows[] = {
	{"address", 'a', "ADDRESS", "IPv4 or IPv6 (127.0.0.1)", .at = AT(address)},
	{"port", 'p', "PORT", "to connect to", AT(port), .max = 65535},
	{"sends", 'n', "N", "how many (1000)", AT(sends), .max = 1000000000},
	{"size", 's', "BYTES", "of each (16384)", AT(size), .max = 1 << 30},
	{"by", 'b', "NAME", "send, sendmsg (default), sendmmsg, write or writev", AT(way),
	 .read = read_way},
	{"batch", 'm', "N", "sends per sendmmsg (8)", AT(batch), .max = BATCH_MAX},
	{"parts", 'v', "N", "of a send by sendmsg or writev (2); more are pages apart", AT(parts),
	 .max = PARTS_MAX},
	{"inflight", 'i', "N", "sends of a connection without a completion (16)", AT(inflight),
	 .max = 1000000},
	{"connections", 'c', "N", "(1)", AT(connections), .max = 1000000},
	{"send-buffer", 'B', "BYTES", "of a socket, beyond the system's limit (the system's)",
	 AT(buffer), .max = 1 << 29},
	{"plain", 'P', NULL, "without MSG_ZEROCOPY", .at = AT(plain)},
	{"without-option", 'w', NULL, "with MSG_ZEROCOPY, without SO_ZEROCOPY",
	 .at = AT(without_option)},
	{"timestamps", 't', "HOW", "request timestamps: data or tsonly", AT(timestamps),
	 .read = read_timestamps},
	{"device", 'd', "NAME", "bind to it", .at = AT(device)},
	{"tls", 'l', NULL, "let the kernel encrypt (kTLS)", .at = AT(tls)},
	{"sockmap", 'k', NULL, "let a BPF program decide about each message (sk_msg)",
	 .at = AT(sockmap)},
	{"md5", '5', "ADDRESS", "sign what goes to it and comes from it (TCP-MD5)", .at = AT(md5)},
	{"fast-open", 'f', NULL, "connect by the first send (MSG_FASTOPEN)", .at = AT(fast_open)},
	{"defer", 'D', NULL, "connect when there are data (TCP_FASTOPEN_CONNECT)", .at = AT(defer)},
	{"now", 'N', NULL, "wait for no room in the socket (MSG_DONTWAIT)", .at = AT(now)},
	{"steps", 'S', NULL, "execute the lines of standard input", .at = AT(steps)},
	{.name = NULL},
};

int main(int argc, char **argv)
{
	struct config c = {.address = "127.0.0.1",
			   .sends = 1000,
			   .size = 16384,
			   .batch = 8,
			   .parts = 2,
			   .inflight = 16,
			   .connections = 1,
			   .way = BY_SENDMSG};

	read_options(rows, &c, argc, argv);
	if (!c.connections || !c.batch || !c.inflight || !c.parts) {
		fputs("peer: --connections, --batch, --parts and --inflight are at least 1\n",
		      stderr);
		return 2;
	}
	raise_nofile();
	return transmit(&c);
}
