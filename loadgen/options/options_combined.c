/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Refuses options that contradict each other, though each is valid alone. */
#include <stdlib.h>

#include "loadgen/data/message.h"
#include "loadgen/options/rows.h"
#include "loadgen/send/send_ops.h"
#include "loadgen/serving/server.h"

/* Returns the first of the variants that has or lacks these flags, or NULL. */
static const char *find_variant(const struct load_options *o, unsigned int has, unsigned int lacks)
{
	for (size_t i = 0; i < o->variants.count; i++)
		if ((variants__find(o->variants.of[i])->flags & (has | lacks)) == has)
			return o->variants.of[i];
	return NULL;
}

static bool any_veth(const struct load_options *o)
{
	for (size_t i = 0; i < o->links.count; i++)
		if (o->links.of[i])
			return true;
	return false;
}

/* Checks pairs of options in this order; %s is the option. */
static int check_pairs(const struct load_options *o, struct refusal *r)
{
	const struct load *l = &o->load;
	bool procinfo = l->workload == WORKLOAD_PROCINFO, veth = any_veth(o);
	bool request = l->workload == WORKLOAD_REQUEST;
	bool address = load_options__given(o, "address");
	const struct {
		bool contradict;
		const char *words, *quoted;
	} rows[] = {
		{!procinfo && o->procinfo_given, "--%s belongs to --workload procinfo: give it too",
		 o->procinfo_given},
		{procinfo && o->stream_given,
		 "--%s does not apply to --workload procinfo: leave it out", o->stream_given},
		{request && l->peer, "--peer %s: works with --workload stream only", l->peer},
		/* A sender that waits for more than one request would wait forever. */
		{request && l->rate, .words = "--rate: with --workload request the "
					      "receiver sets the pace, leave one out"},
		{request && l->socket.more,
		 .words = "--socket more: an answer of --workload request would wait for the next, "
			  "leave one of them out"},
		{request && find_variant(o, SEND_NOTHING, 0),
		 "--variant %s sends nothing: --workload request needs an answer",
		 find_variant(o, SEND_NOTHING, 0)},
		{l->messages && load_options__given(o, "duration"),
		 .words = "--messages and --duration both end the run: leave one out"},
		{veth && (address || l->peer || l->netns),
		 .words = "--link veth creates its own addresses: leave --address, --netns "
			  "and --peer out"},
		{veth && l->socket.device[0],
		 "--link veth creates its own devices: leave --socket device=%s out",
		 l->socket.device},
		{l->peer && (address || load_options__given(o, "port") || l->netns),
		 "--peer %s names the receiver: leave --address, --port and --netns out", l->peer},
		{l->key && !l->peer, "--key %s belongs to --peer HOST:PORT", l->key},
		{l->peer && l->socket.rcvbuf,
		 "--socket rcvbuf: the receiver at --peer %s uses the default of its kernel: "
		 "leave it out",
		 l->peer},
		{l->netns && !address,
		 "--netns %s: give --address too, one of that namespace that can be reached from "
		 "here",
		 l->netns},
		{l->reuse_early && !l->verify,
		 .words = "--reuse-early: give --verify too, to see what it does"},
		{l->reuse_early && !find_variant(o, SEND_SHARES, 0),
		 "--reuse-early: --variant %s returns only when the data are copied, choose a "
		 "zero-copy variant",
		 o->variants.of[0]},
		{l->registered && !find_variant(o, SEND_REGISTERS, 0),
		 .words = "--registered: only --variant uring_zc has registered buffers, leave it "
			  "out"},
		{l->registered && l->working_set,
		 .words = "--registered: messages then have memory of their own, leave out "
			  "--working-set"},
		{l->huge_pages && !find_variant(o, 0, SEND_NO_FIELDS),
		 "--huge-pages: --variant %s sends no fields from memory, leave it out",
		 o->variants.of[0]},
		{l->file_dir && !find_variant(o, SEND_FILE, 0),
		 "--file-dir %s: only --variant sendfile sends from a file", l->file_dir},
		{l->socket.more && find_variant(o, SEND_FLAGLESS, 0),
		 .words = "--socket more: write, writev and sendfile take no flags: leave out "
			  "more, or these variants"},
		{!l->working_set && l->pick == PICK_RANDOM,
		 .words = "--pick random: give --working-set too, to draw from"},
		{l->working_set && l->reuse_early,
		 .words = "--reuse-early: a --working-set is never written to, leave one of them "
			  "out"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].contradict)
			return refuse(r, rows[i].words, rows[i].quoted);
	return 0;
}

/* Refuses an impossible variant that was named. One from "all" or "every" is skipped later. */
static int check_variants(const struct load_options *o, struct refusal *r)
{
	bool possible = false;

	for (size_t i = 0; i < load_options__cells(o); i++) {
		struct load load = load_options__nth(o, i);

		if (!load__impossible(&load, r->why, r->room))
			possible = true;
		else if (!o->every)
			return -EINVAL;
	}
	return possible ? 0 : -EINVAL;
}

const char *load__impossible(const struct load *load, char *why, size_t room)
{
	bool procinfo = load->workload == WORKLOAD_PROCINFO;
	const struct serve_model *m = procinfo ? serve_model__find(load->server_model) : NULL;
	struct refusal r = {.why = why, .room = room};

	if (m && m->most && load->connections > m->most)
		refuse(&r,
		       "--server-model %s with --connections %u: %s: give at most %u, or model "
		       "epoll",
		       m->name, load->connections, m->limit, m->most);
	else if (m && load->client_model == CLIENT_THREADED &&
		 load->connections > CONNECTIONS_THREAD)
		refuse(&r,
		       "--client-model threaded with --connections %u: give at most %d, or epoll",
		       load->connections, CONNECTIONS_THREAD);
	/*
	 * Memory is freed as the receiver progresses, and a receiver elsewhere reports that too
	 * rarely.
	 */
	else if (!m && load->peer && variants__find(load->variant)->flags & SEND_BORROWS)
		refuse(&r,
		       "--variant %s with --peer %s: only a receiver on this machine reports when "
		       "the memory may be written again: choose another variant",
		       load->variant, load->peer);
	else if (load->workload == WORKLOAD_REQUEST && load->rcvlowat > load->message_bytes)
		refuse(&r, "--rcvlowat %zu is more than an answer of %zu bytes: give less",
		       load->rcvlowat, load->message_bytes);
	/* The sender would wait for the receiver to read, and the receiver for more data. */
	else if (!m && variants__find(load->variant)->flags & SEND_BORROWS && !load->reuse_early &&
		 load->rcvlowat > load->inflight * load->message_bytes)
		refuse(&r,
		       "--rcvlowat %zu is more than --variant %s has in flight: give less, or more "
		       "--inflight",
		       load->rcvlowat, load->variant);
	else if (!m && load->fields > load->message_bytes)
		refuse(&r,
		       "--fields %u: more than the %zu bytes of a message, give at most --fields "
		       "%zu",
		       load->fields, load->message_bytes, load->message_bytes);
	else if (!m && load->working_set && dataset__picker(load).count < load__fields(load))
		refuse(&r,
		       "--working-set %zu: too small for the fields of one message of --size %zu, "
		       "give more",
		       load->working_set, load->message_bytes);
	else
		return NULL;
	return why;
}

/* size = fields x field-size: two of them determine the third. */
static int resolve_fields(struct load_options *o, struct refusal *r)
{
	size_t product = o->load.fields * o->load.field_size;

	if (!o->load.field_size)
		return 0;
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

/* Sets the default addresses. The environment may name the receiver's address and namespace. */
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

	return default_ends(o, why, room) || check_pairs(o, &r) || resolve_fields(o, &r) ||
			       check_variants(o, &r)
		       ? -EINVAL
		       : 0;
}
