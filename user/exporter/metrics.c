// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/metrics.h"

#include "user/kernel/calls.h"
#include "user/kernel/causes.h"

#include <errno.h>
#include <string.h>

#define MSG_ZEROCOPY_LABEL                  \
	{                                   \
		"interface", "msg_zerocopy" \
	}
#define IO_URING_LABEL                  \
	{                               \
		"interface", "io_uring" \
	}

/* What metrics are made of, with the sums that several need. */
struct counted {
	const struct plan *plan;
	const struct window_counts *counts;
	const struct totals *totals;
	struct zerocopy_sums zerocopy, uring;
	const char *blind; /* why copies without a flag are not seen; NULL: they are */
};

/* Why what a hook sees is not known; NULL: it is. */
static const char *unhooked(const struct counted *c, enum hook_id id)
{
	const struct plan_entry *entry = &c->plan->entries[id];

	return entry->option ? NULL : entry->reason;
}

enum family { FAMILY_NUMBERS };

static void begin(struct exposition *e, enum family family, const char *missing)
{
	static const struct {
		enum metric_kind kind;
		const char *name, *unit, *help;
	} rows[] = {FAMILY_ROWS};

	exposition__family(e, rows[family].kind, rows[family].name, rows[family].unit,
			   rows[family].help, missing);
}

static void write_build(struct exposition *e, const struct counted *c, const char *kernel)
{
	begin(e, FAMILY_BUILD_INFO, NULL);
	exposition__count(e,
			  LABELS({"version", SENDPATH_VERSION}, {"kernel", kernel},
				 {"mechanism", mechanism_name(plan__tier(c->plan))}),
			  1);
}

/* The labels of a slot of calls. */
#define CALL_LABELS(slot, ...)                                       \
	LABELS({"syscall", call_name((enum call_kind)((slot) / 2))}, \
	       {"zerocopy", (slot)&1 ? "true" : "false"} __VA_OPT__(, ) __VA_ARGS__)

static uint64_t bytes_of(const struct call_slot *call)
{
	return call__accepted(call).bytes;
}

/* A family with a sample for each kind of call that occurred. */
static void write_calls(struct exposition *e, const struct counted *c, enum family family,
			uint64_t (*count)(const struct call_slot *call))
{
	__u32 slot;

	begin(e, family, unhooked(c, HOOK_SEND));
	for (slot = 0; slot < CALL_SLOTS; slot++)
		if (call__sends(&c->counts->calls[slot]))
			exposition__count(e, CALL_LABELS(slot), count(&c->counts->calls[slot]));
}

static uint64_t sends_of(const struct call_slot *call)
{
	return call__sends(call);
}

static void write_errors(struct exposition *e, const struct counted *c)
{
	const __u64 *counts;
	__u32 slot, error;

	begin(e, FAMILY_SEND_ERRORS, unhooked(c, HOOK_SEND));
	for (slot = 0; slot < CALL_SLOTS; slot++) {
		counts = c->counts->errors[slot];
		for (error = 0; error < ERRNO_SLOTS; error++)
			if (counts[error])
				exposition__count(
					e, CALL_LABELS(slot, {"errno", call_error_name(error)}),
					counts[error]);
	}
}

static void write_times(struct exposition *e, const struct counted *c)
{
	const struct hist *wall;
	__u32 slot;

	begin(e, FAMILY_SEND_SECONDS, unhooked(c, HOOK_SEND));
	for (slot = 0; slot < CALL_SLOTS; slot++) {
		wall = &c->counts->calls[slot].wall;
		if (wall->count)
			exposition__histogram(e, CALL_LABELS(slot), wall);
	}
}

static const struct process_metric {
	enum family family;
	size_t field; /* of struct group */
	bool seconds;
	bool completed; /* a completion tells it */
} process_metrics[] = {
	{FAMILY_PROCESS_SENDS, offsetof(struct group, sends), false, false},
	{FAMILY_PROCESS_SENT_BYTES, offsetof(struct group, bytes), false, false},
	{FAMILY_PROCESS_SEND_ERRORS, offsetof(struct group, failed), false, false},
	{FAMILY_PROCESS_SEND_SECONDS, offsetof(struct group, ns), true, false},
	{FAMILY_PROCESS_ZEROCOPY_REQUESTS, offsetof(struct group, requests), false, false},
	{FAMILY_PROCESS_ZEROCOPY_COMPLETIONS, offsetof(struct group, completions), false, true},
	{FAMILY_PROCESS_ZEROCOPY_COPIED, offsetof(struct group, copied), false, true},
	{FAMILY_PROCESS_ZEROCOPY_UNREPORTED, offsetof(struct group, unflagged), false, true},
};

static void write_process_metric(struct exposition *e, const struct process_metric *m,
				 const struct processes *processes, const char *missing)
{
	struct group sums;
	const char *comm;
	uint64_t value;
	size_t i;

	begin(e, m->family, missing);
	for (i = 0; !missing && (comm = processes__get(processes, i, &sums)); i++) {
		value = *(const __u64 *)((const char *)&sums + m->field);
		(m->seconds ? exposition__seconds : exposition__count)(e, LABELS({"comm", comm}),
								       value);
	}
}

static void write_processes(struct exposition *e, const struct counted *c,
			    const struct processes *processes)
{
	const struct process_metric *m = process_metrics;
	const char *missing;
	size_t i;

	for (i = 0; i < sizeof(process_metrics) / sizeof(*m); i++, m++) {
		missing = !processes ? "--top 0 names no processes" : NULL;
		if (!missing && m->completed)
			missing = unhooked(c, HOOK_COMPLETION);
		if (!missing && m->field == offsetof(struct group, unflagged))
			missing = c->blind;
		write_process_metric(e, m, processes, missing);
	}
}

/* Of MSG_ZEROCOPY and of io_uring's own zero-copy sends. */
#define ZEROCOPY_METRICS (FAMILY_ZEROCOPY_PINNED_BYTES - FAMILY_ZEROCOPY_REQUESTS + 1)

/* A metric's value, or why it is not known. */
struct figure {
	uint64_t count;
	const char *why;
};

static struct figure pinned(const struct counted *c, const char *no_completions)
{
	const struct pinned *p = &c->counts->pinned;
	const char *why = no_completions ? no_completions : unhooked(c, HOOK_SEND_ID);

	if (!why && c->totals->untimed)
		why = "some sends could not be followed one by one";
	else if (!why && c->totals->unsized)
		why = "how much a send asks for is not seen before it returns";
	return (struct figure){SUM_PINNED_BYTES(p), why};
}

/* In the order of the metrics. */
static void count_zerocopy(const struct counted *c, struct figure of[ZEROCOPY_METRICS])
{
	const char *none = unhooked(c, HOOK_COMPLETION);
	const struct totals *t = c->totals;
	const struct figure figures[ZEROCOPY_METRICS] = {
		{c->zerocopy.requests, NULL},
		{c->zerocopy.ignored, NULL},
		{c->zerocopy.bytes, NULL},
		{t->completions, none},
		{c->blind ? SUM_FLAGGED(t) : SUM_COPIED(t), none},
		{t->unflagged, none ? none : c->blind},
		{t->errqueue_copied, unhooked(c, HOOK_ERROR_QUEUE)},
		{window_counts__outstanding(c->counts), none},
		pinned(c, none),
	};

	memcpy(of, figures, sizeof(figures));
}

static void count_uring(const struct counted *c, struct figure of[ZEROCOPY_METRICS])
{
	const struct hook_option *option = c->plan->entries[HOOK_URING].option;
	const struct totals *t = c->totals;
	bool copies = option && !(option->by_report && t->uring_unknown);
	const char *none = unhooked(c, HOOK_URING);
	const struct figure figures[ZEROCOPY_METRICS] = {
		{c->uring.requests, NULL},
		{c->uring.ignored, NULL},
		{c->uring.bytes, NULL},
		{t->uring_completions, none},
		{t->uring_copied, copies ? NULL : "not seen"},
		{0, "not distinguished"},
		{0, "it has no error queue"},
		{window_counts__uring_outstanding(c->counts), none},
		{0, "not followed"},
	};

	memcpy(of, figures, sizeof(figures));
}

static void write_zerocopy(struct exposition *e, const struct counted *c)
{
	struct figure msg[ZEROCOPY_METRICS], uring[ZEROCOPY_METRICS];
	enum family i;

	count_zerocopy(c, msg);
	count_uring(c, uring);
	for (i = 0; i < ZEROCOPY_METRICS; i++) {
		begin(e, FAMILY_ZEROCOPY_REQUESTS + i, msg[i].why);
		if (!msg[i].why)
			exposition__count(e, LABELS(MSG_ZEROCOPY_LABEL), msg[i].count);
		if (c->uring.requests && !uring[i].why)
			exposition__count(e, LABELS(IO_URING_LABEL), uring[i].count);
	}
}

static void add_refused(struct exposition *e, const struct label interface, enum refusal refusal,
			unsigned int error, uint64_t count)
{
	if (count)
		exposition__count(e,
				  LABELS(interface, {"cause", refusal__get(refusal)->name},
					 {"errno", call_error_name(error)}),
				  count);
}

static void write_refused(struct exposition *e, const struct counted *c)
{
	static const struct label msg = MSG_ZEROCOPY_LABEL, uring = IO_URING_LABEL;
	const struct totals *t = c->totals;
	unsigned int i;
	__u64 known;

	begin(e, FAMILY_ZEROCOPY_REFUSED, NULL);
	add_refused(e, msg, REFUSAL_OPTMEM, ENOBUFS, t->refused_optmem);
	add_refused(e, msg, REFUSAL_MEMLOCK, ENOBUFS, t->refused_memlock);
	for (i = 0; i < ERRNO_SLOTS; i++) {
		known = i == ENOBUFS ? t->refused_optmem + t->refused_memlock : 0;
		add_refused(e, msg, refusal__of((int)i), i,
			    window_counts__difference(c->zerocopy.errors[i], known));
	}
	for (i = 0; i < ERRNO_SLOTS; i++)
		add_refused(e, uring, refusal__of((int)i), i, c->uring.errors[i]);
}

static uint64_t copied_for(const struct cause_counter *sums)
{
	return sums->sends + sums->unflagged;
}

static uint64_t unflagged_for(const struct cause_counter *sums)
{
	return sums->unflagged;
}

static bool same_cause(const struct cause_info *a, const struct cause_info *b)
{
	return a->key.cause == b->key.cause && !strncmp(a->device, b->device, DEVICE_NAME_MAX);
}

static void write_cause(struct exposition *e, const struct cause_info *info, uint64_t sum)
{
	char device[DEVICE_NAME_MAX + 1] = "";

	memcpy(device, info->device, DEVICE_NAME_MAX);
	exposition__count(e, LABELS({"cause", cause_name(info->key.cause)}, {"device", device}),
			  sum);
}

/* A cause on a device, in whichever network namespace, with whichever stack. */
static void write_causes(struct exposition *e, const struct counted *c, enum family family,
			 const char *missing, uint64_t (*of)(const struct cause_counter *sums))
{
	const struct window_counts *m = c->counts;
	struct cause_count all[CAUSE_COUNTERS_MAX + 1], other = {.sums = m->unnamed};
	size_t i, j, count = m->cause_count;
	uint64_t sum;

	memcpy(all, m->causes, count * sizeof(*all));
	other.sums.sends += m->unseen.sends;
	all[count++] = other;
	begin(e, family, missing);
	for (i = 0; i < count && !missing; i++) {
		for (j = 0; j < i &&
			    !(copied_for(&all[j].sums) && same_cause(&all[j].info, &all[i].info));)
			j++;
		if (j < i || !copied_for(&all[i].sums))
			continue;
		for (sum = 0; j < count; j++)
			sum += same_cause(&all[j].info, &all[i].info) ? of(&all[j].sums) : 0;
		write_cause(e, &all[i].info, sum);
	}
}

static void write_completion_times(struct exposition *e, const struct counted *c)
{
	const char *missing = unhooked(c, HOOK_COMPLETION);

	missing = missing ? missing : unhooked(c, HOOK_SEND_ID);
	begin(e, FAMILY_ZEROCOPY_COMPLETION_SECONDS, missing);
	if (!missing)
		exposition__histogram(e, LABELS(), &c->counts->spans[SPAN_COMPLETION]);
}

static void write_lost(struct exposition *e, const struct counted *c)
{
	const struct plan_entry *send = &c->plan->entries[HOOK_SEND];
	const struct window_counts *m = c->counts;
	const struct totals *t = c->totals;
	bool skips_known = !m->missed_unknown[HOOK_SEND];
	const struct {
		const char *what;
		bool known;
		uint64_t count;
	} rows[] = {
		{"calls", skips_known, window_counts__lost_calls(m, send->option, send->reason[0])},
		{"completions", true, t->lost_completions + t->lost_notifications + t->untracked},
		{"flags", true, SUM_LOST_FLAGS(t)},
		{"groups", true, m->groups_rest.sends + m->peers_rest.requests},
		{"stacks", !unhooked(c, HOOK_SKB_COPY), m->unnamed.skbs + t->lost_cause_bits}};
	size_t i;

	begin(e, FAMILY_LOST,
	      skips_known ? NULL
			  : "of calls, because this kernel does not count the runs of "
			    "programs that it skips");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].known)
			exposition__count(e, LABELS({"what", rows[i].what}), rows[i].count);
}

static void write_own(struct exposition *e, const struct counted *c, bool cost,
		      const struct own_cost *own)
{
	const char *no_cost = cost ? NULL : "asked for with --cost, because counting costs too";

	begin(e, FAMILY_EXPORTER_START_TIME_SECONDS, NULL);
	exposition__seconds(e, LABELS(), own->started_ns);
	begin(e, FAMILY_EXPORTER_CPU_SECONDS, NULL);
	exposition__seconds(e, LABELS(), own->cpu_ns);
	begin(e, FAMILY_EXPORTER_RESIDENT_MEMORY_BYTES, NULL);
	exposition__count(e, LABELS(), own->resident_bytes);
	begin(e, FAMILY_EXPORTER_READING_SECONDS, NULL);
	exposition__seconds(e, LABELS(), own->reading_ns);
	begin(e, FAMILY_EXPORTER_BPF_SECONDS, no_cost);
	if (!no_cost)
		exposition__seconds(e, LABELS(), c->counts->bpf_ns);
	begin(e, FAMILY_EXPORTER_BPF_RUNS, no_cost);
	if (!no_cost)
		exposition__count(e, LABELS(), c->counts->bpf_runs);
}

void metrics__write(struct exposition *e, const struct run_result *r, const char *kernel, bool cost,
		    const struct processes *processes, const struct own_cost *own)
{
	const char *no_causes;
	struct counted c = {.plan = &r->plan,
			    .counts = &r->counts,
			    .totals = &r->counts.totals,
			    .blind = plan__blind_to_unflagged(&r->plan)};

	window_counts__zerocopy(c.counts, &c.zerocopy);
	window_counts__uring(c.counts, &c.uring);
	no_causes = unhooked(&c, HOOK_SKB_COPY);
	no_causes = no_causes ? no_causes : unhooked(&c, HOOK_COMPLETION);
	write_build(e, &c, kernel);
	write_calls(e, &c, FAMILY_SENDS, sends_of);
	write_calls(e, &c, FAMILY_SENT_BYTES, bytes_of);
	write_errors(e, &c);
	write_times(e, &c);
	write_processes(e, &c, processes);
	write_zerocopy(e, &c);
	write_refused(e, &c);
	write_causes(e, &c, FAMILY_ZEROCOPY_COPIED_BY_CAUSE, no_causes, copied_for);
	write_causes(e, &c, FAMILY_ZEROCOPY_UNREPORTED_BY_CAUSE, no_causes ? no_causes : c.blind,
		     unflagged_for);
	write_completion_times(e, &c);
	write_lost(e, &c);
	write_own(e, &c, cost, own);
}
