// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Many short connections. The serving process is the record's sender, and its sends are measured.
 * This process is the client, the record's receiver: it keeps a number of connections open, and
 * times each from connect to the answer's end of file. It uses a thread for each of them, or one
 * thread and epoll.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/hist_stats.h"
#include "common/units.h"
#include "loadgen/load.h"
#include "loadgen/run/run.h"
#include "loadgen/serving/server.h"

#define EVENTS	     256
#define LOST_AGE_NS  10000000000ULL /* a SYN that was retransmitted three times has waited 7 s */
#define LOST_IDLE_NS 5000000000ULL
#define LOOK_MS	     1000 /* how often is_lost() is called */
#define DESCRIPTORS  64	  /* descriptors that are not connections */
#define STACK_BYTES  (128u << 10)

/* A thread of the client, its connections and its counts. */
struct visitor {
	struct client *client;
	struct visit *slots; /* one connection; all with epoll */
	unsigned int count, busy;
	uint64_t left; /* connections to begin in this phase */
	struct visits visits;
	struct failure failure;
};

struct client {
	struct run *run;
	struct server_shared *shared;
	_Atomic uint64_t deadline_ns; /* of the phase; no connection begins later */
	int abort_fd;		      /* readable: abort what is in progress */
	int epoll;		      /* -1: a thread for each connection, with poll() */
	_Atomic uint64_t progress_ns; /* when any connection was last answered */
	struct visitor *visitors;
	struct visit *slots;
};

/* One connection in progress. */
struct visit {
	int fd; /* -1: none */
	bool connected;
	short events;	   /* events that are awaited */
	unsigned int port; /* the local port */
	uint64_t begin_ns, connected_ns;
	size_t length;
	char text[PROCINFO_TEXT];
};

/* Binds the socket before it connects, and marks its port, so that the server recognizes it. */
static int mark_port(struct visit *v, const struct client *c)
{
	struct sockaddr_storage own = c->shared->client;
	socklen_t length = c->run->listener.length;

	if (bind(v->fd, (struct sockaddr *)&own, length) ||
	    getsockname(v->fd, (struct sockaddr *)&own, &length))
		return errno == EADDRINUSE ? -EADDRNOTAVAIL : -errno;
	v->port = listener__port_of(&own);
	atomic_store(&c->shared->ports[v->port].ours, true);
	return 0;
}

/* Starts to connect. Returns 0 or a negative errno. */
static int begin_visit(struct visit *v, const struct client *c, struct visits *count)
{
	const struct listener *l = &c->run->listener;
	int err;

	*v = (struct visit){.fd = -1};
	count->started++;
	v->fd = socket(l->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = v->fd < 0 ? -errno : mark_port(v, c);
	v->begin_ns = now_ns();
	if (err)
		return err;
	if (connect(v->fd, (const struct sockaddr *)&l->address, l->length) && errno != EINPROGRESS)
		return -errno;
	return 0;
}

/* Handles a socket that became writable. */
static int note_connected(struct visit *v)
{
	socklen_t length = sizeof(int);
	int err = 0;

	if (getsockopt(v->fd, SOL_SOCKET, SO_ERROR, &err, &length))
		return -errno;
	v->connected_ns = now_ns();
	v->connected = true;
	return -err;
}

/* Handles a socket that became readable. Returns 1 when all is read. */
static int read_answer(struct visit *v)
{
	for (;;) {
		size_t room = sizeof(v->text) - v->length;
		ssize_t n = recv(v->fd, v->text + v->length, room, 0);

		if (n > 0)
			v->length += (size_t)n;
		else if (!n)
			return room ? 1 : -EMSGSIZE;
		else if (errno == EAGAIN)
			return 0;
		else if (errno != EINTR)
			return -errno;
	}
}

/* Returns whether the answer has two lines: at least this program's two processes are running. */
static bool is_answer(const struct visit *v)
{
	unsigned int lines = 0;

	for (size_t i = 0; i < v->length; i++)
		lines += v->text[i] == '\n';
	return lines == PROCINFO_TOP && v->text[v->length - 1] == '\n';
}

static uint64_t between(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static void count_answer(const struct visit *v, struct visitor *who)
{
	struct served *served = &who->client->shared->ports[v->port];
	uint64_t accepted = atomic_load(&served->accepted_ns);
	struct visits *c = &who->visits;

	c->answered++;
	atomic_store_explicit(&who->client->progress_ns, now_ns(), memory_order_relaxed);
	c->bytes += v->length;
	c->end_ns = now_ns();
	hist_add(&c->connect, v->connected_ns - v->begin_ns);
	hist_add(&c->accept, between(v->connected_ns, accepted));
	hist_add(&c->work, between(accepted, atomic_load(&served->ready_ns)));
	hist_add(&c->answer, c->end_ns - v->begin_ns);
}

static void count_failure(int err, struct visitor *who)
{
	who->visits.errors[-err < ERRNO_LIMIT ? -err : 0]++;
	if (err == -EMFILE || err == -ENFILE)
		failure__set(&who->failure, STATUS_FAILED, err,
			     "cannot make a socket: %m; raise the limit (ulimit -n) or give fewer "
			     "--connections");
	else if (err == -EADDRNOTAVAIL)
		failure__set(&who->failure, STATUS_FAILED, err,
			     "no port is free for another connection: widen "
			     "net.ipv4.ip_local_port_range, or give fewer --connections");
	else
		failure__set(&who->failure, STATUS_FAILED, err, "a connection failed: %s",
			     err == -EBADMSG ? "the answer does not have two processes"
					     : strerror(-err));
}

/*
 * Returns whether no answer will come: the connection has waited long, and no other connection was
 * answered lately. A listener that drops the last packet of a handshake leaves such connections:
 * the client considers them established, the server has forgotten them.
 */
static bool is_lost(const struct visit *v, const struct client *c)
{
	uint64_t now = now_ns();

	return now - v->begin_ns >= LOST_AGE_NS &&
	       between(atomic_load_explicit(&c->progress_ns, memory_order_relaxed), now) >=
		       LOST_IDLE_NS;
}

/* Counts the result of a connection and closes it. */
static void end_visit(struct visitor *who, struct visit *v, int err)
{
	if (!err && !is_answer(v))
		err = -EBADMSG;
	if (err == -ECANCELED)
		who->visits.unfinished++;
	else if (err == -ETIMEDOUT)
		who->visits.unanswered++;
	else if (err)
		count_failure(err, who);
	else
		count_answer(v, who);
	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
	who->busy--;
}

static int watch_visit(const struct client *c, struct visit *v, int op, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = v};

	v->events = (short)events;
	return c->epoll >= 0 && epoll_ctl(c->epoll, op, v->fd, &e) ? -errno : 0;
}

static void begin_if_due(struct visitor *who, struct visit *v)
{
	struct client *c = who->client;
	int err;

	if (!who->left || who->failure.status || now_ns() >= atomic_load(&c->deadline_ns))
		return;
	who->left--;
	who->busy++;
	err = begin_visit(v, c, &who->visits);
	if (!err)
		err = watch_visit(c, v, EPOLL_CTL_ADD, EPOLLOUT);
	if (err)
		end_visit(who, v, err);
}

static void step(struct visitor *who, struct visit *v)
{
	int over = 0;

	if (!v->connected) {
		over = note_connected(v);
		if (!over)
			over = watch_visit(who->client, v, EPOLL_CTL_MOD, EPOLLIN);
	} else {
		over = read_answer(v);
	}
	if (!over)
		return;
	end_visit(who, v, over > 0 ? 0 : over);
	begin_if_due(who, v);
}

static void end_all(struct visitor *who, bool lost_only, int err)
{
	for (struct visit *v = who->slots; v < who->slots + who->count; v++)
		if (v->fd >= 0 && (!lost_only || is_lost(v, who->client)))
			end_visit(who, v, err);
}

static int await_events(struct visitor *who, struct epoll_event events[EVENTS])
{
	const struct client *c = who->client;
	struct pollfd p[] = {{.fd = c->abort_fd, .events = POLLIN},
			     {.fd = who->slots->fd, .events = who->slots->events}};
	int n;

	if (c->epoll >= 0)
		return epoll_wait(c->epoll, events, EVENTS, LOOK_MS);
	n = poll(p, 2, LOOK_MS);
	events[0].data.ptr = p[0].revents ? NULL : who->slots;
	return n > 0 ? 1 : n;
}

static void run_visits(struct visitor *who)
{
	struct epoll_event events[EVENTS];

	for (struct visit *v = who->slots; v < who->slots + who->count; v++) {
		v->fd = -1;
		begin_if_due(who, v);
	}
	while (who->busy) {
		int n = await_events(who, events);

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr)
				step(who, events[i].data.ptr);
			else
				end_all(who, false, -ECANCELED);
			if (!who->busy)
				return;
		}
		if (!n)
			end_all(who, true, -ETIMEDOUT);
	}
}

/* A client thread: waits at the barrier for phases. */
static void *run_visitor(void *visitor)
{
	struct visitor *v = visitor;

	while (barrier__wait(&v->client->run->barrier, &v->failure)) {
		memset(&v->visits, 0, sizeof(v->visits));
		if (!v->failure.status)
			run_visits(v);
	}
	return NULL;
}

/* Raises the limit of open files: each end needs one descriptor per connection. */
static int raise_limit(struct run *run, struct failure *f)
{
	unsigned int connections = run->load->connections;

	return raise_files(units__text("--connections %u", connections), connections + DESCRIPTORS,
			   " or give fewer", f);
}

static int fork_server(struct run *run, struct failure *f)
{
	int err = listener__open(&run->listener, run->load, f);

	return err ? err : serving__start(&run->other, &run->listener, run->load, &run->cpus, f);
}

static int make_client(struct run *run, unsigned int count, bool epoll)
{
	struct client *c = run->state = calloc(1, sizeof(*c));
	unsigned int all = run->load->connections;
	struct epoll_event abandon = {.events = EPOLLIN};

	if (!c)
		return -ENOMEM;
	c->run = run;
	c->shared = run->other.shared;
	c->abort_fd = eventfd(0, EFD_CLOEXEC);
	c->epoll = epoll ? epoll_create1(EPOLL_CLOEXEC) : -1;
	c->visitors = calloc(count, sizeof(*c->visitors));
	c->slots = calloc(all, sizeof(*c->slots));
	if (c->abort_fd < 0 || !c->visitors || !c->slots ||
	    (epoll && epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->abort_fd, &abandon)))
		return -errno;
	for (unsigned int i = 0; i < count; i++) {
		c->visitors[i].client = c;
		c->visitors[i].slots = c->slots + i;
		c->visitors[i].count = all / count;
	}
	return listener__own_address(&run->listener, &c->shared->client);
}

/* Prepares the client and starts its threads, which wait at the barrier between phases. */
static int connect_client(struct run *run, struct failure *f)
{
	bool epoll = run->load->client_model == CLIENT_EPOLL;
	unsigned int count = epoll ? 1 : run->load->connections;
	int err = serving__begin(&run->other, f);
	struct client *c;

	if (err)
		return err;
	err = make_client(run, count, epoll);
	if (err)
		return failure__set(f, STATUS_FAILED, err, "cannot make %u connections: %m",
				    run->load->connections);
	c = run->state;
	err = barrier__start(&run->barrier, count, run_visitor, c->visitors, sizeof(*c->visitors),
			     STACK_BYTES);
	return failure__set(f, STATUS_FAILED, err,
			    "cannot start thread %u of %u: %m; give fewer --connections, or "
			    "--client-model epoll",
			    run->barrier.count + 1, count);
}

static void begin_visits(struct run *run, uint64_t deadline_ns, uint64_t rounds)
{
	struct client *c = run->state;

	atomic_store(&c->deadline_ns, deadline_ns);
	for (struct visitor *v = c->visitors; v < c->visitors + run->barrier.count; v++)
		v->left = rounds > UINT64_MAX / v->count ? UINT64_MAX : rounds * v->count;
}

/* Begins no more connections. Connections in progress finish. */
static void stop_visits(struct run *run)
{
	atomic_store(&((struct client *)run->state)->deadline_ns, 0);
}

/* Aborts the connections in progress, too. */
static void abandon_visits(struct run *run)
{
	stop_visits(run);
	eventfd_write(((struct client *)run->state)->abort_fd, 1);
}

static void add_visits(struct visits *sum, const struct visits *one)
{
	add_counters(sum, one, offsetof(struct visits, connect));
	hist__merge(&sum->connect, &one->connect);
	hist__merge(&sum->accept, &one->accept);
	hist__merge(&sum->work, &one->work);
	hist__merge(&sum->answer, &one->answer);
	if (one->end_ns > sum->end_ns)
		sum->end_ns = one->end_ns;
}

static uint64_t count_visits(struct run *run, struct result *r)
{
	const struct client *c = run->state;
	struct visits *v = &r->visits;

	for (unsigned int i = 0; i < run->barrier.count; i++)
		add_visits(v, &c->visitors[i].visits);
	v->turned_away = atomic_load(&c->shared->turned_away);
	r->received = r->bytes = v->bytes;
	r->messages = v->answered;
	r->errors = v->errors;
	r->latency = &v->answer;
	r->span = "connect..answer";
	return v->end_ns ? v->end_ns : now_ns();
}

static void clean_up_client(struct run *run)
{
	struct client *c = run->state;

	if (!c)
		return;
	if (c->abort_fd >= 0)
		close(c->abort_fd);
	if (c->epoll >= 0)
		close(c->epoll);
	free(c->visitors);
	free(c->slots);
	free(c);
}

const struct run_ops run_serving = {
	.prepare = raise_limit,
	.fork = fork_server,
	.connect = connect_client,
	.begin = begin_visits,
	.stop = stop_visits,
	.abandon = abandon_visits,
	.count = count_visits,
	.print = result__print_serving,
	.clean_up = clean_up_client,
};
