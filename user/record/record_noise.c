// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What else the machine did in the window: from where on it makes figures doubtful, and from
 * where on a run must not be compared with others.
 */
#include "user/record/record_parts.h"
#include "user/record/record_read.h"

#include <math.h>
#include <stdio.h>

/* A share, or what becomes one by dividing. */
static const struct limit {
	const char *path, *per;
	double doubtful, too_much;
	const char *code, *words;
} limits[] = {
	{"/run/steal_share", NULL, 0.02, 0.1, "steal",
	 "the hypervisor gave %.0f %% of the CPUs' time to others"},
	{"/noise/others_share", NULL, 0.05, 0.2, "others",
	 "other programs took %.0f %% of the CPUs' time"},
	{"/noise/slowdown", NULL, 0.05, 0.2, "slowdown", "the CPUs' frequency fell by %.0f %%"},
	{"/noise/sender_waited_share", NULL, 0.1, INFINITY, "sender_waited",
	 "the sender waited for a CPU in %.0f %% of the time in which it could run"},
	{"/noise/receiver_waited_share", NULL, 0.1, INFINITY, "receiver_waited",
	 "the receiver waited for a CPU in %.0f %% of the time in which it could run"},
	{"/tcp/sending/retransmits", "/tcp/sending/data_segments", 0.001, INFINITY, "retransmitted",
	 "%.1f %% of the segments were sent again"},
	{"/tcp/zero_windows", "/tcp/sending/data_segments", 0.01, INFINITY, "zero_windows",
	 "the receiver closed its window, once for %.0f %% of the segments"},
};

static bool exceeds(json_object *record, const struct limit *l, bool too_much, char *text,
		    size_t size)
{
	double value, per = 1;

	if (!record__number(record, l->path, &value) ||
	    (l->per && (!record__number(record, l->per, &per) || per <= 0)) ||
	    value / per < (too_much ? l->too_much : l->doubtful))
		return false;
	snprintf(text, size, l->words, 100 * value / per);
	return true;
}

void record__warn_noise(json_object *record,
			void (*add)(void *context, const char *code, const char *text),
			void *context)
{
	char text[160];
	size_t i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (exceeds(record, &limits[i], false, text, sizeof(text)))
			add(context, limits[i].code, text);
}

static json_object *too_much(json_object *record)
{
	char text[160];
	size_t i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (exceeds(record, &limits[i], true, text, sizeof(text)))
			return json_object_new_string(text);
	return NULL;
}

/* A share or a count; NULL where it is not known. */
static json_object *known(double value)
{
	return value >= 0 ? json_object_new_double(value) : NULL;
}

/* What the load's own processes did not use of the time that was spent. */
static double others_share(const struct noise *n, json_object *app)
{
	static const char *const own[] = {"/user_s", "/system_s", "/receiver/user_s",
					  "/receiver/system_s"};
	double others = n->busy_s, value;
	size_t i;

	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (record__number(app, own[i], &value))
			others -= value;
	return n->all_s > 0 ? fmax(others, 0) / n->all_s : NOISE_UNKNOWN;
}

void record__add_noise(json_object *record, const struct run_result *r,
		       const struct run_setup *setup, struct unmeasured *u)
{
	static const char *const no_cpu = "too short a window, or /proc/stat does not tell";
	static const char *const no_wait =
		"the kernel keeps no schedstat, or threads ended meanwhile";
	const struct noise *n = &r->noise;
	json_object *o = json_object_new_object();

	json__add(record, "noise", o);
	record__add_measured(o, "noise", "others_share",
			     r->app ? known(others_share(n, r->app)) : NULL,
			     r->app ? no_cpu : "what is the load's own is known of loads alone", u);
	record__add_measured(o, "noise", "irq_share", known(n->irq_share), no_cpu, u);
	record__add_measured(o, "noise", "pressure_share", known(n->pressure_share),
			     "this kernel has no /proc/pressure (CONFIG_PSI)", u);
	record__add_measured(o, "noise", "sender_waited_share", known(n->waited_share[0]),
			     setup->target ? "of loads alone" : no_wait, u);
	record__add_measured(o, "noise", "receiver_waited_share", known(n->waited_share[1]),
			     setup->target ? "of loads alone" : no_wait, u);
	record__add_measured(o, "noise", "throttled", known(n->throttled),
			     "this machine does not tell when it throttles its CPUs", u);
	record__add_measured(o, "noise", "slowdown", known(n->slowdown),
			     "this machine does not tell the frequency of its CPUs", u);
	json__add(o, "too_much", too_much(record));
}
