// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This process sends, with one thread per connection; the other process receives. Between phases, a
 * thread waits at a barrier, where it makes no system call and has nothing in flight: the receiver
 * has read every byte, and every zero-copy completion has arrived.
 */
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/hist_stats.h"
#include "loadgen/data/memory.h"
#include "loadgen/data/message.h"
#include "loadgen/load.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/receive/wire.h"
#include "loadgen/run/run.h"
#include "loadgen/send/pool.h"
#include "loadgen/send/send_ops.h"

#define LOOK_US 100000 /* the longest time for which the end of a phase may go unnoticed */

/* A sending thread, its connection, and what it does in a phase. */
struct worker {
	struct sender sender; /* first: keeps its alignment */
	struct run *run;
	const struct send_ops *ops;
	unsigned int index;	   /* index of the slot */
	unsigned int request_read; /* bytes of the next request */
	_Atomic bool delivered;	   /* the receiver has all its bytes of the phase */
	uint64_t sent_before;	   /* bytes of earlier phases */
	uint64_t received_before;
	uint64_t received;	 /* when the phase ended */
	uint64_t end_ns;	 /* when the receiver had everything */
	struct tcp_state opened; /* the socket's state when the window opened */
};

/*
 * Pushes a small last segment out by TCP_NODELAY: the kernel may hold it back until the receiver
 * acknowledges older data, which may be late. No message is sent with the option set, so that
 * phases run with the socket's own setting.
 */
static void push_tail(int fd, bool stays)
{
	for (int on = 1; on >= stays; on--)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* Sets the receiver's mark. Ignores errors: the wait for the receiver reports that it is gone. */
static void request_mark(struct worker *w, int bytes)
{
	if (w->run->load->rcvlowat > 1)
		receiver__request(&w->run->other, REQUEST_MARK, w->index, (uint64_t)bytes);
}

/* Returns whether the receiver reports more bytes than were sent, or bytes that are still here. */
static bool reports_too_much(const struct worker *w, uint64_t total)
{
	int unsent = 0;

	return w->received > total || (w->run->load->peer && w->received == total &&
				       !ioctl(w->sender.fd, SIOCOUTQNSD, &unsent) && unsent);
}

/* Returns when the receiver has everything and no send is in flight. */
static void drain(struct worker *w)
{
	struct sender *s = &w->sender;
	uint64_t total = w->sent_before + s->sent.bytes;
	int err = 0;

	if (!(w->ops->flags & SEND_NOTHING)) {
		push_tail(s->fd, w->run->load->socket.nodelay);
		request_mark(w, 1);
		if (w->run->load->peer)
			receiver__request(&w->run->other, REQUEST_STATE, w->index, total);
		err = slot__await(w->sender.slot, total);
	}
	w->end_ns = now_ns();
	w->received = atomic_load(&w->sender.slot->received);
	request_mark(w, (int)w->run->load->rcvlowat);
	atomic_store(&w->delivered, true);
	if (reports_too_much(w, total))
		err = failure__set(
			&s->failure, STATUS_FAILED, -EPROTO,
			"the receiver reports that it has %llu bytes of a connection, on "
			"which %llu were sent, not all of them yet: is it loadgen serve?",
			(unsigned long long)w->received, (unsigned long long)total);
	if (err)
		failure__set(&s->failure, STATUS_FAILED, err,
			     "the receiver took only %llu of %llu bytes of a connection",
			     (unsigned long long)w->received, (unsigned long long)total);
	if (w->ops->settle)
		w->ops->settle(s);
}

/* Reads a request. Returns 1 if it is complete, 0 if not, -EPIPE if no more arrive, or -errno. */
static int read_request(struct sender *s, unsigned int *read)
{
	char request[REQUEST_BYTES];
	ssize_t n;

	if (*read == REQUEST_BYTES)
		return 1;
	n = recv(s->fd, request, REQUEST_BYTES - *read, 0);
	if (!n)
		return -EPIPE;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	*read += (unsigned int)n;
	return *read == REQUEST_BYTES;
}

/* Answers each request with one message, until the deadline has passed or none remain. */
static int answer_requests(struct sender *s, unsigned int *read, int (*run)(struct sender *s))
{
	uint64_t left = s->remaining;
	int err;

	while (left && now_ns() < atomic_load_explicit(&s->deadline_ns, memory_order_relaxed)) {
		err = read_request(s, read);
		if (err < 0)
			return err;
		if (!err)
			continue;
		s->remaining = 1;
		err = run(s);
		if (err)
			return err;
		if (s->remaining) /* the deadline came first: the request remains unanswered */
			continue;
		*read = 0;
		left--;
	}
	return 0;
}

static void run_messages(struct worker *w)
{
	struct sender *s = &w->sender;
	int (*loop)(struct sender * s) = w->ops->runs[s->rate ? SEND_PACED : s->mode];
	int err;

	w->sent_before += s->sent.bytes;
	w->received_before = w->received;
	memset(&s->sent, 0, sizeof(s->sent));
	atomic_store(&w->sender.slot->begin_ns, now_ns());
	if (!s->failure.status) {
		err = w->run->load->workload == WORKLOAD_REQUEST
			      ? answer_requests(s, &w->request_read, loop)
			      : loop(s);
		failure__set(&s->failure, STATUS_FAILED, err, "sending failed: %m");
	}
	drain(w);
}

/* Sets the variant up. Returns 0, or a negative errno with the reason in the sender's failure. */
static int set_up_variant(struct worker *w)
{
	struct timeval look = {.tv_usec = LOOK_US};
	int err;

	w->sender.state = calloc(1, w->ops->state_bytes);
	err = !w->sender.state ? -ENOMEM
	      : w->ops->setup  ? w->ops->setup(&w->sender, w->run->load)
			       : 0;
	/*
	 * Does not use poll(), which would return at once while completions wait in the error
	 * queue: the variant reads them only when it sends.
	 */
	if (!err && w->run->load->workload == WORKLOAD_REQUEST &&
	    setsockopt(w->sender.fd, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof(look)))
		err = -errno;
	return failure__set(&w->sender.failure, STATUS_FAILED, err, "cannot set %s up: %m",
			    w->ops->name);
}

/* A thread's body: sets up its variant, then waits at the barrier for phases. */
static void *run_worker(void *worker)
{
	struct worker *w = worker;
	int err = set_up_variant(w);

	while (barrier__wait(&w->run->barrier, &w->sender.failure))
		if (!err)
			run_messages(w);
	if (w->sender.state && w->ops->teardown)
		w->ops->teardown(&w->sender);
	free(w->sender.state);
	return NULL;
}

struct stream {
	const struct send_ops *ops;
	struct peer peer;
	struct slot *slots;
	struct worker *workers;
	unsigned int connected;
	struct dataset dataset; /* memory.base NULL: messages have their own fields */
	uint64_t checked_before;
};

/* Loops over the workers of a phase, when all are connected. */
#define for_each_worker(w, run)                                                 \
	for (struct worker *w = ((const struct stream *)(run)->state)->workers, \
			   *w##_end = w + (run)->load->threads;                 \
	     w < w##_end; w++)

static int prepare_stream(struct run *run, struct failure *f)
{
	struct stream *s = run->state = calloc(1, sizeof(*s));

	if (!s || !(s->slots = slot__map(run->load->threads)))
		return failure__set(f, STATUS_FAILED, -ENOMEM, "out of memory");
	s->ops = variants__find(run->load->variant);
	return memory__check(pool__need(run->load) + (double)run->load->working_set +
				     receiver__need(run->load),
			     f);
}

static int fork_receiver(struct run *run, struct failure *f)
{
	const struct load *load = run->load;
	struct stream *s = run->state;
	int err = load->peer ? peer__open(&s->peer, &run->listener, load, f)
			     : listener__open(&run->listener, load, f);

	return err ? err
		   : receiver__start(&run->other, &run->listener, s->slots, load, &s->peer,
				     &run->cpus, f);
}

static unsigned int own_port(int fd)
{
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof(address);

	getsockname(fd, (struct sockaddr *)&address, &length);
	return listener__port_of(&address);
}

static void init_worker(struct worker *w, struct run *run, unsigned int index, int fd,
			unsigned int port)
{
	const struct load *load = run->load;
	struct stream *s = run->state;

	*w = (struct worker){
		.sender = {.fd = fd,
			   .connection = port,
			   .slot = &s->slots[index],
			   .mode = load->working_set		       ? SEND_PICKED
				   : load->verify || load->reuse_early ? SEND_REFILL
								       : SEND_AS_IS,
			   .flags = load->socket.more ? MSG_MORE : 0,
			   .rate = load->rate},
		.run = run,
		.ops = s->ops,
		.index = index,
		.delivered = true, /* before the first phase, no bytes are awaited */
	};
	w->sender.slot->verified.connection = w->sender.connection;
}

/* Connects one worker after the other. The receiver confirms each, so that it knows the slot. */
static int connect_all(struct run *run, struct failure *f)
{
	struct stream *s = run->state;

	while (s->connected < run->load->threads) {
		int fd = listener__connect(&run->listener, run->load, f);
		unsigned int port;
		int err;

		if (fd < 0)
			return fd;
		port = own_port(fd);
		init_worker(&s->workers[s->connected], run, s->connected, fd, port);
		err = run->load->peer ? peer__introduce(&s->peer, fd, s->connected, port, f)
				      : receiver__adopt(&run->other, s->connected, port, f);
		s->connected++;
		if (err)
			return err;
		request_mark(&s->workers[s->connected - 1], (int)run->load->rcvlowat);
	}
	return 0;
}

static int start_workers(struct run *run, struct failure *f)
{
	unsigned int threads = run->load->threads;
	struct stream *s = run->state;
	int err = dataset__create(&s->dataset, run->load, f);

	for (unsigned int i = 0; i < threads; i++)
		s->workers[i].sender.dataset = s->dataset.memory.base ? &s->dataset : NULL;
	if (!err)
		err = barrier__start(&run->barrier, threads, run_worker, s->workers,
				     sizeof(*s->workers), 0);
	return failure__set(f, STATUS_FAILED, err, "cannot start thread %u of %u: %m",
			    run->barrier.count + 1, threads);
}

static int connect_workers(struct run *run, struct failure *f)
{
	unsigned int threads = run->load->threads;
	struct stream *s = run->state;
	int err;

	s->workers = aligned_alloc(_Alignof(struct worker), threads * sizeof(*s->workers));
	if (!s->workers)
		return failure__set(f, STATUS_FAILED, -ENOMEM, "out of memory for %u threads",
				    threads);
	err = connect_all(run, f);
	return err ? err : start_workers(run, f);
}

static void begin_workers(struct run *run, uint64_t deadline_ns, uint64_t messages)
{
	for_each_worker (w, run) {
		w->sender.start_ns = run->start_ns;
		atomic_store(&w->sender.deadline_ns, deadline_ns);
		w->sender.remaining = messages;
		atomic_store(&w->delivered, false);
	}
}

static void stop_workers(struct run *run)
{
	for_each_worker (w, run)
		atomic_store(&w->sender.deadline_ns, 0);
}

/* Shuts the connections down, so that all waits for them fail. */
static void abandon_workers(struct run *run)
{
	for_each_worker (w, run) {
		atomic_store(&w->sender.abandoned, true);
		shutdown(w->sender.fd, SHUT_RDWR);
		slot__end(w->sender.slot);
	}
}

static uint64_t received(struct run *run)
{
	uint64_t sum = 0;

	for_each_worker (w, run)
		sum += atomic_load(&w->sender.slot->received);
	return sum;
}

static uint64_t unsent(struct run *run)
{
	uint64_t sum = 0;
	int bytes;

	for_each_worker (w, run)
		if (!ioctl(w->sender.fd, SIOCOUTQ, &bytes) && bytes > 0)
			sum += (uint64_t)bytes;
	return sum;
}

/* Returns whether the receiver has all data; what remains then finishes by itself. */
static bool delivered(struct run *run)
{
	for_each_worker (w, run)
		if (!atomic_load(&w->delivered))
			return false;
	return true;
}

static uint64_t checked(const struct run *run)
{
	uint64_t sum = 0;

	for_each_worker (w, run)
		sum += w->sender.slot->verified.found.checked;
	return sum;
}

static void open_window(struct run *run)
{
	for_each_worker (w, run)
		tcp_state__read(w->sender.fd, &w->opened);
	((struct stream *)run->state)->checked_before = checked(run);
}

/* Adds the result of the receiver's check of every byte. Wrong bytes are a failure. */
static void verify(const struct run *run, struct result *r)
{
	const struct stream *s = run->state;

	if (!run->load->verify)
		return;
	r->checked = checked(run);
	for (unsigned int i = 0; i < run->load->threads; i++) {
		const struct pattern_verdict *v = &s->slots[i].verified.found;

		if (v->bad && !r->bad) {
			r->bad_connection = i;
			r->first_bad = *v;
		}
		r->bad += v->bad;
	}
	if (!r->bad)
		r->checked -=
			s->checked_before; /* excludes the warm-up; but its bad bytes do count */
	else
		failure__set(&r->failure, STATUS_FAILED, -EBADMSG,
			     "verification: %llu bytes arrived wrong, first in connection %u, "
			     "message %llu, offset %llu: expected 0x%02x, got 0x%02x%s",
			     (unsigned long long)r->bad, r->bad_connection,
			     (unsigned long long)r->first_bad.message,
			     (unsigned long long)r->first_bad.offset,
			     (unsigned int)r->first_bad.expected, (unsigned int)r->first_bad.got,
			     run->load->reuse_early
				     ? ": memory was written to while the kernel still sent from "
				       "it (--reuse-early)"
				     : "");
	if (r->checked != r->received)
		failure__set(
			&r->failure, STATUS_FAILED, -EPROTO,
			"verification: the receiver checked %llu bytes of the %llu that it took",
			(unsigned long long)r->checked, (unsigned long long)r->received);
}

static void add_worker(struct result *r, const struct worker *w)
{
	struct tcp_state now;

	if (!tcp_state__read(w->sender.fd, &now))
		tcp_sockets__add_socket(&r->sockets, &w->opened, &now);
	add_counters(&r->sent, &w->sender.sent, offsetof(struct sent, latency));
	hist__merge(&r->sent.latency, &w->sender.sent.latency);
	r->sent.copied_unknown |= w->sender.sent.copied_unknown;
	if (w->sender.slot->requests_since == atomic_load(&w->sender.slot->begin_ns))
		hist__merge(&r->requests, &w->sender.slot->requests);
	r->received += w->received - w->received_before;
}

static uint64_t count_workers(struct run *run, struct result *r)
{
	const struct stream *s = run->state;
	bool requests = run->load->workload == WORKLOAD_REQUEST;
	uint64_t end_ns = 0;

	for_each_worker (w, run) {
		add_worker(r, w);
		if (w->end_ns > end_ns)
			end_ns = w->end_ns;
	}
	r->zerocopy = s->ops->flags & SEND_ZEROCOPY;
	memcpy(r->peer, s->peer.machine, sizeof(s->peer.machine));
	r->messages = r->sent.messages;
	r->bytes = r->sent.bytes;
	r->errors = r->sent.errors;
	r->latency = requests ? &r->requests : &r->sent.latency;
	r->span = requests ? "request..answer" : run->load->rate ? "message_due" : "message";
	return end_ns;
}

static void clean_up_workers(struct run *run)
{
	struct stream *s = run->state;

	if (!s)
		return;
	memory__unmap(&s->dataset.memory);
	for (unsigned int i = 0; i < s->connected; i++)
		close(s->workers[i].sender.fd);
	free(s->workers);
	slot__unmap(s->slots, run->load->threads);
	free(s);
}

const struct run_ops run_stream = {
	.sends = true,
	.prepare = prepare_stream,
	.fork = fork_receiver,
	.connect = connect_workers,
	.begin = begin_workers,
	.stop = stop_workers,
	.abandon = abandon_workers,
	.received = received,
	.unsent = unsent,
	.delivered = delivered,
	.open = open_window,
	.count = count_workers,
	.check = verify,
	.print = result__print_stream,
	.clean_up = clean_up_workers,
};
