// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/metrics.h"

#include "user/record/record_read.h"

#include <string.h>

#define MSG_ZEROCOPY_LABEL                  \
	{                                   \
		"interface", "msg_zerocopy" \
	}
#define IO_URING_LABEL                  \
	{                               \
		"interface", "io_uring" \
	}

/* Why a key of the record is null: its own reason, or that of a block it is in. NULL: there is
 * none. */
static const char *why(json_object *record, const char *key)
{
	const char *of, *reason = NULL;
	json_object *row;
	size_t i, longest = 0, length;

	for (i = 0; (row = record__row(record, "/unmeasured", i)); i++) {
		of = record__name(row, "/key");
		length = strlen(of);
		if (length <= longest || strncmp(of, key, length) ||
		    (key[length] && key[length] != '.'))
			continue;
		reason = record__name(row, "/reason");
		longest = length;
	}
	return reason;
}

/* The same, where the path leads to nothing. */
static const char *why_not(json_object *record, const char *path, const char *key)
{
	if (record__at(record, path))
		return NULL;
	key = why(record, key);
	return key ? key : "not known here";
}

static void write_build(struct exposition *e, json_object *record)
{
	exposition__family(e, METRIC_GAUGE, "sendpath_build_info", "",
			   "The version, the kernel, and the mechanism that times sends.", NULL);
	exposition__count(e,
			  LABELS({"version", record__name(record, "/tool/version")},
				 {"kernel", record__name(record, "/host/kernel")},
				 {"mechanism", record__name(record, "/plan/tier")}),
			  1);
}

static const char *zerocopy_of(json_object *call)
{
	return record__flag(call, "/zerocopy") ? "true" : "false";
}

/* A family with a sample for each kind of call, of the count at this path. */
static void write_calls(struct exposition *e, json_object *record, const char *name,
			const char *unit, const char *path, const char *help)
{
	json_object *call;
	size_t i;

	exposition__family(e, METRIC_COUNTER, name, unit, help, why(record, "calls"));
	for (i = 0; (call = record__row(record, "/calls", i)); i++)
		exposition__count(e,
				  LABELS({"syscall", record__name(call, "/syscall")},
					 {"zerocopy", zerocopy_of(call)}),
				  record__count(call, path));
}

static void write_errors(struct exposition *e, json_object *record)
{
	const struct lh_entry *error;
	json_object *call;
	size_t i;

	exposition__family(e, METRIC_COUNTER, "sendpath_send_errors", "",
			   "Sends that failed, by errno; ERESTARTSYS: interrupted by a signal.",
			   why(record, "calls"));
	for (i = 0; (call = record__row(record, "/calls", i)); i++)
		for (error = record__members(call, "/errors"); error; error = error->next)
			exposition__count(e,
					  LABELS({"syscall", record__name(call, "/syscall")},
						 {"zerocopy", zerocopy_of(call)},
						 {"errno", error->k}),
					  json_object_get_uint64((json_object *)error->v));
}

static void write_times(struct exposition *e, json_object *record)
{
	json_object *call, *wall;
	struct hist h;
	size_t i;

	exposition__family(e, METRIC_HISTOGRAM, "sendpath_send_seconds", "seconds",
			   "Kernel time of a send.", why(record, "calls"));
	for (i = 0; (call = record__row(record, "/calls", i)); i++) {
		wall = record__at(call, "/wall_ns");
		if (!wall)
			continue;
		memset(&h, 0, sizeof(h));
		record__add_hist(&h, wall);
		exposition__histogram(e,
				      LABELS({"syscall", record__name(call, "/syscall")},
					     {"zerocopy", zerocopy_of(call)}),
				      &h);
	}
}

static const struct process_metric {
	const char *name, *unit, *help;
	size_t field; /* of struct group */
	bool seconds;
	bool completed; /* a completion tells it */
} process_metrics[] = {
	{"sendpath_process_sends", "", "Sends that returned, failed ones too, by process name.",
	 offsetof(struct group, sends), false, false},
	{"sendpath_process_sent_bytes", "bytes", "Bytes that these sends accepted.",
	 offsetof(struct group, bytes), false, false},
	{"sendpath_process_send_errors", "", "Of these sends, those that failed.",
	 offsetof(struct group, failed), false, false},
	{"sendpath_process_send_seconds", "seconds", "Kernel time of these sends.",
	 offsetof(struct group, ns), true, false},
	{"sendpath_process_zerocopy_requests", "", "Of these sends, those with MSG_ZEROCOPY.",
	 offsetof(struct group, requests), false, false},
	{"sendpath_process_zerocopy_completions", "",
	 "Zero-copy sends whose memory the kernel was done with.",
	 offsetof(struct group, completions), false, true},
	{"sendpath_process_zerocopy_copied", "",
	 "Of these, sends that were copied and flagged as copied.", offsetof(struct group, copied),
	 false, true},
	{"sendpath_process_zerocopy_unreported", "",
	 "Of these, sends that were copied without a flag.", offsetof(struct group, unflagged),
	 false, true},
};

static void write_process_metric(struct exposition *e, const struct process_metric *m,
				 const struct processes *processes, const char *missing)
{
	struct group sums;
	const char *comm;
	uint64_t value;
	size_t i;

	exposition__family(e, METRIC_COUNTER, m->name, m->unit, m->help, missing);
	for (i = 0; !missing && (comm = processes__get(processes, i, &sums)); i++) {
		value = *(const __u64 *)((const char *)&sums + m->field);
		(m->seconds ? exposition__seconds : exposition__count)(e, LABELS({"comm", comm}),
								       value);
	}
}

static void write_processes(struct exposition *e, json_object *record,
			    const struct processes *processes)
{
	const struct process_metric *m = process_metrics;
	const char *missing;
	size_t i;

	for (i = 0; i < sizeof(process_metrics) / sizeof(*m); i++, m++) {
		missing = !processes ? "--top 0 names no processes" : NULL;
		if (!missing && m->completed)
			missing = m->field == offsetof(struct group, unflagged)
					  ? why_not(record, "/zerocopy/copied_silent",
						    "zerocopy.copied_silent")
					  : why_not(record, "/zerocopy/completions",
						    "zerocopy.completions");
		write_process_metric(e, m, processes, missing);
	}
}

/* Of MSG_ZEROCOPY and of io_uring's own zero-copy sends, where each is known. */
static const struct zerocopy_metric {
	enum metric_kind kind;
	const char *name, *unit, *help, *path, *uring_path, *key;
} zerocopy_metrics[] = {
	{METRIC_COUNTER, "sendpath_zerocopy_requests", "", "Sends that asked for zero-copy.",
	 "/zerocopy/requests", "/zerocopy/io_uring/requests", "zerocopy"},
	{METRIC_COUNTER, "sendpath_zerocopy_ignored", "",
	 "Of these, sends of nothing, or on a socket without SO_ZEROCOPY.", "/zerocopy/ignored",
	 "/zerocopy/io_uring/ignored", "zerocopy"},
	{METRIC_COUNTER, "sendpath_zerocopy_sent_bytes", "bytes",
	 "Bytes that the requests accepted.", "/zerocopy/bytes", "/zerocopy/io_uring/bytes",
	 "zerocopy"},
	{METRIC_COUNTER, "sendpath_zerocopy_completions", "",
	 "Zero-copy sends whose memory the kernel was done with.", "/zerocopy/completions",
	 "/zerocopy/io_uring/completions", "zerocopy.completions"},
	{METRIC_COUNTER, "sendpath_zerocopy_copied", "",
	 "Of these, sends whose data the kernel copied; unreported ones too, where they are seen.",
	 "/zerocopy/copied", "/zerocopy/io_uring/copied", "zerocopy.completions"},
	{METRIC_COUNTER, "sendpath_zerocopy_unreported", "",
	 "Of the copied sends, those that the kernel did not flag as copied.",
	 "/zerocopy/copied_silent", NULL, "zerocopy.copied_silent"},
	{METRIC_COUNTER, "sendpath_zerocopy_reported_copied", "",
	 "Sends that applications read of, in their error queues, as copied.",
	 "/zerocopy/app_told_copied", NULL, "zerocopy.app_told_copied"},
	{METRIC_GAUGE, "sendpath_zerocopy_outstanding", "",
	 "Zero-copy sends whose memory the kernel still uses.", "/zerocopy/outstanding",
	 "/zerocopy/io_uring/outstanding", "zerocopy.completions"},
	{METRIC_GAUGE, "sendpath_zerocopy_pinned_bytes", "bytes",
	 "Bytes of the memory that these pin.", "/zerocopy/pinned/bytes_now", NULL,
	 "zerocopy.pinned"},
};

static void write_zerocopy(struct exposition *e, json_object *record,
			   const struct zerocopy_metric *m)
{
	exposition__family(e, m->kind, m->name, m->unit, m->help, why_not(record, m->path, m->key));
	if (record__at(record, m->path))
		exposition__count(e, LABELS(MSG_ZEROCOPY_LABEL), record__count(record, m->path));
	if (m->uring_path && record__at(record, m->uring_path))
		exposition__count(e, LABELS(IO_URING_LABEL), record__count(record, m->uring_path));
}

static void add_refused(struct exposition *e, json_object *record, const char *path,
			const struct label interface)
{
	json_object *row;
	size_t i;

	for (i = 0; (row = record__row(record, path, i)); i++)
		exposition__count(e,
				  LABELS(interface, {"cause", record__name(row, "/cause")},
					 {"errno", record__name(row, "/errno")}),
				  record__count(row, "/count"));
}

static void write_refused(struct exposition *e, json_object *record)
{
	exposition__family(e, METRIC_COUNTER, "sendpath_zerocopy_refused", "",
			   "Zero-copy requests that failed, and why.", why(record, "zerocopy"));
	add_refused(e, record, "/zerocopy/refused", (struct label)MSG_ZEROCOPY_LABEL);
	add_refused(e, record, "/zerocopy/io_uring/refused", (struct label)IO_URING_LABEL);
}

static bool same_cause(json_object *a, json_object *b)
{
	return !strcmp(record__name(a, "/cause"), record__name(b, "/cause")) &&
	       !strcmp(record__name(a, "/device"), record__name(b, "/device"));
}

/* A cause on a device, in whichever network namespace, with whichever stack. */
static void write_cause(struct exposition *e, json_object *record, size_t first, const char *path)
{
	json_object *row, *of = record__row(record, "/zerocopy/causes", first);
	uint64_t sum = 0;
	size_t i;

	for (i = 0; (row = record__row(record, "/zerocopy/causes", i)); i++) {
		if (!same_cause(row, of))
			continue;
		if (i < first)
			return;
		sum += record__count(row, path);
	}
	exposition__count(e,
			  LABELS({"cause", record__name(of, "/cause")},
				 {"device", record__name(of, "/device")}),
			  sum);
}

static void write_causes(struct exposition *e, json_object *record, const char *name,
			 const char *path, const char *key, const char *help)
{
	size_t i, count = record__length(record, "/zerocopy/causes");
	const char *missing = why(record, key);

	exposition__family(e, METRIC_COUNTER, name, "", help, missing);
	for (i = 0; i < count && !missing; i++)
		write_cause(e, record, i, path);
}

static void write_completion_times(struct exposition *e, json_object *record)
{
	json_object *times = record__at(record, "/zerocopy/completion_ns");
	struct hist h = {};

	exposition__family(e, METRIC_HISTOGRAM, "sendpath_zerocopy_completion_seconds", "seconds",
			   "From the beginning of a zero-copy send until its completion was known.",
			   why_not(record, "/zerocopy/completion_ns", "zerocopy.completion_ns"));
	if (!times)
		return;
	record__add_hist(&h, times);
	exposition__histogram(e, LABELS(), &h);
}

/* Does the kernel count the runs that it skipped of the programs that time sends? */
static bool counts_skipped(json_object *record)
{
	json_object *hook;
	size_t i;

	for (i = 0; (hook = record__row(record, "/plan/hooks", i)); i++)
		if (!strcmp(record__name(hook, "/name"), "send"))
			return record__at(hook, "/missed");
	return false;
}

static void write_lost(struct exposition *e, json_object *record)
{
	static const char *const kinds[] = {"calls", "completions", "flags", "groups", "stacks"};
	bool skips_known = counts_skipped(record);
	char path[32];
	size_t i;

	exposition__family(e, METRIC_COUNTER, "sendpath_lost", "",
			   "What happened and could not be counted: calls and completions are "
			   "sends, flags of completions, groups are sends without one, stacks are "
			   "copies without a cause.",
			   skips_known ? NULL
				       : "of calls, because this kernel does not count the runs of "
					 "programs that it skips");
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(path, sizeof(path), "/lost/%s", kinds[i]);
		if (record__at(record, path) && (i || skips_known))
			exposition__count(e, LABELS({"what", kinds[i]}),
					  record__count(record, path));
	}
}

static void write_own(struct exposition *e, json_object *record, const struct own_cost *own)
{
	const char *no_cost = why_not(record, "/observer", "observer");

	exposition__family(e, METRIC_GAUGE, "sendpath_exporter_start_time_seconds", "seconds",
			   "When counting began, since the epoch.", NULL);
	exposition__seconds(e, LABELS(), own->started_ns);
	exposition__family(e, METRIC_COUNTER, "sendpath_exporter_cpu_seconds", "seconds",
			   "CPU time of the exporter's process.", NULL);
	exposition__seconds(e, LABELS(), own->cpu_ns);
	exposition__family(e, METRIC_GAUGE, "sendpath_exporter_resident_memory_bytes", "bytes",
			   "Memory of the exporter's process.", NULL);
	exposition__count(e, LABELS(), own->resident_bytes);
	exposition__family(e, METRIC_GAUGE, "sendpath_exporter_reading_seconds", "seconds",
			   "How long it took to read these counts from the kernel.", NULL);
	exposition__seconds(e, LABELS(), own->reading_ns);
	exposition__family(e, METRIC_COUNTER, "sendpath_exporter_bpf_seconds", "seconds",
			   "Run time of the kernel programs.", no_cost);
	if (!no_cost)
		exposition__seconds(e, LABELS(), record__count(record, "/observer/bpf_ns"));
	exposition__family(e, METRIC_COUNTER, "sendpath_exporter_bpf_runs", "",
			   "Runs of the kernel programs.", no_cost);
	if (!no_cost)
		exposition__count(e, LABELS(), record__count(record, "/observer/bpf_runs"));
}

void metrics__write(struct exposition *e, json_object *record, const struct processes *processes,
		    const struct own_cost *own)
{
	size_t i;

	write_build(e, record);
	write_calls(e, record, "sendpath_sends", "", "/sends",
		    "TCP sends that returned, failed ones too.");
	write_calls(e, record, "sendpath_sent_bytes", "bytes", "/bytes",
		    "Bytes that these sends accepted.");
	write_errors(e, record);
	write_times(e, record);
	write_processes(e, record, processes);
	for (i = 0; i < sizeof(zerocopy_metrics) / sizeof(zerocopy_metrics[0]); i++)
		write_zerocopy(e, record, &zerocopy_metrics[i]);
	write_refused(e, record);
	write_causes(e, record, "sendpath_zerocopy_copied_by_cause", "/count", "zerocopy.causes",
		     "Copied sends by cause and device; one with two causes counts for both.");
	write_causes(e, record, "sendpath_zerocopy_unreported_by_cause", "/silent",
		     "zerocopy.copied_silent", "Of these, sends that were not flagged as copied.");
	write_completion_times(e, record);
	write_lost(e, record);
	write_own(e, record, own);
}
