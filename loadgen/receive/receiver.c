/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/data/dataset.h"
#include "loadgen/load.h"
#include "loadgen/receive/listener.h"
#include "loadgen/receive/peer.h"
#include "loadgen/receive/receiver_process.h"
#include "loadgen/system/child.h"

#define ADOPT_TIMEOUT_MS 8000 /* above the time an accept may take */
#define TIMEOUT_MS	 1000

double receiver__need(const struct load *load)
{
	return load->peer
		       ? 0
		       : (double)load->threads *
				 (double)receiver_process__room(load->message_bytes, load->threads);
}

int receiver__start(struct child *r, struct listener *l, struct slot *slots,
		    const struct load *load, const struct cpus *cpus, struct failure *f)
{
	struct receiver_process p = {
		.listener = l->fd,
		.slots = slots,
		.slot_count = load->threads,
		.message_bytes = load->message_bytes,
		.picker = dataset__picker(load),
		.verify = load->verify,
		.asks = load->workload == WORKLOAD_REQUEST,
		.marks = load->rcvlowat > 1,
	};
	int err = child__fork(r, "receiver", sizeof(struct failure), l->fd,
			      cpus->split ? &cpus->receiver : NULL, f);

	if (err > 0) {
		struct failure *last_words = r->shared;

		p.channel = r->channel;
		if (load->peer)
			peer_agent__serve(&p, load->peer, last_words);
		else
			receiver_process__serve(&p);
		_exit(last_words->status);
	}
	listener__close(l);
	return err;
}

static int request(struct child *r, struct request q, int timeout_ms)
{
	struct reply reply;

	return child__request(r, &q, &reply, timeout_ms);
}

int receiver__mark(struct child *r, unsigned int slot, int bytes)
{
	return request(r, (struct request){.type = REQUEST_MARK, .slot = slot, .mark = bytes},
		       TIMEOUT_MS);
}

int receiver__expect(struct child *r, unsigned int slot, uint64_t bytes)
{
	return request(r, (struct request){.type = REQUEST_EXPECT, .slot = slot, .bytes = bytes},
		       TIMEOUT_MS);
}

int receiver__adopt(struct child *r, unsigned int slot, unsigned int port, struct failure *f)
{
	struct request q = {.type = REQUEST_ADOPT, .slot = slot, .port = port};
	int err = request(r, q, ADOPT_TIMEOUT_MS);

	if (err == -EPIPE)
		child__explain_death(r, f);
	return err ? failure__set(f, STATUS_FAILED, err,
				  "the receiver did not get the connection from port %u: %s", port,
				  strerror(-err))
		   : 0;
}
