// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/run.h"

#include "user/system/privilege.h"
#include "user/trace/tracer.h"

#include "common/program.h"
#include "loadgen/send/send_ops.h"

#include <errno.h>
#include <string.h>

static int fail_generator(struct run_result *r, const struct generator *g, int err)
{
	if (!g)
		return run__fail(r, err, STATUS_FAILED, "%s", strerror(-err));
	return run__fail(r, err, generator__exit_status(g), "%s",
			 err == -ECANCELED || err == -EPIPE ? generator__error(g) : strerror(-err));
}

static enum plan_for purpose(const struct load *load)
{
	const struct send_ops *ops = load->variant ? variants__find(load->variant) : NULL;

	return ops && ops->flags & SEND_ZEROCOPY ? PLAN_ZEROCOPY_LOAD : PLAN_COPYING_LOAD;
}

static int attach_tracer(struct run_result *r, const struct run_setup *setup,
			 const struct generator *g, struct tracer **tracer)
{
	int err;

	if (setup->tier == MECHANISM_OFF)
		return 0;
	err = run__attach(r, setup, tracer);
	if (err)
		return err;
	err = tracer__add_target(*tracer, generator__sender(g), ROLE_SENDER);
	if (!err && generator__receiver(g))
		err = tracer__add_target(*tracer, generator__receiver(g), ROLE_RECEIVER);
	return err ? run__fail(r, err, STATUS_FAILED, "%s", strerror(-err)) : 0;
}

static int attach(struct run_result *r, const struct run_setup *setup, const struct generator *g,
		  struct tracer **tracer)
{
	int err = attach_tracer(r, setup, g, tracer);

	if (err)
		return err;
	err = counters__open(&r->sender.counters, generator__sender(g), setup->events);
	if (!err && generator__receiver(g)) /* else it is on another machine */
		err = counters__open(&r->receiver.counters, generator__receiver(g), setup->events);
	if (!err)
		memory__begin(&r->memory, setup->memory);
	if (!err && setup->last)
		err = privilege__drop_attach();
	return err ? run__fail(r, err, STATUS_FAILED, "%s", strerror(-err)) : 0;
}

static void open_window(struct run_result *r, const struct run_setup *setup, struct tracer *tracer)
{
	counters__enable(r->sender.counters, true);
	counters__enable(r->receiver.counters, true);
	memory__count(&r->memory, true);
	steal__begin(&r->steal);
	clock_gettime(CLOCK_REALTIME, &r->started);
	if (tracer)
		tracer__gate(tracer, GATE_OPEN);
	live__begin(setup->live, setup->label, &r->plan,
		    setup->load.messages ? 0 : setup->load.duration_s);
	r->window = true;
}

static int close_window(struct run_result *r, const struct run_setup *setup, struct tracer *tracer)
{
	int err;

	if (tracer)
		tracer__gate(tracer, GATE_CLOSED);
	steal__end(&r->steal);
	memory__count(&r->memory, false);
	counters__enable(r->sender.counters, false);
	counters__enable(r->receiver.counters, false);
	r->sender.count = counters__read(r->sender.counters, &r->sender.values);
	r->receiver.count = counters__read(r->receiver.counters, &r->receiver.values);
	err = tracer ? tracer__read(tracer, &r->measured) : 0;
	if (!err)
		live__end(setup->live, &r->measured);
	return err ? run__fail(r, err, STATUS_FAILED, "reading what the kernel counted failed") : 0;
}

/* What went wrong inside the window, as the load generator says it. */
static int app_error(struct run_result *r)
{
	json_object *text;

	if (!json_object_object_get_ex(r->app, "error", &text))
		return 0;
	return run__fail(r, -EIO, STATUS_FAILED, "%s", json_object_get_string(text));
}

/* The sends of all slots. */
static __u64 sends_seen(const struct measured *m)
{
	__u64 sum = 0;
	__u32 slot;

	for (slot = 0; slot < CALL_SLOTS; slot++)
		sum += m->calls[slot].sends;
	return sum;
}

/* A load that sent, and of which the kernel programs saw nothing, was not measured. */
static int check_seen(struct run_result *r)
{
	const char *misses = r->plan.entries[HOOK_SEND].reason;
	json_object *bytes = NULL;

	json_object_object_get_ex(r->app, "bytes", &bytes);
	if (!json_object_get_int64(bytes) || sends_seen(&r->measured))
		return 0;
	return run__fail(r, -ENODATA, STATUS_FAILED,
			 "the load generator sent %lld bytes as process %d, and the kernel "
			 "programs saw no TCP send of it%s%s (analyze doctor tells what they see)",
			 (long long)json_object_get_int64(bytes), (int)r->sender_pid,
			 misses[0] ? ": the hook " : "", misses);
}

/* What is to be done all the while that a window is open. */
struct open_window {
	const struct run_setup *setup;
	struct tracer *tracer;
};

static bool tick_in_window(void *context)
{
	const struct open_window *w = context;

	live__tick(w->setup->live, w->tracer);
	return w->setup->tick && w->setup->tick(w->setup->tick_context);
}

static int ms_left(void *live, int most)
{
	return live__ms_left(live, most);
}

static int measure(struct run_result *r, const struct run_setup *setup, struct generator *g,
		   struct tracer *tracer)
{
	struct open_window w = {setup, tracer};
	int err, closed;

	err = generator__connect(g, setup->tick, setup->tick_context);
	if (err)
		return fail_generator(r, g, err);
	if (setup->tick && setup->tick(setup->tick_context))
		return -EINTR;
	if (tracer)
		tracer__set_port(tracer, generator__port(g),
				 setup->load.workload == WORKLOAD_PROCINFO);
	open_window(r, setup, tracer);
	generator__wake(g, ms_left, setup->live);
	err = generator__window(g, tick_in_window, &w);
	generator__wake(g, NULL, NULL);
	closed = close_window(r, setup, tracer);
	if (!err && !closed)
		err = generator__finish(g, &r->app);
	if (err)
		return fail_generator(r, g, err);
	err = closed ? closed : app_error(r);
	return err || !tracer ? err : check_seen(r);
}

int run__measure(struct run_result *r, const struct run_setup *setup)
{
	struct generator *g = NULL;
	struct tracer *tracer = NULL;
	int err;

	memset(r, 0, sizeof(*r));
	err = run__plan(r, setup, purpose(&setup->load));
	if (err)
		return err;
	err = generator__start(&g, &setup->load);
	if (err) {
		fail_generator(r, g, err);
		goto out;
	}
	r->sender_pid = generator__sender(g);
	r->receiver_pid = generator__receiver(g);
	err = attach(r, setup, g, &tracer);
	if (!err)
		err = measure(r, setup, g, tracer);
out:
	memory__end(&r->memory);
	r->interrupted = setup->tick && setup->tick(setup->tick_context);
	tracer__free(tracer);
	generator__free(g);
	return err;
}
