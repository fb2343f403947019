// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/report/verdict.h"

#include "user/kernel/refusals.h"

#include "loadgen/system/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LOST_SHARE    0.01 /* beyond, what was seen may not be typical */
#define WAITING_SHARE 0.1
#define REFUSED_SHARE 0.1
#define WIN	      1.05 /* throughputs of single runs differ by less for no reason */

static __attribute__((format(printf, 2, 3))) void say(char text[VERDICT_MAX], const char *format,
						      ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, VERDICT_MAX - used, format, arguments);
	va_end(arguments);
}

static bool no_verdict(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];

	if (f->completions < 0 || f->copied < 0)
		say(text,
		    "no verdict: how many of the %s zero-copy sends were copied is not known here",
		    units__number_text(f->requests, a));
	else if (f->lost > LOST_SHARE * f->requests)
		say(text, "no verdict: of %s zero-copy sends %s could not be followed",
		    units__number_text(f->requests, a), units__number_text(f->lost, b));
	else if (f->outstanding > WAITING_SHARE * f->requests)
		say(text, "no verdict: of %s zero-copy sends %s have no completion yet",
		    units__number_text(f->requests, a), units__number_text(f->outstanding, b));
	else if (f->completions < VERDICT_SENDS)
		say(text, "no verdict: %s zero-copy sends were completed, too few to tell",
		    units__number_text(f->completions, a));
	return text[0];
}

/* The device goes where a remedy names it. */
static void say_remedy(char text[VERDICT_MAX], const char *remedy, const char *device)
{
	const char *place = device[0] ? strstr(remedy, "DEV") : NULL;

	if (place)
		say(text, " %.*s%s%s", (int)(place - remedy), remedy, device, place + 3);
	else
		say(text, " %s", remedy);
}

static void say_copied(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	const struct cause_rows *causes = f->causes;
	char share[UNITS_TEXT_MAX], a[UNITS_TEXT_MAX], device[5 * 64] = "";
	bool mostly;

	say(text, "%s of %s zero-copy sends%s were copied",
	    units__percent_text(f->copied, f->completions, share),
	    units__number_text(f->completions, a), f->to);
	if (!causes->count) {
		say(text, "; why was not seen.");
		return;
	}
	cause_rows__device(causes, 0, device, sizeof(device));
	mostly = causes->rows[0].sends < f->copied;
	if (mostly)
		say(text, ", most of them (%s)", units__number_text(causes->rows[0].sends, a));
	say(text, ": %s%s%s%s.", cause__get(causes->rows[0].cause)->title, device[0] ? ", " : "",
	    device, causes->count > 1 && !mostly ? ", and other causes" : "");
	say_remedy(text, cause__get(causes->rows[0].cause)->remedy, device);
}

static void say_none_copied(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	char a[UNITS_TEXT_MAX];

	say(text, "none of %s zero-copy sends%s was copied", units__number_text(f->completions, a),
	    f->to);
	say(text, f->silent < 0
			  ? ", as far as the kernel tells: copies without a flag are not seen here."
			  : ": zero-copy works here.");
}

/* What the application believes, where that is wrong. */
static void say_told(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	char a[UNITS_TEXT_MAX];

	if (f->told >= 0 && f->told != f->copied)
		say(text, " The application was told of %s.", units__number_text(f->told, a));
}

static void say_comparison(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	if (!f->other || f->own_bps <= 0)
		return;
	if (f->other_bps > WIN * f->own_bps)
		say(text, " Use %s instead: %.2f against %.2f Gbit/s in these runs.", f->other,
		    f->other_bps / 1e9, f->own_bps / 1e9);
	else if (f->own_bps > WIN * f->other_bps)
		say(text, " It was faster than %s: %.2f against %.2f Gbit/s in these runs.",
		    f->other, f->own_bps / 1e9, f->other_bps / 1e9);
	else
		say(text, " It was as fast as %s: %.2f and %.2f Gbit/s in these runs.", f->other,
		    f->own_bps / 1e9, f->other_bps / 1e9);
}

static void say_refused(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	const struct refusal_row *row = f->refusal ? refusal__find(f->refusal) : NULL;
	char a[UNITS_TEXT_MAX], share[UNITS_TEXT_MAX];

	if (!row || f->refused <= REFUSED_SHARE * f->requests)
		return;
	say(text, "%s%s of %s requests were refused: %s. %s", text[0] ? " " : "",
	    units__percent_text(f->refused, f->requests, share), units__number_text(f->requests, a),
	    row->meaning, row->remedy);
}

static void say_ignored(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	double empty = f->empty > 0 ? f->empty : 0;
	char a[UNITS_TEXT_MAX], share[UNITS_TEXT_MAX];

	if (f->ignored > empty)
		say(text,
		    "%s%s of %s requests were ignored, and the data copied: the socket lacks "
		    "SO_ZEROCOPY.",
		    text[0] ? " " : "", units__percent_text(f->ignored - empty, f->requests, share),
		    units__number_text(f->requests, a));
	if (empty > 0)
		say(text, "%s%s of %s requests were ignored: they had zero length.",
		    text[0] ? " " : "", units__percent_text(empty, f->requests, share),
		    units__number_text(f->requests, a));
}

void verdict(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	text[0] = 0;
	if (f->requests <= 0)
		return;
	/* Of requests that never got as far there is something to say all the same. */
	if (f->ignored + f->refused < f->requests) {
		if (no_verdict(f, text))
			return;
		if (f->copied > 0)
			say_copied(f, text);
		else
			say_none_copied(f, text);
		say_told(f, text);
		say_comparison(f, text);
	}
	say_ignored(f, text);
	say_refused(f, text);
}
