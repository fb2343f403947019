/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The counts of the kernel programs in a window, summed over the CPUs. */
#pragma once

#include "bpf/abi.h"
#include "user/kernel/hooks.h"

/* The copies for one cause on one device. */
struct cause_count {
	struct cause_info info;
	struct cause_counter sums;
};

/* The kernel's statistics of the programs. */
struct program_stats {
	__u64 missed[HOOK_COUNT];	 /* skipped runs of the hook's programs */
	bool missed_unknown[HOOK_COUNT]; /* the kernel does not count skipped kprobes */
	__u64 missed_begins;		 /* of these, runs at the beginning of a send */
	__u64 missed_ends;		 /* of these, runs at the end of a send */
	__u64 missed_coalesced; /* of these, runs that would have read a coalesced notification */
	__u64 ns, runs;		/* of all programs; 0 unless cost is counted */
};

struct window_counts {
	struct call_slot calls[CALL_SLOTS];
	struct totals totals;
	struct cause_count causes[CAUSE_COUNTERS_MAX]; /* unordered */
	size_t cause_count;			       /* how many */
	struct cause_counter unseen;		       /* flagged, but no hook saw the copy */
	struct cause_counter unnamed;		       /* no counter was free for the cause */
	struct hist spans[SPANS];
	struct pinned pinned, uring_pinned; /* when the window closed */
	struct program_stats programs;
	__u64 uring_errors[ERRNO_SLOTS]; /* of io_uring's zero-copy requests, by errno */
	struct group groups_rest;	 /* sends for whose group of --by there was no room */
	__u64 in_sends;			 /* threads in a send */
};

/* Returned sends of all sizes, also failed ones. */
struct call_sums {
	__u64 sends, failed, ignored, bytes, errors[ERRNO_SLOTS];
	struct hist wall;
};

void call_sums__add(struct call_sums *sums, const struct call_slot *call);
/* Returns all sends with MSG_ZEROCOPY, by any syscall; or io_uring's zero-copy sends. */
struct call_sums window_counts__zerocopy(const struct window_counts *m, bool uring);
/* Returns how many of these sends were accepted and have no completion that was counted or lost. */
__u64 window_counts__outstanding(const struct window_counts *m, bool uring);
/* Returns all - part; 0 if part is greater, because counts are not read at the same time. */
__u64 window_counts__difference(__u64 all, __u64 part);
/*
 * Returns how many sends, at most, were missed by the mechanism that times sends. may_miss: it can
 * miss some. A send that had not returned when the window closed counts only if the kernel does not
 * count skipped programs. Some of the sends may belong to processes that are not measured.
 */
__u64 window_counts__lost_calls(const struct window_counts *m, const struct hook_option *option,
				bool may_miss);
