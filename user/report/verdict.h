/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What to make of the zero-copy sends of a cell, in words, and the causes that it rests on. */
#pragma once

#include "user/kernel/causes.h"
#include "user/report/cells.h"

/* The causes of a cell's copies, summed over its repeats. */
#define CAUSE_ROWS_MAX 64

struct cause_row_sum {
	enum cause cause;
	char device[64]; /* "": none */
	double netns, ifindex;
	char stack[256]; /* of what is unclassified: functions, innermost first */
	double sends, silent;
	double skbs, skbs_in_send;
};

struct cause_rows {
	struct cause_row_sum rows[CAUSE_ROWS_MAX]; /* most sends first */
	size_t count;
};

/* The device, its namespace with it where another has the same name. */
const char *cause_rows__device(const struct cause_rows *rows, size_t row, char *text, size_t size);
void cause_rows__gather(struct cause_rows *rows, const struct cell *cell);

/* The figures that a verdict rests on; below 0: not known. */
struct verdict_facts {
	double requests, completions, outstanding, lost; /* sends */
	double copied, silent, reported;		 /* of the completions */
	double unexplained;    /* of the others: nothing tells that they were not copied */
	double ignored, empty; /* the latter for lack of data: part of the former */
	double refused;	       /* of all requests */
	const char *refusal;   /* name of the most frequent one, or NULL */
	const char *to;	       /* " to 10.0.0.2:5001", or "" */
	const struct cause_rows *causes;
	/* The fastest copying variant of the same load, or NULL, and this one's ratios to it: of
	 * throughput, and of the CPU time of both ends for each byte. */
	const char *other;
	struct spread speed, cpu;
	const char *noise;   /* why the runs bear no ranking, or NULL */
	double lost_else;    /* calls that were not counted, and flags that were not seen */
	double unseen_flags; /* of copied sends: they have no cause */
	/* Runs of the programs that see copies, which the kernel skipped. */
	double skipped_looks;
	double lost_copies; /* seen, but there was no room for what was seen of them */
};

#define VERDICT_MAX 1024
/* Fewer completions bear no verdict: a share of them is known to 10 percentage points. */
#define VERDICT_SENDS 100

/* Writes it to text: sentences, or "no verdict: " and why. "" where nothing asked for zero-copy. */
void verdict(const struct verdict_facts *facts, char text[VERDICT_MAX]);
/* The same without its numbers, so that configurations with the same findings read alike. */
void verdict__finding(const struct verdict_facts *facts, char text[VERDICT_MAX]);
