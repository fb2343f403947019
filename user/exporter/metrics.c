// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/metrics.h"

#include "user/kernel/calls.h"
#include "user/kernel/causes.h"

#include <errno.h>
#include <string.h>

/* What a family may need to be measured: an enum hook_id, or one of these. */
enum {
	NEED_PROCESSES = HOOK_COUNT,
	NEED_COST,
	NEED_UNFLAGGED, /* copies without a flag are seen */
	NEED_FOLLOWED,	/* each zero-copy send is, and what it asks for */
	NEED_SKIPS,	/* the kernel counts programs that it skips */
	NEED_NOTHING	/* more */
};

/* What samples are made of. */
struct writer {
	struct exposition *out;
	const struct run_result *result;
	const struct window_counts *counts; /* of it */
	struct zerocopy_sums zerocopy, uring;
	const struct processes *processes;
	const char *kernel;
	bool cost;
	struct single_numbers single;
	const struct metric *metric; /* whose samples are written, */
	const char *missing;	     /* unless this is why there are none */
};

/* A row of analysis/tables/metrics.py. */
struct metric {
	struct family family;
	void (*write)(const struct writer *w);
	size_t offset; /* of its number, or pointer to a histogram, in what write() has */
	int needs[4];
};

/* A number of a family that has others. A histogram is NULL. */
#define UNKNOWN UINT64_MAX

/* Though others of its family may be missing. */
static void write_known(const struct writer *w, const void *numbers, const char *const *labels)
{
	const void *at = (const char *)numbers + w->metric->offset;
	bool histogram = w->metric->family.kind == METRIC_HISTOGRAM;

	if (histogram && *(const struct hist *const *)at)
		exposition__histogram(w->out, labels, *(const struct hist *const *)at);
	else if (!histogram && *(const __u64 *)at != UNKNOWN)
		exposition__number(w->out, labels, *(const __u64 *)at);
}

static void write_sample(const struct writer *w, const void *numbers, const char *const *labels)
{
	if (!w->missing)
		write_known(w, numbers, labels);
}

static void write_build(const struct writer *w)
{
	const char *mechanism = mechanism_name(plan__tier(&w->result->plan));

	write_sample(w, &(__u64){1}, LABELS(SENDPATH_VERSION, w->kernel, mechanism));
}

/* The labels of a slot of calls. */
#define CALL_LABELS(slot) call_name((enum call_kind)((slot) / 2)), (slot)&1 ? "true" : "false"

struct call_numbers {
	__u64 sends, bytes;
	const struct hist *wall;
};

static void write_call(const struct writer *w)
{
	const struct call_slot *call = w->counts->calls;
	struct call_numbers n;
	__u32 slot;

	for (slot = 0; slot < CALL_SLOTS; slot++, call++) {
		n = (struct call_numbers){call__sends(call), call__accepted(call).bytes,
					  call->wall.count ? &call->wall : NULL};
		if (n.sends)
			write_sample(w, &n, LABELS(CALL_LABELS(slot)));
	}
}

static void write_error(const struct writer *w)
{
	const __u64 *count = w->counts->errors[0];
	__u32 slot, error;

	for (slot = 0; slot < CALL_SLOTS; slot++)
		for (error = 0; error < ERRNO_SLOTS; error++, count++)
			if (*count)
				write_sample(w, count,
					     LABELS(CALL_LABELS(slot), call_error_name(error)));
}

static void write_process(const struct writer *w)
{
	const struct processes *p = w->processes;
	struct group rest = p->rest.sums;
	size_t i;

	for (i = 0; i < p->count; i++)
		write_sample(w, &p->names[i].sums, LABELS(p->names[i].comm));
	group__add(&rest, &w->counts->groups_rest);
	write_sample(w, &rest, LABELS(PROCESSES_OTHER));
}

/* Of MSG_ZEROCOPY, and of io_uring's own zero-copy sends. */
struct interface_numbers {
	__u64 requests, ignored, bytes, completions, copied, unreported, reported_copied;
	__u64 outstanding, pinned_bytes;
};
#define MSG_ZEROCOPY_NAME "msg_zerocopy"
#define IO_URING_NAME	  "io_uring"

static void write_interface(const struct writer *w)
{
	const struct totals *t = &w->counts->totals;
	const struct plan *plan = &w->result->plan;
	const struct hook_option *option = plan->entries[HOOK_URING].option;
	const struct interface_numbers msg = {
		.requests = w->zerocopy.requests,
		.ignored = w->zerocopy.ignored,
		.bytes = w->zerocopy.bytes,
		.completions = t->completions,
		.copied = plan__blind_to_unflagged(plan) ? SUM_FLAGGED(t) : SUM_COPIED(t),
		.unreported = t->unflagged,
		.reported_copied = t->errqueue_copied,
		.outstanding = window_counts__outstanding(w->counts),
		.pinned_bytes = SUM_PINNED_BYTES(&w->counts->pinned),
	};
	const struct interface_numbers uring = {
		.requests = w->uring.requests,
		.ignored = w->uring.ignored,
		.bytes = w->uring.bytes,
		.completions = option ? t->uring_completions : UNKNOWN,
		.copied = !option || (option->by_report && t->uring_unknown) ? UNKNOWN
									     : t->uring_copied,
		.unreported = UNKNOWN,	    /* not distinguished */
		.reported_copied = UNKNOWN, /* it has no error queue */
		.outstanding = option ? window_counts__uring_outstanding(w->counts) : UNKNOWN,
		.pinned_bytes = UNKNOWN,
	};

	write_sample(w, &msg, LABELS(MSG_ZEROCOPY_NAME));
	if (uring.requests)
		write_known(w, &uring, LABELS(IO_URING_NAME));
}

static void write_refused(const struct writer *w, const char *interface, enum refusal refusal,
			  unsigned int error, __u64 count)
{
	if (count)
		write_sample(
			w, &count,
			LABELS(interface, refusal__get(refusal)->name, call_error_name(error)));
}

static void write_refusal(const struct writer *w)
{
	const struct totals *t = &w->counts->totals;
	unsigned int i;
	__u64 known;

	write_refused(w, MSG_ZEROCOPY_NAME, REFUSAL_OPTMEM, ENOBUFS, t->refused_optmem);
	write_refused(w, MSG_ZEROCOPY_NAME, REFUSAL_MEMLOCK, ENOBUFS, t->refused_memlock);
	for (i = 0; i < ERRNO_SLOTS; i++) {
		known = i == ENOBUFS ? t->refused_optmem + t->refused_memlock : 0;
		write_refused(w, MSG_ZEROCOPY_NAME, refusal__of((int)i), i,
			      window_counts__difference(w->zerocopy.errors[i], known));
	}
	for (i = 0; i < ERRNO_SLOTS; i++)
		write_refused(w, IO_URING_NAME, refusal__of((int)i), i, w->uring.errors[i]);
}

/* A cause on a device, in whichever network namespace, with whichever stack. */
struct cause_numbers {
	enum cause cause;
	char device[DEVICE_NAME_MAX + 1];
	__u64 copied, unreported;
};

/* all: ends where nothing was copied. */
static void add_cause(struct cause_numbers *all, const struct cause_info *info,
		      const struct cause_counter *sums)
{
	while (all->copied && (all->cause != info->key.cause ||
			       strncmp(all->device, info->device, DEVICE_NAME_MAX)))
		all++;
	all->cause = info->key.cause;
	memcpy(all->device, info->device, DEVICE_NAME_MAX);
	all->copied += sums->sends + sums->unflagged;
	all->unreported += sums->unflagged;
}

static void write_cause(const struct writer *w)
{
	struct cause_numbers all[CAUSE_COUNTERS_MAX + 2] = {}, *n;
	const struct cause_info unknown = {.key.cause = CAUSE_UNCLASSIFIED};
	struct cause_counter other = w->counts->unnamed;
	size_t i;

	for (i = 0; i < w->counts->cause_count; i++)
		add_cause(all, &w->counts->causes[i].info, &w->counts->causes[i].sums);
	other.sends += w->counts->unseen.sends;
	add_cause(all, &unknown, &other);
	for (n = all; n->copied; n++)
		write_sample(w, n, LABELS(cause_name(n->cause), n->device));
}

static void write_lost(const struct writer *w)
{
	const struct plan_entry *send = &w->result->plan.entries[HOOK_SEND];
	const struct window_counts *m = w->counts;
	const struct totals *t = &m->totals;
	bool copies = w->result->plan.entries[HOOK_SKB_COPY].option;
	const struct {
		const char *what;
		__u64 count;
	} rows[] = {
		{"calls", w->missing ? UNKNOWN
				     : window_counts__lost_calls(m, send->option, send->reason[0])},
		{"completions", t->lost_completions + t->lost_notifications + t->untracked},
		{"flags", SUM_LOST_FLAGS(t)},
		{"groups", m->groups_rest.sends + m->peers_rest.requests},
		{"stacks", copies ? m->unnamed.skbs + t->lost_cause_bits : UNKNOWN}};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		write_known(w, &rows[i].count, LABELS(rows[i].what));
}

static void write_single(const struct writer *w)
{
	write_sample(w, &w->single, LABELS());
}

static const char *why_missing(const struct writer *w, int need)
{
	const struct totals *t = &w->counts->totals;
	const struct plan_entry *entry;

	switch (need) {
	case NEED_PROCESSES:
		return w->processes->top ? NULL : "--top 0 names no processes";
	case NEED_COST:
		return w->cost ? NULL : "asked for with --cost, because counting costs too";
	case NEED_UNFLAGGED:
		return plan__blind_to_unflagged(&w->result->plan);
	case NEED_FOLLOWED:
		return t->untimed   ? "some sends could not be followed one by one"
		       : t->unsized ? "how much a send asks for is not seen before it returns"
				    : NULL;
	case NEED_SKIPS:
		return w->counts->missed_unknown[HOOK_SEND]
			       ? "of calls, because this kernel does not count the runs of "
				 "programs that it skips"
			       : NULL;
	default:
		entry = &w->result->plan.entries[need];
		return entry->option ? NULL : entry->reason;
	}
}

void metrics__write(struct exposition *e, const struct run_result *r,
		    const struct processes *processes, const char *kernel, bool cost,
		    struct single_numbers own)
{
	static const struct metric metrics[] = {METRIC_ROWS};
	struct writer w = {e,		r, &r->counts, .processes = processes, .kernel = kernel,
			   .cost = cost};
	size_t i;
	const int *need;

	window_counts__zerocopy(w.counts, &w.zerocopy);
	window_counts__uring(w.counts, &w.uring);
	own.started_ns = (__u64)r->started.tv_sec * 1000000000 + (__u64)r->started.tv_nsec;
	own.bpf_ns = r->counts.bpf_ns;
	own.bpf_runs = r->counts.bpf_runs;
	own.completion = &r->counts.spans[SPAN_COMPLETION];
	w.single = own;
	for (i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		w.metric = &metrics[i];
		w.missing = NULL;
		for (need = metrics[i].needs; *need != NEED_NOTHING && !w.missing; need++)
			w.missing = why_missing(&w, *need);
		exposition__family(e, &metrics[i].family, w.missing);
		metrics[i].write(&w);
	}
}
