// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/load_arguments.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "loadgen/load.h"

/* One more, and its terminating null. What there is no memory for is remembered in err. */
static void add_argument(struct load_arguments *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void add_argument(struct load_arguments *a, const char *format, ...)
{
	char **values = reallocarray(a->values, a->count + 2, sizeof(*values)), *text;
	va_list list;
	int length;

	if (values)
		a->values = values;
	va_start(list, format);
	length = vasprintf(&text, format, list);
	va_end(list);
	if (!values || length < 0) {
		a->err = -ENOMEM;
		if (length >= 0)
			free(text);
		return;
	}
	values[a->count++] = text;
	values[a->count] = NULL;
}

static void describe_socket(struct load_arguments *a, const struct socket_options *s)
{
	char list[256] = "";
	size_t used = 0;

	used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
				 s->nodelay ? ",nodelay" : "", s->more ? ",more" : "");
	if (s->sndbuf)
		used += (size_t)snprintf(list + used, sizeof(list) - used, ",sndbuf=%zu",
					 s->sndbuf);
	if (s->rcvbuf)
		used += (size_t)snprintf(list + used, sizeof(list) - used, ",rcvbuf=%zu",
					 s->rcvbuf);
	snprintf(list + used, sizeof(list) - used, "%s%s%s%s",
		 s->congestion[0] ? ",congestion=" : "", s->congestion,
		 s->device[0] ? ",device=" : "", s->device);
	if (list[0])
		add_argument(a, "--socket=%s", list + 1);
}

/* From what memory, when, and on what socket. */
static void describe_sending(struct load_arguments *a, const struct load *load)
{
	if (load->working_set)
		add_argument(a, "--working-set=%zu", load->working_set);
	if (load->pick == PICK_RANDOM)
		add_argument(a, "--pick=random");
	add_argument(a, "--seed=%llu", load->seed);
	if (load->align)
		add_argument(a, "--align=%zu", load->align);
	if (load->huge_pages)
		add_argument(a, "--huge-pages");
	if (load->registered)
		add_argument(a, "--registered");
	if (load->file_dir)
		add_argument(a, "--file-dir=%s", load->file_dir);
	if (load->reuse_early)
		add_argument(a, "--reuse-early");
	if (load->rate)
		add_argument(a, "--rate=%llu", load->rate);
	describe_socket(a, &load->socket);
}

static void describe_connections(struct load_arguments *a, const struct load *load)
{
	add_argument(a, "--server-model=%s", load->server_model);
	add_argument(a, "--connections=%u", load->connections);
	add_argument(a, "--client-model=%s", client_model_name(load->client_model));
	add_argument(a, "--backlog=%u", load->backlog);
}

static void describe_messages(struct load_arguments *a, const struct load *load)
{
	add_argument(a, "--variant=%s", load->variant);
	add_argument(a, "--size=%zu", load->message_bytes);
	add_argument(a, "--fields=%u", load->fields);
	add_argument(a, "--threads=%u", load->threads);
	add_argument(a, "--inflight=%u", load->inflight);
	if (load->rcvlowat)
		add_argument(a, "--rcvlowat=%zu", load->rcvlowat);
	if (load->verify)
		add_argument(a, "--verify");
	describe_sending(a, load);
}

int load_arguments__fill(struct load_arguments *a, const char *program, const struct load *load,
			 int fd)
{
	*a = (struct load_arguments){};
	add_argument(a, "%s", program);
	add_argument(a, "--workload=%s", workload_name(load->workload));
	if (load->workload == WORKLOAD_PROCINFO)
		describe_connections(a, load);
	else
		describe_messages(a, load);
	add_argument(a, "--warmup=%.9f", load->warmup_s);
	if (load->messages)
		add_argument(a, "--messages=%llu", load->messages);
	else
		add_argument(a, "--duration=%.9f", load->duration_s);
	add_argument(a, "--pin=%s", load->pinning == PIN_AUTO ? "auto" : "none");
	if (load->link) {
		add_argument(a, "--link=veth");
		add_argument(a, "--port=%u", load->port);
	} else if (load->peer) {
		add_argument(a, "--peer=%s", load->peer);
	} else {
		add_argument(a, "--address=%s", load->address);
		add_argument(a, "--port=%u", load->port);
	}
	if (load->netns)
		add_argument(a, "--netns=%s", load->netns);
	add_argument(a, "--control=%d", fd);
	return a->err;
}

void load_arguments__free(struct load_arguments *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->values[i]);
	free(a->values);
	*a = (struct load_arguments){};
}
