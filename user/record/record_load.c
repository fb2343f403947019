// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the load was, as the record has it, and the name of its cell. */
#include "user/record/record_parts.h"

#include "user/run/generator.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loadgen/options/rows.h"
#include "loadgen/system/link.h"

/* Options at their defaults are left out. */
static void append_option(char *name, size_t size, const struct load_row *row,
			  const struct load *load)
{
	char text[ROW_TEXT_MAX];

	for (; row->name; row++) {
		const char *value = row->cell ? row__text(row, load, text) : NULL;
		size_t used = strlen(name);

		if (row->type == ROW_PARTS)
			append_option(name, size, socket_rows, load);
		else if (value)
			snprintf(name + used, size - used, row->cell, value);
	}
}

void record__cell_name(const struct load *load, char *name, size_t size)
{
	snprintf(name, size, "%s", load->workload == WORKLOAD_REQUEST ? "request," : "");
	if (load->workload == WORKLOAD_PROCINFO)
		snprintf(name, size, "procinfo,%s,%uc,%s,%ub", load->server_model,
			 load->connections, client_model_name(load->client_model), load->backlog);
	else
		append_option(name, size, load_rows, load);
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

static json_object *value_of(const struct load_row *row, const struct load *load);

/* Null: not of this load, or left to the kernel. */
static void add_rows(json_object *o, const struct load_row *row, const struct load *load)
{
	for (; row->name; row++)
		if (row->key)
			json__add(o, row->key, value_of(row, load));
}

static json_object *value_of(const struct load_row *row, const struct load *load)
{
	char text[ROW_TEXT_MAX];
	const char *said = row__text(row, load, text);
	json_object *parts;

	switch (row->type) {
	case ROW_FLAG:
		return json_object_new_boolean(*(const bool *)row__value(row, load));
	case ROW_PARTS:
		parts = json_object_new_object();
		add_rows(parts, socket_rows, load);
		return parts;
	case ROW_SECONDS:
		return said ? json_object_new_double(*(const double *)row__value(row, load)) : NULL;
	case ROW_UNSIGNED:
	case ROW_COUNT:
	case ROW_BYTES:
		return said ? json_object_new_uint64(strtoull(said, NULL, 10)) : NULL;
	default:
		return said && said[0] ? json_object_new_string(said) : NULL;
	}
}

/* What streams have in the place of the options of connections. */
static void add_stream(json_object *o, const struct load *load)
{
	json__add_string(o, "server_model", "threaded");
	json__add(o, "connections", json_object_new_int((int)load->threads));
	json_object_object_del(o, "backlog");
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

json_object *record__load(const struct load *load)
{
	bool loopback = !load->peer && is_loopback(load->address);
	json_object *o = json_object_new_object();

	add_rows(o, load_rows, load);
	if (load->workload != WORKLOAD_PROCINFO)
		add_stream(o, load);
	json__add_string(o, "address", load->peer ? load->peer : load->address);
	json__add_string(o, "link", loopback ? "loopback" : load->link ? "veth" : NULL);
	json__add_string(o, "device", device_name(load, loopback));
	json__add_string(o, "peer", load->peer);
	return o;
}
