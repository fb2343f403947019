// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/run.h"

#include "user/system/privilege.h"

#include "loadgen/send/send_ops.h"

#include <string.h>

static enum plan_for purpose(const struct load *load)
{
	const struct send_ops *ops = load->variant ? variants__find(load->variant) : NULL;

	return ops && ops->flags & SEND_ZEROCOPY ? PLAN_ZEROCOPY_LOAD : PLAN_COPYING_LOAD;
}

/* Makes the programs and counters measure both ends of the load. tracer may be NULL. */
static int add_ends(struct run_result *r, const struct measurement *setup, struct tracer *tracer)
{
	int err = tracer ? tracer__add_target(tracer, r->sender_pid, ROLE_SENDER) : 0;

	if (!err && tracer && r->receiver_pid)
		err = tracer__add_target(tracer, r->receiver_pid, ROLE_RECEIVER);
	if (!err)
		err = counters__open(&r->sender, r->sender_pid, setup->events);
	if (!err && r->receiver_pid) /* otherwise the receiver is on another machine */
		err = counters__open(&r->receiver, r->receiver_pid, setup->events);
	if (!err)
		memory__begin(&r->memory, setup->memory);
	if (!err && setup->last)
		err = privilege__drop_attach(&r->failure);
	return err;
}

/* Fails if the load generator reported an error inside the window. */
static int app_error(struct run_result *r)
{
	json_object *text;

	if (!json_object_object_get_ex(r->app, "error", &text))
		return 0;
	return failure__set(&r->failure, STATUS_FAILED, -EIO, "%s", json_object_get_string(text));
}

/* Fails if a load sent data and the kernel programs saw none of its sends. */
static int check_seen(struct run_result *r)
{
	const char *misses = r->plan.entries[HOOK_SEND].reason;
	struct call_sums seen = {};
	json_object *bytes = NULL;

	for (__u32 slot = 0; slot < CALL_SLOTS; slot++)
		call_sums__add(&seen, &r->counts.calls[slot]);
	json_object_object_get_ex(r->app, "bytes", &bytes);
	if (!json_object_get_int64(bytes) || seen.sends)
		return 0;
	return failure__set(
		&r->failure, STATUS_FAILED, -ENODATA,
		"the load generator sent %lld bytes as process %d, and the kernel "
		"programs saw no TCP send of it%s%s (analyze doctor lists what they see)",
		(long long)json_object_get_int64(bytes), (int)r->sender_pid,
		misses[0] ? ": the hook " : "", misses);
}

/* The context of the main thread's work while a window is open. */
struct open_window {
	const struct measurement *setup;
	struct tracer *tracer;
};

static bool tick_in_window(void *context)
{
	const struct open_window *w = context;

	interval_sender__tick(w->setup->live, w->tracer);
	return w->setup->tick(w->setup->tick_context);
}

static int ms_to_line(void *context, int most)
{
	const struct open_window *w = context;

	return interval_sender__ms_left(w->setup->live, tracer__read_timeline(w->tracer, most));
}

/* Closes the gate. When a load ends, another CPU may still be counting the last completion. */
static void close_load_gate(struct run_result *r, struct tracer *tracer)
{
	tracer__gate(tracer, GATE_CORRECTING);
	if (tracer__read(tracer, &r->counts, TOTALS_AND_CALLS) ||
	    window_counts__outstanding(&r->counts, false) || SUM_LOST_FLAGS(&r->counts.totals))
		tracer__gate_settled(tracer, GATE_CORRECTING);
	tracer__gate(tracer, GATE_CLOSED);
}

static int measure_load(struct run_result *r, const struct measurement *setup, struct generator *g,
			struct tracer *tracer)
{
	struct open_window w = {setup, tracer};
	unsigned int port;
	int err, closed;

	err = generator__connect(g, setup->tick, setup->tick_context, &port);
	if (err)
		return err;
	if (setup->tick(setup->tick_context))
		return -EINTR;
	if (tracer)
		tracer__set_port(tracer, port, setup->load.workload == WORKLOAD_PROCINFO);
	run__open_window(r, setup, tracer);
	err = generator__window(g, tick_in_window, ms_to_line, &w);
	if (tracer)
		close_load_gate(r, tracer);
	closed = run__close_window(r, setup, tracer);
	err = err ? err : closed;
	if (!err)
		err = generator__finish(g, &r->app);
	if (!err)
		err = app_error(r);
	return err || !tracer ? err : check_seen(r);
}

void run__attach_ahead(const struct measurement *setup)
{
	static struct run_result r; /* too large for a stack */
	struct tracer *tracer;

	setup->session->ahead = setup->mechanism != MECHANISM_OFF &&
				!run__plan(&r, setup, purpose(&setup->load)) &&
				!run__attach(&r, setup, &tracer);
}

int run__measure(struct run_result *r, const struct measurement *setup)
{
	struct generator *g = NULL;
	struct tracer *tracer = NULL;
	int err;

	memset(r, 0, sizeof(*r));
	clock_gettime(CLOCK_REALTIME, &r->started);
	err = run__plan(r, setup, purpose(&setup->load));
	if (err)
		return err;
	err = generator__start(&g, &setup->load, &r->failure);
	if (!err && setup->mechanism != MECHANISM_OFF)
		err = run__attach(r, setup, &tracer);
	if (!err)
		err = generator__greet(g, setup->tick, setup->tick_context, &r->sender_pid,
				       &r->receiver_pid);
	if (!err)
		err = add_ends(r, setup, tracer);
	if (!err)
		err = measure_load(r, setup, g, tracer);
	if (err != -EINTR)
		failure__set(&r->failure, STATUS_FAILED, err, "%m");
	memory__end(&r->memory);
	r->interrupted = setup->tick(setup->tick_context);
	generator__free(g);
	return err;
}
