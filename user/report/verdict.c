// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/report/verdict.h"

#include "common/units.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LOST_SHARE    0.01 /* beyond, what was seen may not be typical */
#define WAITING_SHARE 0.1
#define REFUSED_SHARE 0.1

static __attribute__((format(printf, 2, 3))) void say(char text[VERDICT_MAX], const char *format,
						      ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, VERDICT_MAX - used, format, arguments);
	va_end(arguments);
}

/* Why not, if there can be none. */
static bool no_verdict(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	size_t before = strlen(text);

	if (f->completions < 0 || f->copied < 0)
		say(text,
		    "no verdict: how many of the %s zero-copy sends were copied is not known here",
		    units__number_text(f->requests));
	else if (f->lost > LOST_SHARE * f->requests)
		say(text, "no verdict: of %s zero-copy sends %s could not be followed",
		    units__number_text(f->requests), units__number_text(f->lost));
	else if (f->outstanding > WAITING_SHARE * f->requests)
		say(text, "no verdict: of %s zero-copy sends %s have no completion yet",
		    units__number_text(f->requests), units__number_text(f->outstanding));
	else if (f->completions < VERDICT_SENDS)
		say(text, "no verdict: %s completed, too few to tell",
		    units__counted_text(f->completions, "zero-copy send"));
	return strlen(text) > before;
}

static const struct cause_row *words_of(const struct cause_rows *causes, size_t row)
{
	return cause__words(causes->rows[row].cause, causes->rows[row].stack[0]);
}

static void say_cause(const struct cause_rows *causes, size_t row, char text[VERDICT_MAX])
{
	char device[5 * 64];

	cause_rows__device(causes, row, device, sizeof(device));
	say(text, "%s%s%s", words_of(causes, row)->title, device[0] ? ", " : "", device);
}

/* The device goes where a remedy names it. */
static void say_remedy(const struct cause_rows *causes, size_t row, char text[VERDICT_MAX])
{
	const char *remedy = words_of(causes, row)->remedy, *place = strstr(remedy, "DEV");
	char device[5 * 64];

	cause_rows__device(causes, row, device, sizeof(device));
	if (place && device[0])
		say(text, " %.*s%s%s", (int)(place - remedy), remedy, device, place + 3);
	else
		say(text, " %s", remedy);
}

/* Another cause that all copied sends have, too: one that can be ended cannot alone end them. */
static bool find_second(const struct verdict_facts *f, size_t *second)
{
	const struct cause_rows *causes = f->causes;
	bool found = false;
	size_t i;

	for (i = 1; i < causes->count && causes->rows[i].sends >= f->copied; i++) {
		if (causes->rows[i].cause == causes->rows[0].cause)
			continue;
		if (!found || cause__get(causes->rows[i].cause)->final)
			*second = i;
		found = true;
	}
	return found;
}

/* What is left without the first comes second; one that has a remedy is the first. */
static void say_two_causes(const struct verdict_facts *f, size_t second, char text[VERDICT_MAX])
{
	const struct cause_rows *causes = f->causes;
	size_t first = 0;

	if (cause__get(causes->rows[0].cause)->final) {
		first = second;
		second = 0;
	}
	say(text, ", for more than one cause: ");
	say_cause(causes, first, text);
	say(text, "; ");
	say_cause(causes, second, text);
	say(text, ". Without the first, the second alone would still copy them.");
	if (!cause__get(causes->rows[second].cause)->final)
		say_remedy(causes, first, text);
	say_remedy(causes, second, text);
}

static void say_copied(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	const struct cause_rows *causes = f->causes;
	size_t second;
	bool mostly;

	say(text, "%s of %s zero-copy sends%s were copied",
	    units__percent_text(f->copied, f->completions), units__number_text(f->completions),
	    f->to);
	if (!causes->count) {
		say(text, "; why was not seen.");
		return;
	}
	if (find_second(f, &second)) {
		say_two_causes(f, second, text);
		return;
	}
	mostly = causes->rows[0].sends < f->copied - f->unseen_flags;
	if (mostly)
		say(text, ", most of them (%s)", units__number_text(causes->rows[0].sends));
	say(text, ": ");
	say_cause(causes, 0, text);
	say(text, "%s.", causes->count > 1 && !mostly ? ", and other causes" : "");
	say_remedy(causes, 0, text);
}

static void say_none_copied(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	if (f->unexplained > 0) {
		say(text, "none of %s zero-copy sends%s was seen to be copied",
		    units__number_text(f->completions), f->to);
		return;
	}
	say(text, "none of %s zero-copy sends%s was copied", units__number_text(f->completions),
	    f->to);
	say(text, f->silent < 0 ? ", but unflagged copies are not visible here."
		  : f->skipped_looks || f->lost_copies > 0 ? ", as far as was seen."
							   : ": zero-copy works here.");
}

/* What no look was had at may have been copied, too. */
static void say_skipped(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	if (f->copied >= f->completions)
		return;
	if (f->lost_copies > 0)
		say(text, " More may have been copied: there was no room for traces of %s.",
		    units__counted_text(f->lost_copies, "packet"));
	if (f->skipped_looks > 0)
		say(text,
		    " More may have been copied: the kernel skipped %s runs of the programs that "
		    "see copies.",
		    units__number_text(f->skipped_looks));
	else if (f->skipped_looks < 0)
		say(text, " More may have been copied: this kernel does not count how often it "
			  "skips the kprobes that see copies.");
}

static const char *were(double n)
{
	return n == 1 ? "was" : "were";
}

/* What was lost, however little, may have been otherwise. */
static void say_lost(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	double lost = (f->lost > 0 ? f->lost : 0) + f->lost_else;

	if (lost > 0)
		say(text, " Caveat: %s %s not followed to the end (LOST, above).",
		    units__counted_text(lost, "send"), were(lost));
}

/* Nobody flagged them or saw them copied, but they did not leave the machine as they were. */
static void say_unexplained(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	if (f->unexplained <= 0)
		return;
	say(text,
	    "%s %s of them reached no NIC with the sender's own pages: these were copied by "
	    "something that has no hook here (on older kernels native XDP), or not sent.",
	    f->copied > 0 ? "" : ", but", units__number_text(f->unexplained));
}

/* What the application believes, where that is wrong. */
static void say_reported(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	if (f->reported >= 0 && f->reported != f->copied)
		say(text, " The error queue reported %s.", units__number_text(f->reported));
}

/*
 * Of five repeats one interval in sixteen leaves out 1 by chance: so near to it a next run may find
 * the opposite.
 */
#define NEAR 1.03

/* 1: more, -1: less, 0: no difference was found. */
static int sign(const struct spread *r)
{
	return r->low > NEAR ? 1 : r->low > 0 && r->high < 1 / NEAR ? -1 : 0;
}

static void say_ratio(const struct spread *r, const char *of, char text[VERDICT_MAX])
{
	if (r->low <= 0)
		say(text, " %s is not known", of);
	else if (sign(r))
		say(text, " %.2f times the %s (%.2f-%.2f)", r->middle, of, r->low, r->high);
	else
		say(text, " no difference above 3 %% in %s was found (%.2f-%.2f)", of, r->low,
		    r->high);
}

/* A single run ranks nothing: only an interval does. */
static void say_comparison(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	int better = sign(&f->speed), cheaper = -sign(&f->cpu);

	if (!f->other)
		return;
	if (f->noise) {
		say(text, " No ranking: %s; --wait-quiet waits for quiet.", f->noise);
		return;
	}
	if (f->speed.low <= 0) {
		say(text, " --repeat 5 compares it with %s.", f->other);
		return;
	}
	say(text, " Against %s:", f->other);
	say_ratio(&f->speed, "throughput", text);
	say(text, ",");
	say_ratio(&f->cpu, "CPU time per byte", text);
	if (better + cheaper > 0)
		say(text, ". It pays here.");
	else if (better + cheaper < 0)
		say(text, ". Use %s instead.", f->other);
	else
		say(text, better ? ". One is paid for with the other." : ".");
}

/* Of most requests there is nothing else to say: the first thing to do something about. */
static void say_refused(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	const struct refusal_row *row = f->refusal ? refusal__find(f->refusal) : NULL;

	if (!row || f->refused <= REFUSED_SHARE * f->requests)
		return;
	say(text, "%s of %s %s refused: %s. %s", units__percent_text(f->refused, f->requests),
	    units__counted_text(f->requests, "request"), were(f->requests), row->meaning,
	    row->remedy);
}

static void say_ignored(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	const char *requests = units__counted_text(f->requests, "request");
	double empty = f->empty > 0 ? f->empty : 0;

	if (f->ignored > empty)
		say(text,
		    "%s%s of %s %s ignored, and the data copied: the socket lacks SO_ZEROCOPY.",
		    text[0] ? " " : "", units__percent_text(f->ignored - empty, f->requests),
		    requests, were(f->requests));
	if (empty > 0)
		say(text, "%s%s of %s %s ignored: zero length.", text[0] ? " " : "",
		    units__percent_text(empty, f->requests), requests, were(f->requests));
}

/* Of those that were neither refused nor ignored. */
static void say_completed(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	if (no_verdict(f, text))
		return;
	if (f->copied > 0)
		say_copied(f, text);
	else
		say_none_copied(f, text);
	say_unexplained(f, text);
	say_skipped(f, text);
	say_reported(f, text);
	say_lost(f, text);
	say_comparison(f, text);
}

void verdict(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	size_t begin;

	text[0] = 0;
	if (f->requests <= 0)
		return;
	say_refused(f, text);
	say_ignored(f, text);
	if (f->ignored + f->refused >= f->requests)
		return;
	say(text, "%s", text[0] ? " " : "");
	begin = strlen(text);
	say_completed(f, text);
	if (begin)
		text[begin] = (char)toupper(text[begin]);
}

static void say_first_cause(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	say(text, "%s copied: ", f->copied < f->completions ? "some" : "100 %");
	say_cause(f->causes, 0, text);
	say(text, ".");
	say_remedy(f->causes, 0, text);
}

void verdict__finding(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	text[0] = 0;
	if (f->requests <= 0)
		say(text, "no send asked for zero-copy");
	else if (f->ignored + f->refused >= f->requests)
		say(text, "all requests were refused or ignored");
	else if (no_verdict(f, text))
		strcpy(text, "no verdict: too few completions, or copies are not known");
	else if (f->copied <= 0)
		say(text, "%s",
		    f->silent < 0 || f->skipped_looks || f->lost_copies > 0 || f->unexplained > 0
			    ? "no send was seen to be copied"
			    : "no send was copied: zero-copy works here");
	else if (!f->causes->count)
		say(text, "%s copied; why was not seen",
		    f->copied < f->completions ? "some" : "100 %");
	else
		say_first_cause(f, text);
}
