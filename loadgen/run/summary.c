/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "common/hist_stats.h"
#include "common/units.h"
#include "loadgen/load.h"
#include "loadgen/run/result.h"

static void print_latency(const struct hist *h, const char *span)
{
	if (!h->count)
		return;
	printf("latency     p50 %s   p99 %s   p99.9 %s   max %s   %s\n",
	       units__time_text((double)hist__percentile(h, 500)),
	       units__time_text((double)hist__percentile(h, 990)),
	       units__time_text((double)hist__percentile(h, 999)), units__time_text((double)h->max),
	       strcmp(span, "request..answer") ? "a message" : "from the request");
}

static void print_errors(const struct sent *s)
{
	for (int i = 0; i < ERRNO_LIMIT; i++)
		if (s->errors[i])
			printf("errors      %s sends: %s\n", units__count_text(s->errors[i]),
			       i ? strerror(i) : "unknown");
}

static void print_rate(const struct result *r)
{
	if (r->load->rate)
		printf("rate        %s messages were due, %s of them were not begun; latency "
		       "counts from when due\n",
		       units__count_text(r->sent.due),
		       units__count_text(r->sent.due - r->sent.messages));
}

static void print_zerocopy(const struct result *r)
{
	const struct zerocopy_counts *z = &r->sent.zerocopy;

	if (!r->zerocopy)
		return;
	if (z->copied_unknown) {
		printf("zero-copy   %s asked, %s completed, this kernel does not say how many of "
		       "them were copied, %s refused (ENOBUFS)\n",
		       units__count_text(z->requests), units__count_text(z->completions),
		       units__count_text(z->enobufs));
		return;
	}
	printf("zero-copy   %s asked, %s completed, %s copied (%.1f %%), %s refused (ENOBUFS)\n",
	       units__count_text(z->requests), units__count_text(z->completions),
	       units__count_text(z->copied),
	       z->completions ? 100.0 * (double)z->copied / (double)z->completions : 0.0,
	       units__count_text(z->enobufs));
}

static void print_cpu(const struct result *r, const char *sender, const char *receiver)
{
	if (!r->sender_known)
		return;
	printf("cpu         %s %.2f s user + %.2f s system", sender, r->sender.user_s,
	       r->sender.system_s);
	if (r->receiver_known)
		printf(", %s %.2f + %.2f", receiver, r->receiver.user_s, r->receiver.system_s);
	printf("\n");
}

static void print_times(const char *name, const struct hist *h)
{
	if (h->count)
		printf("%-11s p50 %s   p99 %s   max %s\n", name,
		       units__time_text((double)hist__percentile(h, 500)),
		       units__time_text((double)hist__percentile(h, 990)),
		       units__time_text((double)h->max));
}

void result__print_serving(const struct result *r)
{
	const struct visits *v = &r->visits;

	printf("procinfo: %s server, %u connections at once, %s client, %.2f s\n",
	       r->load->server_model, r->load->connections,
	       client_model_name(r->load->client_model), r->elapsed_s);
	printf("answered    %s connections, %.0f a second", units__count_text(v->answered),
	       result__answers_per_s(r));
	if (v->unfinished)
		printf(", %s given up at the end", units__count_text(v->unfinished));
	if (v->unanswered)
		printf(", %s never answered", units__count_text(v->unanswered));
	if (v->turned_away)
		printf(", %s of others turned away", units__count_text(v->turned_away));
	printf("\n");
	print_times("connect", &v->connect);
	print_times("accepted", &v->accept);
	print_times("work", &v->work);
	print_times("answer", &v->answer);
	print_cpu(r, "server", "client");
}

void result__print_stream(const struct result *r)
{
	const struct load *l = r->load;

	printf("%s: %s in %u field%s, %u thread%s, %.2f s\n", l->variant,
	       units__size_text(l->message_bytes), l->fields, l->fields == 1 ? "" : "s", l->threads,
	       l->threads == 1 ? "" : "s", r->elapsed_s);
	printf("throughput  %.2f Gbit/s\n", result__throughput(r) / 1e9);
	print_latency(r->latency, r->span);
	printf("sent        %s messages, %s send calls, %s bytes (%s received)\n",
	       units__count_text(r->sent.messages), units__count_text(r->sent.calls),
	       units__count_text(r->sent.bytes), units__count_text(r->received));
	print_rate(r);
	print_errors(&r->sent);
	print_zerocopy(r);
	print_cpu(r, "sender", "receiver");
	if (l->verify)
		printf("verified    %s bytes, %s of them wrong%s\n", units__count_text(r->checked),
		       units__count_text(r->bad),
		       l->reuse_early && !r->bad ? ": reused early, but all were copied by then"
						 : "");
}
