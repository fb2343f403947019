/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This process sends, one thread a connection; the other receives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/data/memory.h"
#include "loadgen/load.h"
#include "loadgen/receive/peer.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/run/run.h"
#include "loadgen/run/workers.h"
#include "loadgen/send/pool.h"
#include "loadgen/send/send_ops.h"

struct stream {
	const struct send_ops *ops;
	struct peer peer;
	struct slot *slots;
	int *fds;
	struct tcp_state *tcp; /* of each, when the window opened */
	unsigned int connected;
	struct workers *workers;
	uint64_t checked_before;
};

static int prepare_stream(struct run *run, struct failure *f)
{
	unsigned int threads = run->load->threads;
	struct stream *s = run->state = calloc(1, sizeof(*s));

	if (s) {
		s->ops = variants__find(run->load->variant);
		s->slots = slot__map(threads);
		s->fds = calloc(threads, sizeof(*s->fds));
		s->tcp = calloc(threads, sizeof(*s->tcp));
	}
	return s && s->slots && s->fds && s->tcp
		       ? memory__check(pool__need(run->load) + (double)run->load->working_set +
					       receiver__need(run->load),
				       f)
		       : failure__set(f, STATUS_FAILED, -ENOMEM, "out of memory");
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

/* One after another, each acknowledged: so each worker knows its slot. */
static int connect_all(struct run *run, struct failure *f)
{
	struct stream *s = run->state;

	while (s->connected < run->load->threads) {
		int fd = listener__connect(&run->listener, run->load, f);
		int port, err;

		if (fd < 0)
			return fd;
		s->fds[s->connected] = fd;
		port = own_port(fd);
		s->slots[s->connected].verified.connection = (uint32_t)port;
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

static int connect_workers(struct run *run, struct failure *f)
{
	struct stream *s = run->state;
	int err = connect_all(run, f);

	if (!err)
		err = workers__create(&s->workers, run->load, s->ops, s->fds, s->slots, &run->other,
				      f);
	if (!err)
		run->barrier = workers__barrier(s->workers);
	return err;
}

static struct workers *workers(const struct run *run)
{
	return ((const struct stream *)run->state)->workers;
}

static void begin(struct run *run, uint64_t deadline_ns, uint64_t messages)
{
	workers__begin(workers(run), deadline_ns, messages);
}

static void stop(struct run *run)
{
	workers__stop(workers(run));
}

static void abandon(struct run *run)
{
	workers__abandon(workers(run));
}

static uint64_t received(struct run *run)
{
	const struct stream *s = run->state;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < run->load->threads; i++)
		sum += atomic_load(&s->slots[i].received);
	return sum;
}

static bool delivered(struct run *run)
{
	return workers__delivered(workers(run));
}

static void failure(const struct run *run, struct failure *f)
{
	workers__failure(workers(run), f);
}

static uint64_t checked(const struct run *run)
{
	const struct stream *s = run->state;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < run->load->threads; i++)
		sum += s->slots[i].verified.found.checked;
	return sum;
}

static void open_window(struct run *run)
{
	struct stream *s = run->state;

	for (unsigned int i = 0; i < run->load->threads; i++)
		tcp_state__read(s->fds[i], &s->tcp[i]);
	s->checked_before = checked(run);
}

static void close_window(struct run *run, struct result *r)
{
	struct stream *s = run->state;
	struct tcp_state now;

	for (unsigned int i = 0; i < run->load->threads; i++)
		if (!tcp_state__read(s->fds[i], &now))
			tcp_sockets__add_socket(&r->sockets, &s->tcp[i], &now);
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

static uint64_t count(struct run *run, struct result *r)
{
	const struct stream *s = run->state;
	uint64_t end_ns;

	r->zerocopy = s->ops->flags & SEND_ZEROCOPY;
	memcpy(r->peer, s->peer.machine, sizeof(r->peer));
	workers__sum(s->workers, &r->sent, &r->requests, &r->received, &end_ns);
	r->messages = r->sent.messages;
	r->bytes = r->sent.bytes;
	r->errors = r->sent.errors;
	r->latency = run->load->workload == WORKLOAD_REQUEST ? &r->requests : &r->sent.latency;
	r->span = run->load->workload == WORKLOAD_REQUEST ? "request..answer"
		  : run->load->rate			  ? "message_due"
							  : "message";
	return end_ns;
}

static void put_away(struct run *run)
{
	struct stream *s = run->state;

	if (!s)
		return;
	workers__destroy(s->workers);
	for (unsigned int i = 0; i < s->connected; i++)
		close(s->fds[i]);
	slot__unmap(s->slots, run->load->threads);
	free(s->fds);
	free(s->tcp);
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
	.failure = failure,
	.open = open_window,
	.close = close_window,
	.count = count,
	.check = verify,
	.print = result__print_stream,
	.put_away = put_away,
};
