/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the two ends are, and what goes with it. Pure, as options_values.c. */
#include <netdb.h>
#include <string.h>

#include "loadgen/options/options_parts.h"
#include "loadgen/receive/peer.h"

static int add_link(struct load_options *o, const char *item, struct refusal *r)
{
	if (strcmp(item, "loopback") && strcmp(item, "veth"))
		return refusal__say(r, "--link %s: give loopback or veth", item);
	o->links[o->link_count++] = !strcmp(item, "veth");
	return 0;
}

static bool any_veth(const struct load_options *o)
{
	for (size_t i = 0; i < o->link_count; i++)
		if (o->links[i])
			return true;
	return false;
}

static int set_peer(struct load_options *o, const char *value, struct refusal *r)
{
	char host[256], port[8];

	if (peer__split(value, host, sizeof(host), port))
		return refusal__say(r,
				    "--peer %s: give HOST:PORT as loadgen serve there says, or "
				    "[ADDRESS]:PORT for IPv6",
				    value);
	o->load.peer = value;
	return 0;
}

static int set_address(struct load_options *o, const char *value, struct refusal *r)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;

	if (getaddrinfo(value, NULL, &hints, &found))
		return refusal__say(
			r, "--address %s: give an IPv4 or IPv6 address, such as 127.0.0.1 or ::1",
			value);
	freeaddrinfo(found);
	o->load.address = value;
	o->address_given = true;
	return 0;
}

static int set_netns(struct load_options *o, const char *value, struct refusal *r)
{
	if (!value[0] || value[0] == '.' || strchr(value, '/') || strlen(value) > 200)
		return refusal__say(r, "--netns %s: give a name that ip netns list shows", value);
	o->load.netns = value;
	return 0;
}

int options__set_ends(struct load_options *o, int key, const char *value, struct refusal *r)
{
	switch (key) {
	case LOAD_ADDRESS:
		return set_address(o, value, r);
	case LOAD_PORT:
		o->port_given = true;
		return options__set_unsigned("--port", value, 0, 65535, &o->load.port, r);
	case LOAD_NETNS:
		return set_netns(o, value, r);
	case LOAD_PEER:
		return set_peer(o, value, r);
	default:
		return options__set_list(o, "--link", value, add_link, &o->link_count, r);
	}
}

int options__resolve_ends(struct load_options *o, struct refusal *r)
{
	bool veth = any_veth(o);

	if (veth && (o->address_given || o->load.peer || o->load.netns))
		return refusal__say(
			r, "--link veth has addresses of its own: leave --address, --netns "
			   "and --peer out");
	if (veth && o->load.socket.device[0])
		return refusal__say(r,
				    "--link veth has devices of its own: leave --socket device=%s "
				    "out",
				    o->load.socket.device);
	if (o->load.peer && (o->address_given || o->port_given || o->load.netns))
		return refusal__say(r,
				    "--peer %s says where the receiver is: leave --address, --port "
				    "and --netns out",
				    o->load.peer);
	if (o->load.peer && o->load.socket.rcvbuf)
		return refusal__say(
			r,
			"--socket rcvbuf: the receiver is at --peer %s, and has the buffer that "
			"the kernel there gives: leave it out",
			o->load.peer);
	if (o->load.netns && !o->address_given)
		return refusal__say(
			r,
			"--netns %s: give --address too, one of that namespace that can be "
			"reached from here",
			o->load.netns);
	return 0;
}
