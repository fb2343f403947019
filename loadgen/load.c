/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>

#include "common/units.h"
#include "loadgen/load.h"
#include "loadgen/send/send_ops.h"

#define RCVLOWAT_BULK (512 << 10)

/* No segment is larger: loopback's, whose packets have 64 KiB. */
#define SEGMENT_MAX (64u << 10)

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

int load__rcvlowat(const struct load *load)
{
	const struct send_ops *ops = variants__find(load->variant);
	size_t quarter = load->inflight * load->message_bytes / 4;

	if (load->rcvlowat)
		return (int)load->rcvlowat;
	if (load->workload == WORKLOAD_REQUEST)
		return 1; /* the last byte is what is waited for */
	if (load->message_bytes >= RCVLOWAT_BULK)
		return 1; /* waking costs little beside such a message: it is read while it comes */
	if (!ops || !(ops->flags & SEND_SHARES))
		return RCVLOWAT_BULK;
	/*
	 * The sender waits for completions, these for an acknowledgement, and a segment that
	 * is not full for the one before it (Nagle): a receiver that waits for more than
	 * that first one would be woken by its timer of delayed acknowledgements alone.
	 */
	if (quarter < SEGMENT_MAX)
		return 1;
	return quarter < RCVLOWAT_BULK ? (int)quarter : RCVLOWAT_BULK;
}
