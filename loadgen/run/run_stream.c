/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This process sends, one thread a connection; the other receives. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/hist_stats.h"
#include "loadgen/data/memory.h"
#include "loadgen/data/message.h"
#include "loadgen/load.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/receive/wire.h"
#include "loadgen/run/run.h"
#include "loadgen/run/workers.h"
#include "loadgen/send/pool.h"
#include "loadgen/send/send_ops.h"

struct stream {
	const struct send_ops *ops;
	struct peer peer;
	struct slot *slots;
	struct worker *workers;
	unsigned int connected;
	struct dataset *dataset; /* NULL: messages have memory of their own */
	uint64_t checked_before;
};

/* In the phases, when all are connected. */
#define for_each_worker(w, run)                                                 \
	for (struct worker *w = ((const struct stream *)(run)->state)->workers, \
			   *w##_end = w + (run)->load->threads;                 \
	     w < w##_end; w++)

static int prepare_stream(struct run *run, struct failure *f)
{
	struct stream *s = run->state = calloc(1, sizeof(*s));

	if (s)
		s->slots = slot__map(run->load->threads);
	if (!s || !s->slots)
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

static int own_port(int fd)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &length))
		return -errno;
	return (int)listener__port_of(&address);
}

static enum send_mode mode(const struct load *load)
{
	if (load->working_set)
		return SEND_PICKED;
	return load->verify || load->reuse_early ? SEND_REFILL : SEND_AS_IS;
}

static void init_worker(struct worker *w, struct run *run, unsigned int index, int fd, int port)
{
	struct stream *s = run->state;

	*w = (struct worker){
		.sender = {.fd = fd,
			   .connection = (uint32_t)port,
			   .slot = &s->slots[index],
			   .mode = mode(run->load),
			   .flags = run->load->socket.more ? MSG_MORE : 0,
			   .rate = run->load->rate},
		.slot = &s->slots[index],
		.receiver = &run->other,
		.index = index,
		.load = run->load,
		.ops = s->ops,
		.barrier = &run->barrier,
		.delivered = true, /* before the first phase, nothing is due */
	};
	w->slot->verified.connection = w->sender.connection;
}

/* One after another, each acknowledged: so each worker knows its slot. */
static int connect_all(struct run *run, struct failure *f)
{
	struct stream *s = run->state;

	while (s->connected < run->load->threads) {
		int fd = listener__connect(&run->listener, run->load, f);
		int port, err;

		if (fd < 0)
			return fd;
		port = own_port(fd);
		init_worker(&s->workers[s->connected], run, s->connected, fd, port);
		err = run->load->peer
			      ? peer__introduce(&s->peer, fd, s->connected, (uint32_t)port, f)
			      : receiver__adopt(&run->other, s->connected, (unsigned int)port, f);
		if (!err && run->load->rcvlowat > 1)
			receiver__request(&run->other, REQUEST_MARK, s->connected,
					  run->load->rcvlowat);
		s->connected++;
		if (err)
			return err;
	}
	return 0;
}

static int start_workers(struct run *run, struct failure *f)
{
	unsigned int threads = run->load->threads;
	struct stream *s = run->state;
	int err = dataset__create(&s->dataset, run->load, f);

	for (unsigned int i = 0; i < threads; i++)
		s->workers[i].sender.dataset = s->dataset;
	if (!err)
		err = barrier__start(&run->barrier, threads, worker__main, s->workers,
				     sizeof(*s->workers), 0);
	return err ? failure__set(f, STATUS_FAILED, err, "cannot start thread %u of %u: %s",
				  run->barrier.count + 1, threads, strerror(-err))
		   : 0;
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

static void begin(struct run *run, uint64_t deadline_ns, uint64_t messages)
{
	for_each_worker(w, run)
	{
		atomic_store(&w->sender.deadline_ns, deadline_ns);
		w->sender.remaining = messages;
		atomic_store(&w->delivered, false);
	}
}

static void stop(struct run *run)
{
	for_each_worker(w, run) atomic_store(&w->sender.deadline_ns, 0);
}

/* Shuts the connections down, so that whoever waits in or for one fails. */
static void abandon(struct run *run)
{
	for_each_worker(w, run)
	{
		atomic_store(&w->sender.abandoned, true);
		shutdown(w->sender.fd, SHUT_RDWR);
		slot__end(w->slot);
	}
}

static uint64_t received(struct run *run)
{
	uint64_t sum = 0;

	for_each_worker(w, run) sum += atomic_load(&w->slot->received);
	return sum;
}

/* What remains then ends by itself. */
static bool delivered(struct run *run)
{
	for_each_worker(w, run) if (!atomic_load(&w->delivered)) return false;
	return true;
}

static uint64_t checked(const struct run *run)
{
	uint64_t sum = 0;

	for_each_worker(w, run) sum += w->slot->verified.found.checked;
	return sum;
}

static void open_window(struct run *run)
{
	for_each_worker(w, run) tcp_state__read(w->sender.fd, &w->opened);
	((struct stream *)run->state)->checked_before = checked(run);
}

static void close_window(struct run *run, struct result *r)
{
	struct tcp_state now;

	for_each_worker(w, run) if (!tcp_state__read(w->sender.fd, &now))
		tcp_sockets__add_socket(&r->sockets, &w->opened, &now);
}

/* What the receiver's check of every byte comes to. Bytes that arrived wrong are a failure. */
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
		r->checked -= s->checked_before; /* else of the warm-up too, as bad is */
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
	add_counters(&r->sent, &w->sender.sent, offsetof(struct sent, latency));
	hist__merge(&r->sent.latency, &w->sender.sent.latency);
	r->sent.copied_unknown |= w->sender.sent.copied_unknown;
	if (w->slot->requests_since == atomic_load(&w->slot->begin_ns))
		hist__merge(&r->requests, &w->slot->requests);
	r->received += w->received - w->received_before;
}

static uint64_t count(struct run *run, struct result *r)
{
	const struct stream *s = run->state;
	bool requests = run->load->workload == WORKLOAD_REQUEST;
	uint64_t end_ns = 0;

	for_each_worker(w, run)
	{
		add_worker(r, w);
		if (w->end_ns > end_ns)
			end_ns = w->end_ns;
	}
	r->zerocopy = s->ops->flags & SEND_ZEROCOPY;
	memcpy(r->peer, s->peer.machine, sizeof(r->peer));
	r->messages = r->sent.messages;
	r->bytes = r->sent.bytes;
	r->errors = r->sent.errors;
	r->latency = requests ? &r->requests : &r->sent.latency;
	r->span = requests ? "request..answer" : run->load->rate ? "message_due" : "message";
	return end_ns;
}

static void put_away(struct run *run)
{
	struct stream *s = run->state;

	if (!s)
		return;
	dataset__destroy(s->dataset);
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
	.begin = begin,
	.stop = stop,
	.abandon = abandon,
	.received = received,
	.delivered = delivered,
	.open = open_window,
	.close = close_window,
	.count = count,
	.check = verify,
	.print = result__print_stream,
	.put_away = put_away,
};
