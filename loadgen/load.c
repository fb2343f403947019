/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>

#include "common/units.h"
#include "loadgen/load.h"
#include "loadgen/send/send_ops.h"

unsigned int load__fields(const struct load *load)
{
	const struct send_ops *ops = variants__find(load->variant);

	return ops && ops->flags & SEND_FILE ? 1 : load->fields;
}

const char *load__label(const struct load *load, char *text, size_t room)
{
	bool usual = load->fields == FIELDS_DEFAULT || load__fields(load) == 1;
	char fields[32] = "";

	if (!usual)
		snprintf(fields, sizeof(fields), ", %u fields", load->fields);
	if (load->workload == WORKLOAD_PROCINFO)
		snprintf(text, room, "%s, %u connections%s", load->server_model, load->connections,
			 load->link ? ", veth" : "");
	else
		snprintf(text, room, "%s %s x%u%s%s", load->variant,
			 units__size_text(load->message_bytes), load->threads, fields,
			 load->link ? ", veth" : "");
	return text;
}
