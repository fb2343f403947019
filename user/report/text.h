/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of the text report: each prints one section. Private to report_text.c and text_*.c. */
#pragma once

#include "user/report/cells.h"

#include <stdio.h>

/* The machine, and by what it was measured. */
void text__headline(const struct cells *cells, FILE *out);
/* The load, as far as all cells have it in common. */
void text__load(const struct cells *cells, FILE *out);
void text__comparison(const struct cells *cells, FILE *out);
/* Instead of the comparison and the counters, where many connections were served. */
void text__serving(const struct cells *cells, FILE *out);
void text__serving_counters(const struct cells *cells, FILE *out);
/* Instead of the comparison, where no load was run. */
void text__observed(const struct cells *cells, FILE *out);
/* " MSG_ZEROCOPY", " SEND_ZC" or "": what a row of a record's calls is beside its syscall. */
const char *text__call_kind(json_object *call);
/* Its failures that the program saw: not those that a signal interrupted. */
double text__call_failures(json_object *call);
/* Which errors sends failed with, where any did. */
void text__failures(const struct cells *cells, FILE *out);
/* What --by asks for, if it does. */
void text__groups(const struct cells *cells, FILE *out);
void text__zerocopy(const struct cells *cells, FILE *out);
/* "none copied", or how many and their share. */
void text__copied(double copied, double completions, FILE *out);
/* Where an observed program sent by io_uring's zero-copy operations. */
void text__uring(const struct cell *cell, const char *title, FILE *out);
/* Of one cell, below its lines of zero-copy: when sends complete, and what hearing of it costs. */
void text__completion(const struct cell *cell, FILE *out);
void text__histograms(const struct cells *cells, FILE *out);
void text__counters(const struct cells *cells, FILE *out);
/* Events that no side of any cell counted, a line for each reason. */
void text__uncounted(const struct cells *cells, FILE *out);
/* What TCP had to do again or turn away, where it did. */
void text__tcp(const struct cells *cells, FILE *out);
/* What the memory system did, where --memory asks. */
void text__memory(const struct cells *cells, FILE *out);
/* What measuring cost, where --cost asks. */
void text__overhead(const struct cells *cells, FILE *out);
/* What to make of it, in words; the end of the report. */
void text__verdict(const struct cells *cells, FILE *out);
/* Losses stand above the figures; warnings and what was not measured below. */
void text__losses(const struct cells *cells, FILE *out);
void text__notes(const struct cells *cells, FILE *out);
