/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a run of many connections measured: as the app block of a record, and for people. */
#include <json-c/json.h>
#include <stdio.h>

#include "loadgen/load.h"
#include "loadgen/run/result_parts.h"
#include "loadgen/system/hist_stats.h"
#include "loadgen/system/units.h"

typedef char text[UNITS_TEXT_MAX];

double result__answers_per_s(const struct result *r)
{
	return r->elapsed_s > 0 ? (double)r->visits.answered / r->elapsed_s : 0;
}

struct json_object *result__serving_json(const struct result *r)
{
	const struct visits *v = &r->visits;
	struct json_object *o;

	if (r->load->workload != WORKLOAD_PROCINFO)
		return NULL;
	o = json_object_new_object();
	result__add_count(o, "started", v->started);
	result__add_count(o, "answered", v->answered);
	result__add_count(o, "unfinished", v->unfinished);
	result__add_count(o, "unanswered", v->unanswered);
	result__add_number(o, "answers_per_s", result__answers_per_s(r), "%.3f");
	json_object_object_add(o, "connect_ns", hist__json(&v->connect, "connect"));
	json_object_object_add(o, "accept_ns", hist__json(&v->accept, "connected..accepted"));
	json_object_object_add(o, "work_ns", hist__json(&v->work, "accepted..ready"));
	json_object_object_add(o, "answer_ns", hist__json(&v->answer, "connect..answer"));
	return o;
}

static void print_times(const char *name, const struct hist *h)
{
	text p50, p99, max;

	if (h->count)
		printf("%-11s p50 %s   p99 %s   max %s\n", name,
		       units__time_text((double)hist__percentile(h, 500), p50),
		       units__time_text((double)hist__percentile(h, 990), p99),
		       units__time_text((double)h->max, max));
}

void result__print_serving(const struct result *r)
{
	const struct visits *v = &r->visits;
	text count, other;

	printf("procinfo: %s server, %u connections at once, %s client, %.2f s\n",
	       r->load->server_model, r->load->connections,
	       client_model_name(r->load->client_model), r->elapsed_s);
	printf("answered    %s connections, %.0f a second", units__count_text(v->answered, count),
	       result__answers_per_s(r));
	if (v->unfinished)
		printf(", %s given up at the end", units__count_text(v->unfinished, other));
	if (v->unanswered)
		printf(", %s never answered", units__count_text(v->unanswered, other));
	printf("\n");
	print_times("connect", &v->connect);
	print_times("accepted", &v->accept);
	print_times("work", &v->work);
	print_times("answer", &v->answer);
	result__print_cpu(r, "server", "client");
}
