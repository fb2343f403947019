/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the options of many connections mean. Pure, as options_values.c. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "loadgen/options_parts.h"
#include "loadgen/serve_ops.h"
#include "loadgen/units.h"

#define BACKLOG_MAX 65535

static const char *const workloads[] = {
	[WORKLOAD_STREAM] = "stream",
	[WORKLOAD_REQUEST] = "request",
	[WORKLOAD_PROCINFO] = "procinfo",
};

static const char *const clients[] = {
	[CLIENT_THREADED] = "threaded",
	[CLIENT_EPOLL] = "epoll",
};

const char *workload_name(enum workload workload)
{
	return workloads[workload];
}

const char *client_model_name(enum client_model model)
{
	return clients[model];
}

static int __attribute__((format(printf, 3, 4)))
refuse(char *why, size_t room, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, room, format, args);
	va_end(args);
	return -EINVAL;
}

static int set_workload(struct load_options *o, const char *value, char *why, size_t room)
{
	for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++) {
		if (strcmp(workloads[i], value))
			continue;
		o->load.workload = (enum workload)i;
		return 0;
	}
	return refuse(why, room, "--workload %s: give stream, request or procinfo", value);
}

static int add_model(struct load_options *o, const char *item, char *why, size_t room)
{
	const struct serve_ops *m = models__find(item);
	char names[128];

	if (!m)
		return refuse(why, room, "--server-model %s: unknown; there are %s, or all", item,
			      models__names(names, sizeof(names)));
	o->models[o->model_count++] = m->name;
	return 0;
}

static int add_connections(struct load_options *o, const char *item, char *why, size_t room)
{
	unsigned long long n;

	if (units__count(item, &n) || !n || n > CONNECTIONS_MAX)
		return refuse(why, room, "--connections %s: give a whole number from 1 to %d", item,
			      CONNECTIONS_MAX);
	o->connections[o->connection_count++] = (unsigned int)n;
	return 0;
}

typedef int (*add_fn)(struct load_options *o, const char *item, char *why, size_t room);

/* A repeated option replaces the list, as any other option is replaced. */
static int set_list(struct load_options *o, const char *option, const char *value, add_fn add,
		    size_t *count, char *why, size_t room)
{
	char item[UNITS_ITEM_MAX];
	const char *cursor = value;
	int more, err;

	*count = 0;
	while ((more = units__next(&cursor, item)) > 0) {
		if (*count == LIST_MAX)
			return refuse(why, room, "%s %s: give at most %d elements", option, value,
				      LIST_MAX);
		err = add(o, item, why, room);
		if (err)
			return err;
	}
	return more ? refuse(why, room,
			     "%s %s: give elements with commas between, none of them empty", option,
			     value)
		    : 0;
}

static int set_models(struct load_options *o, const char *value, char *why, size_t room)
{
	o->models_all = !strcmp(value, "all");
	if (!o->models_all)
		return set_list(o, "--server-model", value, add_model, &o->model_count, why, room);
	for (o->model_count = 0; o->model_count < serve_model_count; o->model_count++)
		o->models[o->model_count] = serve_models[o->model_count]->name;
	return 0;
}

static int set_client(struct load_options *o, const char *value, char *why, size_t room)
{
	for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
		if (strcmp(clients[i], value))
			continue;
		o->load.client_model = (enum client_model)i;
		o->client_given = true;
		return 0;
	}
	return refuse(why, room, "--client-model %s: give threaded or epoll", value);
}

static int set_backlog(struct load_options *o, const char *value, char *why, size_t room)
{
	unsigned long long n;

	if (units__count(value, &n) || !n || n > BACKLOG_MAX)
		return refuse(why, room, "--backlog %s: give a whole number from 1 to %d", value,
			      BACKLOG_MAX);
	o->load.backlog = (unsigned int)n;
	return 0;
}

int load_options__set_serving(struct load_options *o, int key, const char *value, char *why,
			      size_t room)
{
	switch (key) {
	case LOAD_WORKLOAD:
		return set_workload(o, value, why, room);
	case LOAD_SERVER_MODEL:
		o->procinfo_given = "--server-model";
		return set_models(o, value, why, room);
	case LOAD_CONNECTIONS:
		o->procinfo_given = "--connections";
		return set_list(o, "--connections", value, add_connections, &o->connection_count,
				why, room);
	case LOAD_CLIENT_MODEL:
		o->procinfo_given = "--client-model";
		return set_client(o, value, why, room);
	default:
		o->procinfo_given = "--backlog";
		return set_backlog(o, value, why, room);
	}
}

static size_t possible_cells(const struct load_options *o, char *why, size_t room)
{
	size_t possible = 0;

	for (size_t m = 0; m < o->model_count; m++)
		for (size_t c = 0; c < o->connection_count; c++) {
			struct load load = load_options__serving_cell(o, m, c);

			possible += !load__impossible(&load, why, room);
		}
	return possible;
}

int load_options__resolve_serving(struct load_options *o, char *why, size_t room)
{
	if (o->load.workload != WORKLOAD_PROCINFO && o->procinfo_given)
		return refuse(why, room, "%s belongs to --workload procinfo: give it too",
			      o->procinfo_given);
	if (o->load.workload == WORKLOAD_PROCINFO && o->stream_given)
		return refuse(why, room,
			      "%s belongs to messages, --workload procinfo has none: leave it out",
			      o->stream_given);
	if (o->load.workload != WORKLOAD_PROCINFO)
		return 0;
	/* By name a load that cannot be is a mistake; of all models it is left out, aloud. */
	if (!o->models_all && possible_cells(o, why, room) < o->model_count * o->connection_count)
		return -EINVAL;
	return possible_cells(o, why, room) ? 0 : -EINVAL;
}

const char *load__impossible(const struct load *load, char *why, size_t room)
{
	const struct serve_ops *m;

	if (load->workload != WORKLOAD_PROCINFO)
		return NULL;
	m = models__find(load->server_model);
	if (m->most && load->connections > m->most) {
		snprintf(why, room,
			 "--server-model %s with --connections %u: %s: give at most %u, or model "
			 "epoll",
			 m->name, load->connections, m->limit, m->most);
		return why;
	}
	if (load->client_model == CLIENT_THREADED && load->connections > CONNECTIONS_THREAD) {
		snprintf(why, room,
			 "--client-model threaded with --connections %u: give at most %d, or epoll",
			 load->connections, CONNECTIONS_THREAD);
		return why;
	}
	return NULL;
}

struct load load_options__serving_cell(const struct load_options *o, size_t model,
				       size_t connections)
{
	struct load load = o->load;

	load.server_model = o->models[model];
	load.connections = o->connections[connections];
	if (!o->client_given && load.connections > CONNECTIONS_THREAD)
		load.client_model = CLIENT_EPOLL;
	return load;
}

const char *load__label(const struct load *load, char *text, size_t room)
{
	char size[UNITS_TEXT_MAX];

	if (load->workload == WORKLOAD_PROCINFO)
		snprintf(text, room, "%s, %u connections", load->server_model, load->connections);
	else
		snprintf(text, room, "%s %s x%u", load->variant,
			 units__size_text(load->message_bytes, size), load->threads);
	return text;
}
