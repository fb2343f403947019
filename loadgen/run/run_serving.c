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
#define DESCRIPTORS  64	  /* descriptors beside those of connections */
#define STACK_BYTES  (128u << 10)

/* A thread of the client and what it counts. */
struct visitor {
	struct client *client;
	uint64_t rounds; /* connections per slot in this phase */
	struct visits visits;
	struct failure failure;
};

struct client {
	struct run *run;
	struct server_shared *shared;
	_Atomic uint64_t deadline_ns; /* of the phase: no connection begins after it */
	int abort_fd;		      /* readable: abort what is in progress */
	_Atomic uint64_t progress_ns; /* when any connection was last answered */
	struct visitor *visitors;
};

/* One connection in progress. */
struct visit {
	int fd; /* -1: none */
	bool connected;
	short events;	   /* events that are awaited */
	unsigned int port; /* its local port */
	uint64_t begin_ns, connected_ns;
	size_t length;
	char text[PROCINFO_TEXT];
};

/* Bound before it connects, so that the server can know its port. */
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

/* Begins to connect. This and the next two functions return 0 or a negative errno. */
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

/* The socket became writable. */
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

/* The socket became readable. Returns 1 when all is read. */
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

/* The answer has two lines, one per process; there are always two, because this program has two. */
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
			     "cannot make a socket: %s; raise the limit (ulimit -n) or give fewer "
			     "--connections",
			     strerror(-err));
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
 * No answer will come: the connection has waited long, and no other was answered lately. A listener
 * that drops the last packet of a handshake leaves such connections: the client believes them
 * established, the server has forgotten them.
 */
static bool is_lost(const struct visit *v, const struct client *c)
{
	uint64_t now = now_ns();

	return now - v->begin_ns >= LOST_AGE_NS &&
	       between(atomic_load_explicit(&c->progress_ns, memory_order_relaxed), now) >=
		       LOST_IDLE_NS;
}

/* Counts the result of a connection and closes it. */
static void end_visit(struct visit *v, int err, struct visitor *who)
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
}

/* The connections of a thread: one, or with epoll all of them. */
struct crowd {
	struct visitor *who;
	int epoll; /* -1: one connection, with poll() */
	struct visit *slots;
	unsigned int count, busy;
	uint64_t left; /* connections to begin */
};

static int watch(struct crowd *c, struct visit *v, int op, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = v};

	v->events = (short)events;
	return c->epoll >= 0 && epoll_ctl(c->epoll, op, v->fd, &e) ? -errno : 0;
}

static bool may_begin(struct crowd *c)
{
	return c->left && !c->who->failure.status &&
	       now_ns() < atomic_load(&c->who->client->deadline_ns);
}

static void end_one(struct crowd *c, struct visit *v, int err)
{
	end_visit(v, err, c->who);
	c->busy--;
}

static void begin_one(struct crowd *c, struct visit *v)
{
	int err;

	c->left--;
	c->busy++;
	err = begin_visit(v, c->who->client, &c->who->visits);
	if (!err)
		err = watch(c, v, EPOLL_CTL_ADD, EPOLLOUT);
	if (err)
		end_one(c, v, err);
}

static void step(struct crowd *c, struct visit *v)
{
	int over = 0;

	if (!v->connected) {
		over = note_connected(v);
		if (!over)
			over = watch(c, v, EPOLL_CTL_MOD, EPOLLIN);
	} else {
		over = read_answer(v);
	}
	if (!over)
		return;
	end_one(c, v, over > 0 ? 0 : over);
	if (may_begin(c))
		begin_one(c, v);
}

static void end_all(struct crowd *c, bool lost_only, int err)
{
	for (unsigned int i = 0; i < c->count; i++)
		if (c->slots[i].fd >= 0 && (!lost_only || is_lost(&c->slots[i], c->who->client)))
			end_one(c, &c->slots[i], err);
}

static int await_events(struct crowd *c, struct epoll_event events[EVENTS])
{
	struct pollfd p[] = {{.fd = c->who->client->abort_fd, .events = POLLIN},
			     {.fd = c->slots->fd, .events = c->slots->events}};
	int n;

	if (c->epoll >= 0)
		return epoll_wait(c->epoll, events, EVENTS, LOOK_MS);
	n = poll(p, 2, LOOK_MS);
	events[0].data.ptr = p[0].revents ? NULL : c->slots;
	return n > 0 ? 1 : n;
}

static void run_crowd(struct crowd *c)
{
	struct epoll_event events[EVENTS];

	for (unsigned int i = 0; i < c->count; i++)
		c->slots[i].fd = -1;
	for (unsigned int i = 0; i < c->count && may_begin(c); i++)
		begin_one(c, &c->slots[i]);
	while (c->busy) {
		int n = await_events(c, events);

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr)
				step(c, events[i].data.ptr);
			else
				end_all(c, false, -ECANCELED);
			if (!c->busy)
				return;
		}
		if (!n)
			end_all(c, true, -ETIMEDOUT);
	}
}

static void run_phase(struct visitor *who)
{
	bool all = who->client->run->load->client_model == CLIENT_EPOLL;
	struct epoll_event abandon = {.events = EPOLLIN};
	struct crowd c = {
		.who = who,
		.count = all ? who->client->run->load->connections : 1,
		.epoll = all ? epoll_create1(EPOLL_CLOEXEC) : -1,
	};

	c.left = who->rounds > UINT64_MAX / c.count ? UINT64_MAX : who->rounds * c.count;
	c.slots = calloc(c.count, sizeof(*c.slots));
	if (!c.slots || (all && (c.epoll < 0 || epoll_ctl(c.epoll, EPOLL_CTL_ADD,
							  who->client->abort_fd, &abandon))))
		failure__set(&who->failure, STATUS_FAILED, -errno, "cannot watch connections: %s",
			     strerror(errno));
	else
		run_crowd(&c);
	if (c.epoll >= 0)
		close(c.epoll);
	free(c.slots);
}

/* A client thread: waits at the barrier for phases, and makes at most so many rounds in each. */
static void *run_visitor(void *visitor)
{
	struct visitor *v = visitor;

	while (barrier__wait(&v->client->run->barrier, &v->failure)) {
		memset(&v->visits, 0, sizeof(v->visits));
		if (!v->failure.status)
			run_phase(v);
	}
	return NULL;
}

/* Each end needs one descriptor per connection. */
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

static int make_client(struct run *run, unsigned int count)
{
	struct client *c = run->state = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->run = run;
	c->shared = run->other.shared;
	c->abort_fd = eventfd(0, EFD_CLOEXEC);
	c->visitors = c->abort_fd < 0 ? NULL : calloc(count, sizeof(*c->visitors));
	if (!c->visitors)
		return -errno;
	for (unsigned int i = 0; i < count; i++)
		c->visitors[i].client = c;
	return listener__own_address(&run->listener, &c->shared->client);
}

/* The threads then wait at the barrier; they serve for all phases. */
static int connect_client(struct run *run, struct failure *f)
{
	bool epoll = run->load->client_model == CLIENT_EPOLL;
	unsigned int count = epoll ? 1 : run->load->connections;
	int err = serving__begin(&run->other, f);
	struct client *c;

	if (err)
		return err;
	err = make_client(run, count);
	if (err)
		return failure__set(f, STATUS_FAILED, err, "cannot make %u connections: %s",
				    run->load->connections, strerror(-err));
	c = run->state;
	err = barrier__start(&run->barrier, count, run_visitor, c->visitors, sizeof(*c->visitors),
			     STACK_BYTES);
	return err ? failure__set(f, STATUS_FAILED, err,
				  "cannot start thread %u of %u: %s; give fewer --connections, or "
				  "--client-model epoll",
				  run->barrier.count + 1, count, strerror(-err))
		   : 0;
}

static void begin(struct run *run, uint64_t deadline_ns, uint64_t rounds)
{
	struct client *c = run->state;

	atomic_store(&c->deadline_ns, deadline_ns);
	for (unsigned int i = 0; i < run->barrier.count; i++)
		c->visitors[i].rounds = rounds;
}

/* No more connections begin; those in progress finish. */
static void stop(struct run *run)
{
	atomic_store(&((struct client *)run->state)->deadline_ns, 0);
}

/* Those in progress are aborted, too. */
static void abandon(struct run *run)
{
	stop(run);
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

static uint64_t count(struct run *run, struct result *r)
{
	const struct client *c = run->state;
	struct visits *v = &r->visits;

	for (unsigned int i = 0; i < run->barrier.count; i++)
		add_visits(v, &c->visitors[i].visits);
	v->turned_away = atomic_load(&c->shared->strangers);
	r->received = r->bytes = v->bytes;
	r->messages = v->answered;
	r->errors = v->errors;
	r->latency = &v->answer;
	r->span = "connect..answer";
	return v->end_ns ? v->end_ns : now_ns();
}

static void put_away(struct run *run)
{
	struct client *c = run->state;

	if (!c)
		return;
	if (c->abort_fd >= 0)
		close(c->abort_fd);
	free(c->visitors);
	free(c);
}

const struct run_ops run_serving = {
	.prepare = raise_limit,
	.fork = fork_server,
	.connect = connect_client,
	.begin = begin,
	.stop = stop,
	.abandon = abandon,
	.count = count,
	.print = result__print_serving,
	.put_away = put_away,
};
