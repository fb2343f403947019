/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loadgen/data/dataset.h"
#include "loadgen/load.h"
#include "loadgen/receive/listener.h"
#include "loadgen/receive/peer.h"
#include "loadgen/receive/receiver_process.h"
#include "loadgen/system/cpus.h"
#include "loadgen/system/offspring.h"

#define ADOPT_TIMEOUT_MS 8000 /* above the time an accept may take */
#define TIME_TIMEOUT_MS	 1000
#define LEAVE_TIMEOUT_MS 1000

struct receiver {
	pid_t pid; /* 0 once it was reaped */
	int channel;
	pthread_mutex_t asking; /* guards the conversation and its number */
	uint32_t number;
	struct failure *last_words; /* in memory that both share */
};

static void child(const struct receiver_process *p, const struct cpus *cpus, const char *peer,
		  struct failure *last_words)
{
	offspring__settle(p->parent, p->channel, p->listener);
	if (cpus->split)
		sched_setaffinity(0, sizeof(cpus->receiver), &cpus->receiver);
	if (!peer)
		receiver_process__serve(p);
	else
		peer_agent__serve(p, peer, last_words);
	_exit(last_words->status);
}

int receiver__start(struct receiver **receiver, struct listener *l, struct slot *slots,
		    const struct load *load, const struct cpus *cpus, struct failure *f)
{
	struct receiver_process p = {
		.listener = l->fd,
		.parent = getpid(),
		.slots = slots,
		.slot_count = load->threads,
		.message_bytes = load->message_bytes,
		.picker = dataset__picker(load),
		.verify = load->verify,
		.asks = load->workload == WORKLOAD_REQUEST,
		.marks = load__rcvlowat(load) > 1,
	};
	struct receiver *r = calloc(1, sizeof(*r));
	int pair[2], err;

	*receiver = NULL;
	if (r)
		r->last_words = mmap(NULL, sizeof(*r->last_words), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!r || r->last_words == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		free(r);
		return failure__set(f, STATUS_FAILED, err, "cannot start the receiver: %m");
	}
	r->channel = pair[0];
	pthread_mutex_init(&r->asking, NULL);
	p.channel = pair[1];
	r->pid = fork();
	if (!r->pid)
		child(&p, cpus, load->peer, r->last_words);
	err = r->pid < 0 ? -errno : 0;
	close(pair[1]);
	listener__close(l);
	if (!err) {
		*receiver = r;
		return 0;
	}
	close(r->channel);
	free(r);
	return failure__set(f, STATUS_FAILED, err, "cannot fork the receiver: %s", strerror(-err));
}

void receiver__stop(struct receiver *r)
{
	struct pollfd p;

	if (!r)
		return;
	if (r->pid) {
		shutdown(r->channel, SHUT_WR);
		p = (struct pollfd){.fd = r->channel};
		/* A stopped or stuck one hears no end of file. */
		if (poll(&p, 1, LEAVE_TIMEOUT_MS) <= 0)
			kill(r->pid, SIGKILL);
		waitpid(r->pid, NULL, 0);
	}
	close(r->channel);
	pthread_mutex_destroy(&r->asking);
	munmap(r->last_words, sizeof(*r->last_words));
	free(r);
}

pid_t receiver__pid(const struct receiver *r)
{
	return r->pid;
}

int receiver__fd(const struct receiver *r)
{
	return r->channel;
}

static int converse(struct receiver *r, struct receiver_request *q, struct receiver_reply *reply,
		    int timeout_ms)
{
	struct pollfd p = {.fd = r->channel, .events = POLLIN};
	int n;

	q->number = ++r->number;
	/* Not send(): who counts this process's sends shall see the load alone. */
	if (write(r->channel, q, sizeof(*q)) != sizeof(*q))
		return -EPIPE;
	do {
		do
			n = poll(&p, 1, timeout_ms);
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return -ETIMEDOUT;
		if (read(r->channel, reply, sizeof(*reply)) != sizeof(*reply))
			return -EPIPE;
	} while (reply->number != q->number);
	return reply->err;
}

static int ask(struct receiver *r, struct receiver_request *q, struct receiver_reply *reply,
	       int timeout_ms)
{
	int err;

	pthread_mutex_lock(&r->asking);
	err = converse(r, q, reply, timeout_ms);
	pthread_mutex_unlock(&r->asking);
	return err;
}

int receiver__mark(struct receiver *r, unsigned int slot, int bytes)
{
	struct receiver_request q = {.type = RECEIVER_MARK, .slot = slot, .mark = bytes};
	struct receiver_reply reply;

	return ask(r, &q, &reply, TIME_TIMEOUT_MS);
}

int receiver__expect(struct receiver *r, unsigned int slot, uint64_t bytes)
{
	struct receiver_request q = {.type = RECEIVER_EXPECT, .slot = slot, .bytes = bytes};
	struct receiver_reply reply;

	return ask(r, &q, &reply, TIME_TIMEOUT_MS);
}

int receiver__adopt(struct receiver *r, unsigned int slot, unsigned int port, struct failure *f)
{
	struct receiver_request q = {.type = RECEIVER_ADOPT, .slot = slot, .port = port};
	struct receiver_reply reply;
	int err = ask(r, &q, &reply, ADOPT_TIMEOUT_MS);

	if (err == -EPIPE)
		receiver__died(r, f);
	return err ? failure__set(f, STATUS_FAILED, err,
				  "the receiver did not get the connection from port %u: %s", port,
				  strerror(-err))
		   : 0;
}

int receiver__cpu_time(struct receiver *r, struct cpu_time *t)
{
	struct receiver_request q = {.type = RECEIVER_CPU_TIME};
	struct receiver_reply reply;
	int err = ask(r, &q, &reply, TIME_TIMEOUT_MS);

	if (!err)
		*t = reply.time;
	return err;
}

void receiver__died(struct receiver *r, struct failure *f)
{
	int status;

	if (!r->pid || waitpid(r->pid, &status, 0) != r->pid)
		return;
	r->pid = 0;
	failure__adopt(f, r->last_words);
	if (WIFSIGNALED(status))
		failure__set(f, STATUS_FAILED, -EPIPE,
			     "the receiver process died (signal %d) before the run was over",
			     WTERMSIG(status));
	else
		failure__set(f, STATUS_FAILED, -EPIPE,
			     "the receiver process ended (status %d) before the run was over",
			     WEXITSTATUS(status));
}
