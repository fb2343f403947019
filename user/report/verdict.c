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

static const char *number(double n, char text[UNITS_TEXT_MAX])
{
	return units__count_text((unsigned long long)n, text);
}

/* A share that is not all or nothing is never rounded to either. */
static const char *percent(double part, double whole, char text[16])
{
	double share = 100 * part / whole;

	if (part < whole && share > 99.9)
		share = 99.9;
	if (part > 0 && share < 0.1)
		share = 0.1;
	snprintf(text, 16, "%.3g %%", share);
	return text;
}

static bool no_verdict(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];

	if (f->completions < 0 || f->copied < 0)
		say(text,
		    "no verdict: how many of the %s zero-copy sends were copied is not known here",
		    number(f->requests, a));
	else if (f->lost > LOST_SHARE * f->requests)
		say(text, "no verdict: of %s zero-copy sends %s could not be followed",
		    number(f->requests, a), number(f->lost, b));
	else if (f->outstanding > WAITING_SHARE * f->requests)
		say(text, "no verdict: of %s zero-copy sends %s have no completion yet",
		    number(f->requests, a), number(f->outstanding, b));
	else if (f->completions < VERDICT_SENDS)
		say(text, "no verdict: %s zero-copy sends were completed, too few to tell",
		    number(f->completions, a));
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
	const struct cause_row *row;
	char share[16], a[UNITS_TEXT_MAX], device[5 * 64] = "";
	bool mostly;

	say(text, "%s of %s zero-copy sends%s were copied",
	    percent(f->copied, f->completions, share), number(f->completions, a), f->to);
	if (!causes->count) {
		say(text, "; why was not seen.");
		return;
	}
	cause_rows__device(causes, 0, device, sizeof(device));
	row = cause__words(causes->rows[0].cause, causes->rows[0].stack[0]);
	mostly = causes->rows[0].sends < f->copied;
	if (mostly)
		say(text, ", most of them (%s)", number(causes->rows[0].sends, a));
	say(text, ": %s%s%s%s.", row->title, device[0] ? ", " : "", device,
	    causes->count > 1 && !mostly ? ", and other causes" : "");
	say_remedy(text, row->remedy, device);
}

static void say_none_copied(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	char a[UNITS_TEXT_MAX];

	if (f->unexplained > 0) {
		say(text, "none of %s zero-copy sends%s was seen to be copied",
		    number(f->completions, a), f->to);
		return;
	}
	say(text, "none of %s zero-copy sends%s was copied", number(f->completions, a), f->to);
	say(text, f->silent < 0
			  ? ", as far as the kernel tells: copies without a flag are not seen here."
			  : ": zero-copy works here.");
}

/* Nobody flagged them or saw them copied, but they did not leave the machine as they were. */
static void say_unexplained(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	char a[UNITS_TEXT_MAX];

	if (f->unexplained <= 0)
		return;
	say(text,
	    "%s %s of them reached no NIC with the sender's own pages: these were copied by "
	    "something that has no hook here (on older kernels native XDP), or not sent.",
	    f->copied > 0 ? "" : ", but", number(f->unexplained, a));
}

/* What the application believes, where that is wrong. */
static void say_told(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	char a[UNITS_TEXT_MAX];

	if (f->told >= 0 && f->told != f->copied)
		say(text, " The application was told of %s.", number(f->told, a));
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
	char a[UNITS_TEXT_MAX], share[16];

	if (!row || f->refused <= REFUSED_SHARE * f->requests)
		return;
	say(text, "%s%s of %s requests were refused: %s. %s", text[0] ? " " : "",
	    percent(f->refused, f->requests, share), number(f->requests, a), row->meaning,
	    row->remedy);
}

static void say_ignored(const struct verdict_facts *f, char text[VERDICT_MAX])
{
	char a[UNITS_TEXT_MAX], share[16];

	if (f->ignored <= 0)
		return;
	say(text,
	    "%s%s of %s requests were ignored, and the data copied: the socket lacks SO_ZEROCOPY.",
	    text[0] ? " " : "", percent(f->ignored, f->requests, share), number(f->requests, a));
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
		say_unexplained(f, text);
		say_told(f, text);
		say_comparison(f, text);
	}
	say_ignored(f, text);
	say_refused(f, text);
}
