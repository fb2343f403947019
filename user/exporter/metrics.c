// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/exporter.h"

#include "user/kernel/causes.h"

#include <errno.h>
#include <string.h>

/* Needs of a family, in addition to hooks (enum hook_id). */
enum {
	NEED_HOOKS = HOOK_COUNT,
	NEED_NUMBERS,
	NEED_UNFLAGGED, /* copies without a flag are seen */
	NEED_NOTHING	/* the end of the needs */
};

struct writer {
	struct exposition *out;
	const struct exporter *from;
	const struct plan *plan;
	const struct window_counts *counts;
	const struct metric *metric; /* the family whose samples are written */
	const char *missing;	     /* why the family has no samples; NULL: it has */
};

/* A row of analysis/tables/metrics.py. */
struct metric {
	struct family family;
	void (*write)(const struct writer *w);
	size_t offset; /* of its number or histogram, in the struct that write() passes */
	int needs[6];
};

/* Marks an unknown number, or an unknown histogram by its count, in a family with known ones. */
#define UNKNOWN UINT64_MAX

/* Writes the sample if its own number is known. */
static void write_known(const struct writer *w, const void *numbers, const char *const *labels)
{
	const void *at = (const char *)numbers + w->metric->offset;

	if (*(const __u64 *)at == UNKNOWN)
		return;
	if (w->metric->family.kind == METRIC_HISTOGRAM)
		exposition__histogram(w->out, labels, at);
	else
		exposition__number(w->out, labels, *(const __u64 *)at);
}

static void write_sample(const struct writer *w, const void *numbers, const char *const *labels)
{
	if (!w->missing)
		write_known(w, numbers, labels);
}

static void write_build(const struct writer *w)
{
	const char *mechanism = mechanism_name(plan__mechanism(w->plan));

	write_sample(w, &(__u64){1}, LABELS(SENDPATH_VERSION, w->from->kernel, mechanism));
}

/* The labels of a slot of calls. */
#define CALL_LABELS(slot) call_name((enum call_kind)((slot) / 2)), (slot)&1 ? "true" : "false"

/*
 * Returns the calls with the labels of a slot. io_uring has two kinds; the second is
 * CALL_IO_URING_ZC.
 */
#define LABELLED_SLOTS CALL_SLOT(CALL_IO_URING_ZC, false)
static struct call_sums count_calls(const struct window_counts *m, __u32 slot)
{
	struct call_sums n = {};

	call_sums__add(&n, &m->calls[slot]);
	if (slot / 2 == CALL_IO_URING)
		call_sums__add(&n, &m->calls[CALL_SLOT(CALL_IO_URING_ZC, slot & 1)]);
	return n;
}

static void write_call(const struct writer *w)
{
	bool times = w->metric->family.kind == METRIC_HISTOGRAM;
	struct call_sums n;

	for (__u32 slot = 0; slot < LABELLED_SLOTS; slot++) {
		n = count_calls(w->counts, slot);
		if (times ? n.wall.count : n.sends)
			write_sample(w, &n, LABELS(CALL_LABELS(slot)));
	}
}

static void write_error(const struct writer *w)
{
	struct call_sums n;
	__u32 slot, i;

	for (slot = 0; slot < LABELLED_SLOTS; slot++) {
		n = count_calls(w->counts, slot);
		for (i = 0; i < ERRNO_SLOTS; i++)
			if (n.errors[i])
				write_sample(w, &n.errors[i],
					     LABELS(CALL_LABELS(slot), call_error_name(i)));
	}
}

/* Copies by io_uring are unknown if only its reports show them, and some sends requested none. */
static bool lacks_reports(const struct writer *w, __u64 unknown)
{
	const struct hook_option *option = w->plan->entries[HOOK_URING].option;

	return option && option->by_report && unknown;
}

static void write_group(const struct writer *w, const struct group *sums, const char *name,
			const char *cgroup)
{
	struct group g = *sums;

	if (lacks_reports(w, g.unknown))
		g.copied = UNKNOWN;
	/* Extrapolates from the timed sends, so that the time can be divided by all sends. */
	if (g.timed && g.timed < g.sends)
		g.ns = (__u64)((double)g.ns / (double)g.timed * (double)g.sends);
	write_sample(w, &g, LABELS(name, cgroup));
}

static void write_process(const struct writer *w)
{
	const struct processes *p = &w->from->processes;
	struct group rest = p->rest.sums;

	for (size_t i = 0; i < p->count; i++)
		write_group(w, &p->names[i].sums, p->names[i].comm, p->names[i].cgroup);
	group__add(&rest, &w->counts->groups_rest);
	write_group(w, &rest, PROCESSES_OTHER, "");
}

#define MSG_ZEROCOPY_NAME "msg_zerocopy"
#define IO_URING_NAME	  "io_uring"

struct interface_numbers {
	struct call_sums sums;
	__u64 completions, copied, unflagged, reported_copied, outstanding, pinned_bytes;
	struct hist completion, wait;
};

static void write_interface(const struct writer *w)
{
	const struct hook_option *option = w->plan->entries[HOOK_URING].option;
	const struct totals *t = &w->counts->totals;
	struct interface_numbers msg = {
		.sums = window_counts__zerocopy(w->counts, false),
		.completions = t->completions,
		.copied = plan__blind_to_unflagged(w->plan) ? SUM_FLAGGED(t) : SUM_COPIED(t),
		.unflagged = t->unflagged,
		.reported_copied = t->errqueue_copied,
		.outstanding = window_counts__outstanding(w->counts, false),
		.pinned_bytes = SUM_PINNED_BYTES(&w->counts->pinned),
		.completion = w->counts->spans[SPAN_COMPLETION],
		.wait = w->counts->spans[SPAN_WAIT],
	};
	struct interface_numbers uring = {
		.sums = window_counts__zerocopy(w->counts, true),
		.completions = t->uring_completions,
		.copied = lacks_reports(w, t->uring_unknown) ? UNKNOWN : t->uring_copied,
		.unflagged = UNKNOWN,	    /* not distinguished */
		.reported_copied = UNKNOWN, /* io_uring has no error queue */
		.outstanding = window_counts__outstanding(w->counts, true),
		.pinned_bytes = SUM_PINNED_BYTES(&w->counts->uring_pinned),
		.completion = w->counts->spans[SPAN_NOTIFICATION],
		.wait = w->counts->spans[SPAN_URING_WAIT],
	};

	if (!option)
		uring.completions = uring.copied = uring.outstanding = uring.pinned_bytes =
			uring.completion.count = uring.wait.count = UNKNOWN;
	write_sample(w, &msg, LABELS(MSG_ZEROCOPY_NAME));
	if (uring.sums.sends)
		write_known(w, &uring, LABELS(IO_URING_NAME));
}

static void write_refused(const struct writer *w, const char *interface, enum refusal refusal,
			  unsigned int error, __u64 count)
{
	const char *cause = refusal__get(refusal)->name;

	write_sample(w, &count, LABELS(interface, cause, call_error_name(error)));
}

/* Writes the errors in the results of requests, and removes them from the errors of the sends. */
static void write_uring_refusals(const struct writer *w, struct call_sums *sends)
{
	for (enum refusal refusal = 0; refusal < REFUSALS; refusal++) {
		int error = refusal__get(refusal)->uring_error;

		if (!error)
			continue;
		write_refused(w, IO_URING_NAME, refusal, (unsigned int)error,
			      w->counts->uring_errors[error]);
		sends->errors[error] = 0;
	}
}

/* The alert SendpathZerocopyRefused leaves out refusals that plain sends also have. */
static bool has_alert(enum refusal refusal)
{
	return refusal != REFUSAL_FULL && refusal != REFUSAL_OTHER;
}

/* The series of causes with an alert begin at 0: increase() needs an earlier value. */
static void write_refusal(const struct writer *w)
{
	const struct totals *t = &w->counts->totals;
	struct call_sums msg = window_counts__zerocopy(w->counts, false);
	struct call_sums uring = window_counts__zerocopy(w->counts, true);

	msg.errors[ENOBUFS] = window_counts__difference(msg.errors[ENOBUFS],
							t->refused_optmem + t->refused_memlock);
	write_refused(w, MSG_ZEROCOPY_NAME, REFUSAL_OPTMEM, ENOBUFS, t->refused_optmem);
	write_refused(w, MSG_ZEROCOPY_NAME, REFUSAL_MEMLOCK, ENOBUFS, t->refused_memlock);
	for (unsigned int i = 0; i < ERRNO_SLOTS; i++)
		if (msg.errors[i] || has_alert(refusal__of((int)i)))
			write_refused(w, MSG_ZEROCOPY_NAME, refusal__of((int)i), i, msg.errors[i]);
	if (w->plan->entries[HOOK_URING].option)
		write_uring_refusals(w, &uring);
	for (unsigned int i = 0; i < ERRNO_SLOTS; i++)
		if (uring.errors[i])
			write_refused(w, IO_URING_NAME, refusal__of((int)i), i, uring.errors[i]);
}

/* A cause on a device, summed over all network namespaces and stacks. */
struct device_cause {
	__u32 cause;
	const char *device;
	struct cause_counter sums;
};

static void count_cause(struct device_cause *c, __u32 cause, const char *device, __u64 flagged,
			__u64 unflagged)
{
	while (c->sums.sends && (c->cause != cause || strncmp(c->device, device, DEVICE_NAME_MAX)))
		c++;
	c->cause = cause;
	c->device = device;
	c->sums.sends += flagged + unflagged;
	c->sums.unflagged += unflagged;
}

static void write_cause(const struct writer *w)
{
	const struct window_counts *m = w->counts;
	const struct cause_count *from, *end = m->causes + m->cause_count;
	struct device_cause all[3 * CAUSE_COUNTERS_MAX] = {}, *c;

	for (from = m->causes; from < end; from++)
		count_cause(all, from->info.key.cause, from->info.device, from->sums.sends,
			    from->sums.unflagged);
	/* Sends that a mirror or tap copied, and that were not delivered on this machine. */
	for (from = m->causes; from < end; from++) {
		count_cause(all, CAUSE_MIRROR, from->info.device, from->sums.mirrored, 0);
		count_cause(all, CAUSE_PACKET_TAP, from->info.device, from->sums.tapped, 0);
	}
	count_cause(all, CAUSE_UNCLASSIFIED, "", m->unnamed.sends + m->unseen.sends,
		    m->unnamed.unflagged);
	for (c = all; c->sums.sends; c++)
		write_sample(w, &c->sums, LABELS(cause_name(c->cause), c->device));
}

static void write_loss(const struct writer *w, const char *what, bool known, __u64 count)
{
	if (known)
		exposition__number(w->out, LABELS(what), count);
}

static void write_lost(const struct writer *w)
{
	const struct plan_entry *send = &w->plan->entries[HOOK_SEND];
	const struct window_counts *m = w->counts;
	const struct totals *t = &m->totals;

	write_loss(w, "calls", !w->missing,
		   window_counts__lost_calls(m, send->option, send->reason[0]));
	write_loss(w, "completions", true,
		   t->lost_completions + t->lost_notifications + t->untracked);
	write_loss(w, "flags", true, SUM_LOST_FLAGS(t));
	write_loss(w, "groups", true, m->groups_rest.sends);
	write_loss(w, "stacks", w->plan->entries[HOOK_SKB_COPY].option,
		   m->unnamed.skbs + t->lost_cause_bits);
}

static void write_single(const struct writer *w)
{
	write_sample(w, w->from, LABELS());
}

static const char *why_missing(const struct writer *w, int need)
{
	static const char *const reasons[] = {NEED_REASONS};
	const struct window_counts *m = w->counts;
	const bool met[] = {
		[NEED_PROCESSES] = w->from->processes.top,
		[NEED_COST] = w->from->cost,
		[NEED_TIMED] = !m->totals.untimed,
		[NEED_SIZED] = !m->totals.unsized,
		[NEED_SKIPS] = !m->programs.missed_unknown[HOOK_SEND],
	};

	if (need < HOOK_COUNT)
		return w->plan->entries[need].option ? NULL : w->plan->entries[need].reason;
	if (need == NEED_UNFLAGGED)
		return plan__blind_to_unflagged(w->plan);
	return met[need] ? NULL : reasons[need];
}

void metrics__write(struct exporter *x)
{
	static const struct metric metrics[] = {METRIC_ROWS};
	struct writer w = {&x->exposition, x, &x->result.plan, &x->result.counts, metrics, NULL};

	for (; w.metric < metrics + sizeof(metrics) / sizeof(metrics[0]); w.metric++) {
		w.missing = NULL;
		for (const int *need = w.metric->needs; *need != NEED_NOTHING && !w.missing; need++)
			w.missing = why_missing(&w, *need);
		exposition__family(w.out, &w.metric->family, w.missing);
		w.metric->write(&w);
	}
}
