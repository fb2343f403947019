/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the options of many connections mean. Pure, as options_values.c. */
#include <string.h>

#include "loadgen/options/options_parts.h"
#include "loadgen/serving/serve_ops.h"

#define BACKLOG_MAX 65535

static int set_workload(struct load_options *o, const char *value, struct refusal *r)
{
	for (enum workload w = WORKLOAD_STREAM; w <= WORKLOAD_PROCINFO; w++) {
		if (strcmp(workload_name(w), value))
			continue;
		o->load.workload = w;
		return 0;
	}
	return refusal__say(r, "--workload %s: give stream, request or procinfo", value);
}

static int add_model(struct load_options *o, const char *item, struct refusal *r)
{
	const struct serve_ops *m = models__find(item);
	char names[128];

	if (!m)
		return refusal__say(r, "--server-model %s: unknown; there are %s, or all", item,
				    models__names(names, sizeof(names)));
	o->models[o->model_count++] = m->name;
	return 0;
}

static int add_connections(struct load_options *o, const char *item, struct refusal *r)
{
	return options__set_unsigned("--connections", item, 1, CONNECTIONS_MAX,
				     &o->connections[o->connection_count++], r);
}

static int set_models(struct load_options *o, const char *value, struct refusal *r)
{
	o->models_all = !strcmp(value, "all");
	if (!o->models_all)
		return options__set_list(o, "--server-model", value, add_model, &o->model_count, r);
	for (o->model_count = 0; o->model_count < serve_model_count; o->model_count++)
		o->models[o->model_count] = serve_models[o->model_count]->name;
	return 0;
}

static int set_client(struct load_options *o, const char *value, struct refusal *r)
{
	for (enum client_model m = CLIENT_THREADED; m <= CLIENT_EPOLL; m++) {
		if (strcmp(client_model_name(m), value))
			continue;
		o->load.client_model = m;
		o->client_given = true;
		return 0;
	}
	return refusal__say(r, "--client-model %s: give threaded or epoll", value);
}

int options__set_serving(struct load_options *o, int key, const char *value, struct refusal *r)
{
	switch (key) {
	case LOAD_WORKLOAD:
		return set_workload(o, value, r);
	case LOAD_SERVER_MODEL:
		o->procinfo_given = "--server-model";
		return set_models(o, value, r);
	case LOAD_CONNECTIONS:
		o->procinfo_given = "--connections";
		return options__set_list(o, "--connections", value, add_connections,
					 &o->connection_count, r);
	case LOAD_CLIENT_MODEL:
		o->procinfo_given = "--client-model";
		return set_client(o, value, r);
	default:
		o->procinfo_given = "--backlog";
		return options__set_unsigned("--backlog", value, 1, BACKLOG_MAX, &o->load.backlog,
					     r);
	}
}
