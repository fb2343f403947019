/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <json-c/json.h>
#include <stdio.h>

#include "loadgen/load.h"
#include "loadgen/run/result_parts.h"

double result__throughput(const struct result *r)
{
	return r->elapsed_s > 0 ? (double)r->received * 8 / r->elapsed_s : 0;
}

const struct hist *result__latency(const struct result *r, const char **span)
{
	switch (r->load->workload) {
	case WORKLOAD_PROCINFO:
		*span = "connect..answer";
		return &r->visits.answer;
	case WORKLOAD_REQUEST:
		*span = "request..answer";
		return &r->requests;
	default:
		*span = r->load->rate ? "message_due" : "message";
		return &r->sent.latency;
	}
}

void result__add_count(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

/* Nine digits after the point are exact to the nanosecond; %.17g would show noise. */
void result__add_number(struct json_object *o, const char *key, double value, const char *format)
{
	struct json_object *number = json_object_new_double(value);

	if (number)
		json_object_set_serializer(number, json_object_double_to_json_string,
					   (void *)(uintptr_t)format, NULL);
	json_object_object_add(o, key, number);
}

void result__print_cpu(const struct result *r, const char *sender, const char *receiver)
{
	if (!r->sender_known)
		return;
	printf("cpu         %s %.2f s user + %.2f s system", sender, r->sender.user_s,
	       r->sender.system_s);
	if (r->receiver_known)
		printf(", %s %.2f + %.2f", receiver, r->receiver.user_s, r->receiver.system_s);
	printf("\n");
}
