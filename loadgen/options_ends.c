/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the two ends are, and what goes with it. Pure, as options_values.c. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "loadgen/link.h"
#include "loadgen/options_parts.h"
#include "loadgen/peer.h"
#include "loadgen/send_ops.h"

static int __attribute__((format(printf, 3, 4)))
refuse(char *why, size_t room, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, room, format, args);
	va_end(args);
	return -EINVAL;
}

static int set_link(struct load_options *o, const char *value, char *why, size_t room)
{
	if (strcmp(value, "loopback") && strcmp(value, "veth"))
		return refuse(why, room, "--link %s: give loopback or veth", value);
	o->load.link = !strcmp(value, "veth");
	return 0;
}

static int set_peer(struct load_options *o, const char *value, char *why, size_t room)
{
	char host[256], port[8];

	if (peer__split(value, host, sizeof(host), port))
		return refuse(why, room,
			      "--peer %s: give HOST:PORT as loadgen serve there says, or "
			      "[ADDRESS]:PORT for IPv6",
			      value);
	o->load.peer = value;
	return 0;
}

int load_options__set_ends(struct load_options *o, int key, const char *value, char *why,
			   size_t room)
{
	return (key == LOAD_PEER ? set_peer : set_link)(o, value, why, room);
}

/* What waits for more than an answer, or for no answer at all, would wait for ever. */
static int check_request(const struct load_options *o, char *why, size_t room)
{
	if (o->load.workload != WORKLOAD_REQUEST)
		return 0;
	for (size_t i = 0; i < o->variant_count; i++)
		if (variants__find(o->variants[i])->flags & SEND_NOTHING)
			return refuse(why, room,
				      "--variant %s sends nothing: --workload request needs an "
				      "answer",
				      o->variants[i]);
	for (size_t i = 0; i < o->size_count; i++)
		if (o->load.rcvlowat > o->sizes[i])
			return refuse(why, room,
				      "--rcvlowat %zu is more than an answer of %zu bytes: give "
				      "less",
				      o->load.rcvlowat, o->sizes[i]);
	return 0;
}

int load_options__resolve_ends(struct load_options *o, char *why, size_t room)
{
	int err = check_request(o, why, room);

	if (err)
		return err;
	if (o->load.link && (o->address_given || o->load.peer || o->load.netns))
		return refuse(why, room,
			      "--link veth has addresses of its own: leave --address, --netns "
			      "and --peer out");
	if (o->load.link)
		o->load.address = LINK_RECEIVER;
	if (o->load.peer && (o->address_given || o->port_given || o->load.netns))
		return refuse(why, room,
			      "--peer %s says where the receiver is: leave --address, --port "
			      "and --netns out",
			      o->load.peer);
	if (o->load.peer && o->load.workload == WORKLOAD_REQUEST)
		return refuse(why, room, "--peer %s: it takes --workload stream alone",
			      o->load.peer);
	if (o->load.netns && !o->address_given)
		return refuse(why, room,
			      "--netns %s: give --address too, one of that namespace that can be "
			      "reached from here",
			      o->load.netns);
	return 0;
}
