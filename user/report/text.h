/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sections of the text report. Private to report_text.c and text_*.c. */
#pragma once

#include "user/report/cells.h"

#include <stdio.h>

/* Of more configurations, equal findings are one line, and no details are printed. */
#define DETAILED_MAX 6

/* A line that begins with it is printed bold on a terminal. */
#define BOLD "\1"

/* The code of a record's warning that its mechanism does not see some sends by TCP. */
#define UNSEEN "sends_unseen"

/* The text of that warning; NULL: it sees all. */
const char *text__unseen(json_object *record);
/* What was lost: above all else. */
void text__losses(const struct cells *cells, FILE *out);
/* The machine and the mechanism; the load, as far as all cells have it in common. */
void text__headline(const struct cells *cells, FILE *out);
/* What became of the zero-copy sends, and what to do about it. */
void text__verdict(const struct cells *cells, FILE *out);
/* The table of a load; of one that served many connections; of an observation. */
void text__comparison(const struct cells *cells, FILE *out);
void text__serving(const struct cells *cells, FILE *out);
void text__observed(const struct cells *cells, FILE *out);
/* Errors that sends failed with. */
void text__failures(const struct cells *cells, FILE *out);
/* " MSG_ZEROCOPY", " SEND_ZC" or "": what a row of a record's calls is beside its syscall. */
const char *text__call_kind(json_object *call);
/* How large the sends of an observed program were. */
void text__sizes(const struct cells *cells, FILE *out);
/* The groups of --by. */
void text__groups(const struct cells *cells, FILE *out);
/* Zero-copy sends: causes of copies, who reports them, what completions cost. */
void text__zerocopy(const struct cells *cells, FILE *out);
/* Are two rows of records' calls of the same syscall and kind? */
bool text__same_call(json_object *a, json_object *b);
/* Where the time of sends went, if they were divided. */
void text__stages(const struct cells *cells, FILE *out);
/* A histogram a stage. */
void text__stage_histograms(const struct cells *cells, FILE *out);
void text__histograms(const struct cells *cells, FILE *out);
void text__counters(const struct cells *cells, FILE *out);
/* Retransmissions and the like, where there were any; skbs per send. */
void text__tcp(const struct cells *cells, FILE *out);
void text__memory(const struct cells *cells, FILE *out);
void text__overhead(const struct cells *cells, FILE *out);
/* Warnings, and what was not measured. */
void text__notes(const struct cells *cells, FILE *out);
