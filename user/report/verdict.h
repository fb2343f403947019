/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What to make of the zero-copy sends of a cell, in words: pure. */
#pragma once

#include "user/report/cause_rows.h"

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
	/* The fastest copying variant of the same load, or NULL; bits per second. */
	const char *other;
	double other_bps, own_bps;
	struct spread ratio; /* of its throughput to this one's */
	double lost_else;    /* calls that were not counted, and flags that were not seen */
	/* Runs of the programs that see copies, which the kernel skipped. */
	double skipped_looks;
};

#define VERDICT_MAX 1024
/* Fewer completions bear no verdict: a share of them is known to 10 percentage points. */
#define VERDICT_SENDS 100

/* Writes it to text: sentences, or "no verdict: " and why. "" where nothing asked for zero-copy. */
void verdict(const struct verdict_facts *facts, char text[VERDICT_MAX]);
/* The same without its numbers, so that configurations with the same findings read alike. */
void verdict__finding(const struct verdict_facts *facts, char text[VERDICT_MAX]);
