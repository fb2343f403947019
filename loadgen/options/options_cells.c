/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cells of the grid that lists make. Pure. */
#include <stddef.h>

#include "loadgen/options/rows.h"
#include "loadgen/send/send_ops.h"
#include "loadgen/system/link.h"

/* In flight unless it is said: so many bytes, in no fewer and no more messages than these. */
#define INFLIGHT_BYTES (1u << 20)
#define INFLIGHT_FEW   32u
#define INFLIGHT_MANY  1024u

/* A bound by messages alone would have small ones wait for acknowledgements. */
static unsigned int default_inflight(size_t message_bytes)
{
	size_t messages = INFLIGHT_BYTES / message_bytes;

	if (messages < INFLIGHT_FEW)
		return INFLIGHT_FEW;
	return messages < INFLIGHT_MANY ? (unsigned int)messages : INFLIGHT_MANY;
}

/* Takes from a load what its variant, one of several, does not have. */
static void fit(struct load *load)
{
	unsigned int flags = variants__find(load->variant)->flags;

	load->registered &= !!(flags & SEND_REGISTERS);
	load->reuse_early &= !!(flags & SEND_SHARES);
	if (flags & SEND_FILE)
		load->fields = 1;
	else
		load->file_dir = NULL;
}

/* Puts a load on one of the links. */
static void join(const struct load_options *o, struct load *load, size_t link)
{
	load->link = o->links.of[link];
	if (load->link)
		load->address = LINK_RECEIVER;
}

struct load load_options__cell(const struct load_options *o, size_t variant, size_t size,
			       size_t threads)
{
	struct load load = o->load;

	load.variant = o->variants.of[variant];
	load.message_bytes = o->sizes.of[size];
	load.threads = o->threads.of[threads];
	if (load.field_size)
		load.fields = (unsigned int)(load.message_bytes / load.field_size);
	load.field_size = 0;
	join(o, &load, 0);
	if (!load.inflight)
		load.inflight = default_inflight(load.message_bytes);
	fit(&load);
	return load;
}

static struct load serving_cell(const struct load_options *o, size_t model, size_t connections)
{
	struct load load = o->load;

	load.server_model = o->models.of[model];
	load.connections = o->connections.of[connections];
	if (!load_options__given(o, "client-model") && load.connections > CONNECTIONS_THREAD)
		load.client_model = CLIENT_EPOLL;
	return load;
}

size_t load_options__compared(const struct load_options *o)
{
	return o->load.workload == WORKLOAD_PROCINFO ? o->models.count : o->variants.count;
}

static size_t cells_of_a_link(const struct load_options *o)
{
	if (o->load.workload == WORKLOAD_PROCINFO)
		return o->models.count * o->connections.count;
	return o->variants.count * o->sizes.count * o->threads.count;
}

size_t load_options__cells(const struct load_options *o)
{
	return cells_of_a_link(o) * o->links.count;
}

struct load load_options__nth(const struct load_options *o, size_t n)
{
	size_t link = n / cells_of_a_link(o);
	struct load load;

	n %= cells_of_a_link(o);
	if (o->load.workload == WORKLOAD_PROCINFO)
		load = serving_cell(o, n % o->models.count, n / o->models.count);
	else
		load = load_options__cell(o, n % o->variants.count,
					  n / o->variants.count / o->threads.count,
					  n / o->variants.count % o->threads.count);
	join(o, &load, link);
	return load;
}
