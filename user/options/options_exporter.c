// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/options/options.h"

#include "common/program.h"
#include "common/units.h"

#include <string.h>

#define LISTEN	   "127.0.0.1:9435"
#define INTERVAL_S 15
#define NAME	   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

void options__take_exporter(struct options *o, int key, const char *value, struct argp_state *state)
{
	struct exporter_options *e = &o->exporter;
	unsigned long long top = 0;
	char host[256], port[8];

	if (!e->given)
		program__refuse(state, "--%s: belongs to exporter: analyze exporter",
				options__name(key));
	if (key == OPT_LISTEN && units__endpoint(value, host, sizeof(host), port))
		program__refuse(state, "--listen %s: give ADDRESS:PORT, or [ADDRESS]:PORT for IPv6",
				value);
	if (key == OPT_TEXTFILE && !value[0])
		program__refuse(state, "--textfile: give the name of a folder");
	if (key == OPT_ALLOW_HOST && (!value[0] || value[strspn(value, NAME)]))
		program__refuse(state, "--allow-host %s: give the name of a host, without a port",
				value);
	if (key == OPT_ALLOW_HOST && e->name_count == ALLOWED_HOSTS_MAX)
		program__refuse(state, "--allow-host %s: give at most %d names", value,
				ALLOWED_HOSTS_MAX);
	if (key == OPT_TOP && (units__count(value, &top) || top > TOP_MAX))
		program__refuse(state, "--top %s: give a number from 0 to %d", value, TOP_MAX);
	if (key == OPT_LISTEN)
		e->listen = value;
	else if (key == OPT_ALLOW_HOST)
		e->names[e->name_count++] = value;
	else if (key == OPT_TEXTFILE)
		e->textfile = value;
	else
		e->top = (unsigned int)top;
}

/* An option that does not fit a window without end, or NULL. */
static const char *of_runs(const struct options *o)
{
	return o->json					   ? "--json"
	       : o->by					   ? "--by"
	       : o->events				   ? "--events"
	       : o->call_counters			   ? "--call-counters"
	       : o->details				   ? "--details"
	       : o->profile				   ? "--profile"
	       : o->wait_quiet_s > 0			   ? "--wait-quiet"
	       : load_options__given(&o->load, "duration") ? "--duration"
	       : o->target.command			   ? "--"
	       : o->interval > 0 && !o->exporter.textfile  ? "--interval without --textfile"
							   : NULL;
}

void options__check_exporter(struct options *o, struct argp_state *state)
{
	if (o->exporter.textfile && (o->exporter.listen || o->exporter.name_count))
		program__refuse(state,
				"%s and --textfile: leave one out: with the file nothing listens",
				o->exporter.listen ? "--listen" : "--allow-host");
	if (of_runs(o))
		program__refuse(
			state,
			"%s: does not apply to exporter, which observes until a signal ends it",
			of_runs(o));
	if (!o->target.given)
		target__set_all(&o->target);
	if (!o->exporter.listen)
		o->exporter.listen = LISTEN;
	if (o->interval <= 0)
		o->interval = INTERVAL_S;
}
