// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/run.h"

#include <stdlib.h>

int run__plan(struct run_result *r, const struct measurement *setup, enum plan_for what)
{
	struct kernel_facts facts = {};

	if (setup->tracing.features) /* without features, all hooks are off */
		facts = features__facts(setup->tracing.features);
	if (setup->tracing.stages || setup->tracing.timeline)
		what |= PLAN_STAGES;
	if (setup->packets || setup->tracing.timeline)
		what |= PLAN_PACKETS;
	if (plan__resolve(&r->plan, &facts, setup->mechanism, what))
		return 0;
	return failure__set(&r->failure, STATUS_SYSTEM, -ENOTSUP,
			    "sends cannot be timed here: %s (see analyze doctor)",
			    r->plan.entries[HOOK_SEND].reason);
}

/*
 * Turns samples on for stages that no hook sees. 0; or -errno if a profile is requested and the
 * kernel hides the addresses of its functions.
 */
static int settle_profile(struct run_result *r, struct tracer_setup *how)
{
	bool unseen = how->stages && !r->plan.entries[HOOK_STAGE_COPY].option;
	bool readable = features__code(how->features, "tcp_sendmsg", NULL);

	if (!how->profile && unseen && readable)
		how->profile = PROFILE_HZ;
	if (!how->profile || readable)
		return 0;
	return failure__set(&r->failure, STATUS_SYSTEM, -EPERM,
			    "--profile: the kernel hides function addresses: give CAP_SYSLOG, and "
			    "set kernel.kptr_restrict below 2");
}

int run__attach(struct run_result *r, const struct measurement *setup, struct tracer **tracer)
{
	struct tracer_setup how = setup->tracing;
	int err = settle_profile(r, &how);

	if (!err)
		err = setup->session
			      ? session__tracer(setup->session, tracer, &r->plan, &how, &r->failure)
			      : tracer__attach(tracer, &r->plan, &how, &r->failure);
	return failure__set(&r->failure, STATUS_SYSTEM, err, "%m");
}

void run__open_window(struct run_result *r, const struct measurement *setup, struct tracer *tracer)
{
	counters__enable(r->sender, true);
	counters__enable(r->receiver, true);
	memory__count(&r->memory, true);
	r->opened = noise__read(r->sender_pid, r->receiver_pid);
	clock_gettime(CLOCK_REALTIME, &r->started);
	if (tracer)
		tracer__gate(tracer, GATE_OPEN);
	interval_sender__begin(setup->live, &r->plan,
			       setup->load.messages ? 0 : setup->load.duration_s);
	r->window = true;
}

int run__close_window(struct run_result *r, const struct measurement *setup, struct tracer *tracer)
{
	int err;

	r->closed = noise__read(r->sender_pid, r->receiver_pid);
	memory__count(&r->memory, false);
	counters__enable(r->sender, false);
	counters__enable(r->receiver, false);
	counters__read(r->sender);
	counters__read(r->receiver);
	err = tracer ? tracer__read(tracer, &r->counts, ALL_COUNTS) : 0;
	if (!err && tracer) {
		r->maps = tracer__dump(tracer, ALL_COUNTS);
		err = r->maps ? tracer__profile(tracer, &r->profile) : -EIO;
	}
	if (!err && tracer)
		err = tracer__timeline(tracer, &r->timeline);
	if (!err)
		interval_sender__end(setup->live, tracer, r->maps);
	return failure__set(&r->failure, STATUS_FAILED, err,
			    "the counts in the kernel cannot be read");
}

void run__free(struct run_result *r)
{
	counters__free(r->sender);
	counters__free(r->receiver);
	json_object_put(r->app);
	json_object_put(r->profile);
	json_object_put(r->opened);
	json_object_put(r->closed);
	free(r->memory.text);
	free(r->maps);
	free(r->timeline);
}
