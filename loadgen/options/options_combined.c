/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which options go together: what each alone could be, and all of them cannot. */
#include <errno.h>
#include <stdlib.h>

#include "loadgen/data/message.h"
#include "loadgen/options/rows.h"
#include "loadgen/send/send_ops.h"
#include "loadgen/serving/server.h"

/* What waits for more than an answer, or for no answer at all, would wait for ever. */
static int check_request(const struct load_options *o, struct refusal *r)
{
	if (o->load.workload != WORKLOAD_REQUEST)
		return 0;
	if (o->load.peer)
		return refuse(r, "--peer %s: it takes --workload stream alone", o->load.peer);
	if (o->load.rate)
		return refuse(r, "--rate: the receiver asks for each message of --workload "
				 "request, leave one of them out");
	if (o->load.socket.more)
		return refuse(r, "--socket more: an answer of --workload request would wait for "
				 "the next, leave one of them out");
	for (size_t i = 0; i < o->variants.count; i++)
		if (variants__find(o->variants.of[i])->flags & SEND_NOTHING)
			return refuse(
				r, "--variant %s sends nothing: --workload request needs an answer",
				o->variants.of[i]);
	for (size_t i = 0; i < o->sizes.count; i++)
		if (o->load.rcvlowat > o->sizes.of[i])
			return refuse(
				r, "--rcvlowat %zu is more than an answer of %zu bytes: give less",
				o->load.rcvlowat, o->sizes.of[i]);
	return 0;
}

static int check_workload(const struct load_options *o, struct refusal *r)
{
	bool procinfo = o->load.workload == WORKLOAD_PROCINFO;

	if (!procinfo && o->procinfo_given)
		return refuse(r, "--%s belongs to --workload procinfo: give it too",
			      o->procinfo_given);
	if (procinfo && o->stream_given)
		return refuse(
			r, "--%s belongs to messages, --workload procinfo has none: leave it out",
			o->stream_given);
	return check_request(o, r);
}

/* By name a load that cannot be is a mistake; of all or every it is left out, aloud. */
static int check_cells(const struct load_options *o, struct refusal *r)
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
	const struct serve_model *m = serve_model__find(load->server_model);

	if (m->most && load->connections > m->most)
		return refuse(r,
			      "--server-model %s with --connections %u: %s: give at most %u, or "
			      "model epoll",
			      m->name, load->connections, m->limit, m->most);
	if (load->client_model == CLIENT_THREADED && load->connections > CONNECTIONS_THREAD)
		return refuse(
			r,
			"--client-model threaded with --connections %u: give at most %d, or epoll",
			load->connections, CONNECTIONS_THREAD);
	return false;
}

/* Its memory is free when the receiver took it, of which one elsewhere tells too rarely. */
static bool sending_impossible(const struct load *load, struct refusal *r)
{
	if (load->peer && variants__find(load->variant)->flags & SEND_BORROWS)
		return refuse(r,
			      "--variant %s with --peer %s: it lends the kernel memory until the "
			      "receiver took it, which only one on this machine can tell: choose "
			      "another variant",
			      load->variant, load->peer);
	return false;
}

const char *load__impossible(const struct load *load, char *why, size_t room)
{
	struct refusal r = {.why = why, .room = room};
	bool impossible = load->workload == WORKLOAD_PROCINFO ? serving_impossible(load, &r)
							      : sending_impossible(load, &r);

	return impossible ? why : NULL;
}

static int check_fields(const struct load_options *o, struct refusal *r)
{
	for (size_t i = 0; i < o->sizes.count; i++)
		if (o->load.fields > o->sizes.of[i])
			return refuse(r,
				      "--fields %u: more than the %zu bytes of a message, give at "
				      "most --fields %zu",
				      o->load.fields, o->sizes.of[i], o->sizes.of[i]);
	return 0;
}

/* size = fields x field-size: whichever two are given say the third. */
static int resolve_fields(struct load_options *o, struct refusal *r)
{
	size_t product = o->load.fields * o->load.field_size;

	if (!o->load.field_size)
		return check_fields(o, r);
	if (!load_options__given(o, "size")) {
		if (product < MESSAGE_MIN || product > MESSAGE_MAX)
			return refuse(r,
				      "%u fields x --field-size %zu are %zu bytes: a message has "
				      "64 to 16M, change --fields or --field-size",
				      o->load.fields, o->load.field_size, product);
		o->sizes.of[0] = product;
		return 0;
	}
	for (size_t i = 0; i < o->sizes.count; i++) {
		size_t fields = o->sizes.of[i] / o->load.field_size;

		if (load_options__given(o, "fields") && o->sizes.of[i] != product)
			return refuse(r,
				      "--size %zu is not --fields %u x --field-size %zu: leave one "
				      "of the three out",
				      o->sizes.of[i], o->load.fields, o->load.field_size);
		if (o->sizes.of[i] % o->load.field_size || fields > FIELDS_MAX)
			return refuse(r,
				      "--size %zu is not 1 to %d fields of --field-size %zu: "
				      "change one of them",
				      o->sizes.of[i], FIELDS_MAX, o->load.field_size);
	}
	return 0;
}

static bool any_veth(const struct load_options *o)
{
	for (size_t i = 0; i < o->links.count; i++)
		if (o->links.of[i])
			return true;
	return false;
}

static int check_ends(struct load_options *o, struct refusal *r)
{
	bool veth = any_veth(o);

	if (veth && (load_options__given(o, "address") || o->load.peer || o->load.netns))
		return refuse(r, "--link veth has addresses of its own: leave --address, --netns "
				 "and --peer out");
	if (veth && o->load.socket.device[0])
		return refuse(r, "--link veth has devices of its own: leave --socket device=%s out",
			      o->load.socket.device);
	if (o->load.peer &&
	    (load_options__given(o, "address") || load_options__given(o, "port") || o->load.netns))
		return refuse(r,
			      "--peer %s says where the receiver is: leave --address, --port and "
			      "--netns out",
			      o->load.peer);
	if (o->load.key && !o->load.peer)
		return refuse(r, "--key %s belongs to --peer HOST:PORT", o->load.key);
	if (o->load.peer && o->load.socket.rcvbuf)
		return refuse(r,
			      "--socket rcvbuf: the receiver is at --peer %s, and has the buffer "
			      "that the kernel there gives: leave it out",
			      o->load.peer);
	if (o->load.netns && !load_options__given(o, "address"))
		return refuse(r,
			      "--netns %s: give --address too, one of that namespace that can be "
			      "reached from here",
			      o->load.netns);
	return 0;
}

/* Does any of the variants have this flag? */
static bool any(const struct load_options *o, unsigned int flag)
{
	for (size_t i = 0; i < o->variants.count; i++)
		if (variants__find(o->variants.of[i])->flags & flag)
			return true;
	return false;
}

static int resolve_working_set(const struct load_options *o, struct refusal *r)
{
	const struct load *l = &o->load;

	if (!l->working_set)
		return l->pick == PICK_RANDOM
			       ? refuse(r, "--pick random: from what? give --working-set too")
			       : 0;
	for (size_t i = 0; i < o->sizes.count * o->variants.count; i++) {
		struct load cell =
			load_options__cell(o, i % o->variants.count, i / o->variants.count, 0);

		if (dataset__picker(&cell).count < load__fields(&cell))
			return refuse(r,
				      "--working-set %zu: does not hold the fields of one message "
				      "of --size %zu, give more",
				      l->working_set, cell.message_bytes);
	}
	return l->reuse_early ? refuse(r, "--reuse-early: a --working-set is never written to, "
					  "leave one of them out")
			      : 0;
}

static int check_sending(const struct load_options *o, struct refusal *r)
{
	const struct load *l = &o->load;

	if (l->reuse_early && !l->verify)
		return refuse(r, "--reuse-early: give --verify too, to see what it does");
	if (l->reuse_early && !any(o, SEND_SHARES))
		return refuse(r,
			      "--reuse-early: --variant %s leaves the kernel no memory to send "
			      "from later, choose zerocopy or its like",
			      o->variants.of[0]);
	if (l->registered && !any(o, SEND_REGISTERS))
		return refuse(r, "--registered: only --variant uring_zc has registered buffers, "
				 "leave it out");
	if (l->registered && l->working_set)
		return refuse(r, "--registered: messages then have memory of their own, leave out "
				 "--working-set");
	if (l->file_dir && !any(o, SEND_FILE))
		return refuse(r, "--file-dir %s: only --variant sendfile sends from a file",
			      l->file_dir);
	if (l->socket.more && any(o, SEND_FLAGLESS))
		return refuse(r, "--socket more: write, writev and sendfile take no flags, leave "
				 "out more, or them");
	return resolve_working_set(o, r);
}

static int check_time(const struct load_options *o, struct refusal *r)
{
	if (!o->load.messages || !load_options__given(o, "duration"))
		return 0;
	return refuse(r, "--messages and --duration both say when to end: leave one out");
}

/* A network may come with a receiver's place: no option has to name it then. */
static int default_ends(struct load_options *o, char *why, size_t room)
{
	const char *address = getenv("SENDPATH_ADDRESS"), *netns = getenv("SENDPATH_NETNS");

	if (!address || load_options__given(o, "address") || load_options__given(o, "link") ||
	    o->load.peer || o->load.netns)
		return 0;
	return load_options__set(o, "address", address, why, room) ||
	       (netns && load_options__set(o, "netns", netns, why, room));
}

int load_options__resolve(struct load_options *o, char *why, size_t room)
{
	struct refusal r = {.why = why, .room = room};
	bool procinfo = o->load.workload == WORKLOAD_PROCINFO;

	return default_ends(o, why, room) || check_workload(o, &r) || resolve_fields(o, &r) ||
			       check_time(o, &r) || check_ends(o, &r) ||
			       (!procinfo && check_sending(o, &r)) || check_cells(o, &r)
		       ? -EINVAL
		       : 0;
}
