/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which options go together: what each alone could be, and all of them cannot. Pure. */
#include <errno.h>
#include <stdio.h>

#include "loadgen/options/options_parts.h"
#include "loadgen/send/send_ops.h"
#include "loadgen/serving/serve_ops.h"

/* Options that belong to one workload; which is told only after the last. */
void options__note(struct load_options *o, int key)
{
	static const char *const of_messages[] = {
		[LOAD_VARIANT - LOAD_VARIANT] = "--variant",
		[LOAD_SIZE - LOAD_VARIANT] = "--size",
		[LOAD_FIELDS - LOAD_VARIANT] = "--fields",
		[LOAD_FIELD_SIZE - LOAD_VARIANT] = "--field-size",
		[LOAD_THREADS - LOAD_VARIANT] = "--threads",
		[LOAD_INFLIGHT - LOAD_VARIANT] = "--inflight",
		[LOAD_VERIFY - LOAD_VARIANT] = "--verify",
		[LOAD_RCVLOWAT - LOAD_VARIANT] = "--rcvlowat",
		[LOAD_WORKING_SET - LOAD_VARIANT] = "--working-set",
		[LOAD_PICK - LOAD_VARIANT] = "--pick",
		[LOAD_SEED - LOAD_VARIANT] = "--seed",
		[LOAD_ALIGN - LOAD_VARIANT] = "--align",
		[LOAD_HUGE_PAGES - LOAD_VARIANT] = "--huge-pages",
		[LOAD_REGISTERED - LOAD_VARIANT] = "--registered",
		[LOAD_REUSE_EARLY - LOAD_VARIANT] = "--reuse-early",
		[LOAD_FILE_DIR - LOAD_VARIANT] = "--file-dir",
		[LOAD_RATE - LOAD_VARIANT] = "--rate",
		[LOAD_SOCKET - LOAD_VARIANT] = "--socket",
		[LOAD_PEER - LOAD_VARIANT] = "--peer",
		[LOAD_KEYS_END - LOAD_VARIANT] = NULL, /* so that every key is in it */
	};

	if (of_messages[key - LOAD_VARIANT])
		o->stream_given = of_messages[key - LOAD_VARIANT];
}

/* What waits for more than an answer, or for no answer at all, would wait for ever. */
static int check_request(const struct load_options *o, struct refusal *r)
{
	if (o->load.workload != WORKLOAD_REQUEST)
		return 0;
	if (o->load.peer)
		return refusal__say(r, "--peer %s: it takes --workload stream alone", o->load.peer);
	if (o->load.rate)
		return refusal__say(r, "--rate: the receiver asks for each message of --workload "
				       "request, leave one of them out");
	if (o->load.socket.more)
		return refusal__say(r, "--socket more: an answer of --workload request would wait "
				       "for the next, leave one of them out");
	for (size_t i = 0; i < o->variant_count; i++)
		if (variants__find(o->variants[i])->flags & SEND_NOTHING)
			return refusal__say(
				r,
				"--variant %s sends nothing: --workload request needs an "
				"answer",
				o->variants[i]);
	for (size_t i = 0; i < o->size_count; i++)
		if (o->load.rcvlowat > o->sizes[i])
			return refusal__say(
				r,
				"--rcvlowat %zu is more than an answer of %zu bytes: give "
				"less",
				o->load.rcvlowat, o->sizes[i]);
	return 0;
}

int options__check_workload(const struct load_options *o, struct refusal *r)
{
	bool procinfo = o->load.workload == WORKLOAD_PROCINFO;

	if (!procinfo && o->procinfo_given)
		return refusal__say(r, "%s belongs to --workload procinfo: give it too",
				    o->procinfo_given);
	if (procinfo && o->stream_given)
		return refusal__say(
			r, "%s belongs to messages, --workload procinfo has none: leave it out",
			o->stream_given);
	return check_request(o, r);
}

/* By name a load that cannot be is a mistake; of all or every it is left out, aloud. */
int options__check_cells(const struct load_options *o, struct refusal *r)
{
	size_t cells = load_options__cells(o), possible = 0;
	bool several = o->load.workload == WORKLOAD_PROCINFO ? o->models_all : o->every;

	for (size_t i = 0; i < cells; i++) {
		struct load load = load_options__nth(o, i);

		possible += !load__impossible(&load, r->why, r->room);
	}
	return possible && (several || possible == cells) ? 0 : -EINVAL;
}

static bool serving_impossible(const struct load *load, struct refusal *r)
{
	const struct serve_ops *m = models__find(load->server_model);

	if (m->most && load->connections > m->most)
		return refusal__say(r,
				    "--server-model %s with --connections %u: %s: give at most "
				    "%u, or model epoll",
				    m->name, load->connections, m->limit, m->most);
	if (load->client_model == CLIENT_THREADED && load->connections > CONNECTIONS_THREAD)
		return refusal__say(
			r,
			"--client-model threaded with --connections %u: give at most %d, or epoll",
			load->connections, CONNECTIONS_THREAD);
	return false;
}

/* Its memory is free when the receiver took it, of which one elsewhere tells too rarely. */
static bool sending_impossible(const struct load *load, struct refusal *r)
{
	if (load->peer && variants__find(load->variant)->flags & SEND_LENDS)
		return refusal__say(
			r,
			"--variant %s with --peer %s: it lends the kernel memory until "
			"the receiver took it, which only one on this machine can tell: "
			"choose another variant",
			load->variant, load->peer);
	return false;
}

const char *load__impossible(const struct load *load, char *why, size_t room)
{
	struct refusal r = {why, room};
	bool impossible = load->workload == WORKLOAD_PROCINFO ? serving_impossible(load, &r)
							      : sending_impossible(load, &r);

	return impossible ? why : NULL;
}
