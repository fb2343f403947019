// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the load was, as the record has it, and the name of its cell. */
#include "user/record/record_parts.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "loadgen/load.h"
#include "loadgen/system/link.h"

void record__cell_name(const struct load *load, char *name, size_t size)
{
	if (load->workload == WORKLOAD_PROCINFO)
		snprintf(name, size, "procinfo,%s,%uc,%s,%ub", load->server_model,
			 load->connections, client_model_name(load->client_model), load->backlog);
	else
		snprintf(name, size, "%s%s,%zuB,%uf,%ut",
			 load->workload == WORKLOAD_REQUEST ? "request," : "", load->variant,
			 load->message_bytes, load->fields, load->threads);
	if (load->workload != WORKLOAD_PROCINFO)
		record__name_sending(load, name, size);
	if (load->link)
		snprintf(name + strlen(name), size - strlen(name), ",veth");
}

static bool is_loopback(const char *address)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, address, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
	return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static void add_messages(json_object *o, const struct load *load)
{
	record__add_string(o, "variant", load->variant);
	record__add_string(o, "server_model", "threaded");
	record__add_string(o, "client_model", NULL);
	json_object_object_add(o, "message_bytes", json_object_new_uint64(load->message_bytes));
	json_object_object_add(o, "fields", json_object_new_int((int)load->fields));
	json_object_object_add(o, "threads", json_object_new_int((int)load->threads));
	json_object_object_add(o, "connections", json_object_new_int((int)load->threads));
	json_object_object_add(o, "inflight", json_object_new_int((int)load->inflight));
	json_object_object_add(o, "rcvlowat", json_object_new_int(load__rcvlowat(load)));
}

/* Many connections have no messages of a size: what belongs to these is null. */
static void add_connections(json_object *o, const struct load *load)
{
	static const char *const none[] = {"variant", "message_bytes", "fields",
					   "threads", "inflight",      "rcvlowat"};
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		json_object_object_add(o, none[i], NULL);
	record__add_string(o, "server_model", load->server_model);
	record__add_string(o, "client_model", client_model_name(load->client_model));
	json_object_object_add(o, "connections", json_object_new_int((int)load->connections));
	json_object_object_add(o, "backlog", json_object_new_int((int)load->backlog));
}

/* NULL: not known. */
static const char *device_name(const struct load *load, bool loopback)
{
	if (load->socket.device[0])
		return load->socket.device;
	if (loopback)
		return "lo";
	return load->link ? LINK_DEVICE : NULL;
}

json_object *record__load(const struct run_result *r, const struct load *load, struct unmeasured *u)
{
	bool loopback = !load->peer && is_loopback(load->address);
	json_object *o = json_object_new_object(), *pinning = NULL;

	record__add_string(o, "workload", workload_name(load->workload));
	if (load->workload == WORKLOAD_PROCINFO)
		add_connections(o, load);
	else
		add_messages(o, load);
	json_object_object_add(o, "warmup_s", json_object_new_double(load->warmup_s));
	json_object_object_add(o, "duration_s",
			       load->messages ? NULL : json_object_new_double(load->duration_s));
	json_object_object_add(o, "messages_per_thread",
			       load->messages ? json_object_new_uint64(load->messages) : NULL);
	json_object_object_add(o, "verify", json_object_new_boolean(load->verify));
	record__add_sending(o, load);
	record__add_string(o, "address", load->peer ? load->peer : load->address);
	record__add_string(o, "netns", load->netns);
	record__add_string(o, "link", loopback ? "loopback" : load->link ? "veth" : NULL);
	record__add_string(o, "device", device_name(load, loopback));
	if (!device_name(load, loopback))
		unmeasured__add(u, "load.device", "the route to the receiver is not looked up");
	record__add_string(o, "peer", load->peer);
	json_object_object_add(o, "sender_pid", json_object_new_int(r->sender_pid));
	json_object_object_add(o, "receiver_pid",
			       load->peer ? NULL : json_object_new_int(r->receiver_pid));
	json_object_object_get_ex(r->app, "pinning", &pinning);
	json_object_object_add(o, "pinning", json_object_get(pinning));
	return o;
}
