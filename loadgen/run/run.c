/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/load.h"
#include "loadgen/run/run.h"

enum { WORKERS, CONTROL, OTHER, EVENTS };

#define PHASE_FOREVER UINT64_MAX
#define LOOK_MS	      500
#define SECOND	      1000000000ULL
#define STOPPED_NS    (5 * SECOND)

/*
 * How long a phase waits, after its end, for sent data. Lost segments are sent again after 0.2 s,
 * 0.4 s, 0.8 s and so on. A link of 20 Mbit/s takes 30 s for the send buffers of 16 connections. A
 * user who stops a run waits less, and so does everybody for a receiver that is far too slow.
 */
static const struct limits {
	uint64_t silence_ns; /* without a byte */
	uint64_t drain_ns;   /* in all */
	const char *silent, *slow;
} AT_THE_END = {10 * SECOND, 30 * SECOND, "the receiver read nothing for 10 s after the end",
		"the other end was not done 30 s after the end"},
  AFTER_A_STOP = {2 * SECOND, 6 * SECOND, "the receiver read nothing for 2 s after the stop",
		  "the other end was not done 6 s after the stop"};

#define PACE_NS (6 * SECOND) /* when the receiver's pace is judged */

struct patience {
	uint64_t end_ns; /* when the phase should end */
	uint64_t received_at_end;
	uint64_t progress_ns;
	uint64_t received;
	uint64_t stopped_ns; /* when the other end was first seen stopped; 0: it runs */
	bool abandoned;
};

static int timeout_ms(const struct patience *w, uint64_t now)
{
	uint64_t wait = w->end_ns > now ? w->end_ns - now : LOOK_MS * 1000000ULL;

	return wait < LOOK_MS * 1000000ULL ? (int)(wait / 1000000 + 1) : LOOK_MS;
}

static void stop_run(struct run *run, struct patience *w)
{
	run->stopped = true;
	run->ops->stop(run);
	w->end_ns = w->progress_ns = now_ns();
}

static void abandon_dead(struct run *run, struct patience *w, struct failure *f)
{
	child__explain_death(&run->other, f);
	run->ops->abandon(run);
	stop_run(run, w);
	w->abandoned = true;
}

static void give_up(struct run *run, struct patience *w, const char *why)
{
	if (w->abandoned || (run->ops->delivered && run->ops->delivered(run)))
		return;
	run->given_up = why;
	run->ops->abandon(run);
	w->abandoned = true;
}

/* Returns whether bytes arrive, but at a pace at which the rest would not arrive in time. */
static bool is_too_slow(struct run *run, const struct patience *w, uint64_t received,
			uint64_t since)
{
	double bytes = (double)(received - w->received_at_end);

	return bytes > 0 && since >= PACE_NS && since < AT_THE_END.drain_ns && run->ops->unsent &&
	       (double)run->ops->unsent(run) * (double)since >
		       bytes * (double)(AT_THE_END.drain_ns - since);
}

/* Gives up if the phase is over, threads still work, and no more bytes arrive. */
static void give_up_if_stuck(struct run *run, struct patience *w)
{
	const struct limits *most = run->stopped ? &AFTER_A_STOP : &AT_THE_END;
	uint64_t now = now_ns(), sum = run->ops->received ? run->ops->received(run) : 0;

	if (now < w->end_ns)
		return;
	if (w->progress_ns < w->end_ns)
		w->received_at_end = sum;
	if (sum != w->received || w->progress_ns < w->end_ns) {
		w->received = sum;
		w->progress_ns = now;
	}
	if (run->ops->received && now - w->progress_ns >= most->silence_ns)
		give_up(run, w, most->silent);
	if (is_too_slow(run, w, sum, now - w->end_ns))
		give_up(run, w, "the other end was too slow after the end");
	if (now - w->end_ns >= most->drain_ns)
		give_up(run, w, most->slow);
}

/* Gives up if a signal has stopped the other end for long. A debugger may stop it for a moment. */
static void give_up_if_stopped(struct run *run, struct patience *w, struct failure *f)
{
	uint64_t now = now_ns();

	if (!child__is_stopped(&run->other)) {
		w->stopped_ns = 0;
		return;
	}
	if (!w->stopped_ns)
		w->stopped_ns = now;
	if (!w->abandoned && now < w->end_ns && now - w->stopped_ns < STOPPED_NS)
		return;
	failure__set(f, STATUS_FAILED, -ETIMEDOUT, "the %s process was stopped by a signal",
		     run->other.name);
	run->other.silent = true;
	stop_run(run, w);
	give_up(run, w, "");
}

static int read_control(struct run *run, struct patience *w, struct failure *f)
{
	int type = control__read(run->control, f);

	if (type == CONTROL_STOP)
		stop_run(run, w);
	else if (type > 0)
		return failure__set(f, STATUS_FAILED, -EPROTO,
				    "the driver sent message %d within a phase", type);
	return type < 0 ? type : 0;
}

/*
 * Waits for a phase to end. A stop must end it even if the receiver stopped reading and all workers
 * block. Gives up if, after the phase's end, nothing has arrived for a while or the rest takes too
 * long, or if a signal has stopped the other process.
 */
static int wait_for_phase(struct run *run, uint64_t deadline_ns, struct failure *f)
{
	struct patience w = {.end_ns = deadline_ns ? deadline_ns : now_ns()};
	struct pollfd events[EVENTS] = {
		[WORKERS] = {.fd = run->barrier.fd, .events = POLLIN},
		[CONTROL] = {.fd = run->control->fd, .events = POLLIN},
		/* hang-up only, because workers use the channel */
		[OTHER] = {.fd = run->other.pid ? run->other.channel : -1},
	};

	for (;;) {
		int n = poll(events, EVENTS, timeout_ms(&w, now_ns())), err = 0;

		if (n < 0 && errno != EINTR)
			return failure__set(f, STATUS_FAILED, -errno, "poll: %m");
		if (n > 0 && events[OTHER].revents) {
			abandon_dead(run, &w, f);
			events[OTHER].fd = -1;
		}
		if (n > 0 && events[WORKERS].revents)
			return 0;
		if (n > 0 && events[CONTROL].revents)
			err = read_control(run, &w, f);
		if (err)
			return err;
		give_up_if_stopped(run, &w, f);
		give_up_if_stuck(run, &w);
	}
}

static struct cpu_time since(struct cpu_time then, struct cpu_time now)
{
	return (struct cpu_time){now.user_us - then.user_us, now.system_us - then.system_us};
}

/* Creates both processes, each on its CPUs; there is no connection and no thread yet. */
static int prepare_run(struct run *run, struct failure *f)
{
	const struct load *load = run->load;
	bool sends = run->ops->sends;
	const cpu_set_t *ours = sends ? &run->cpus.sender : &run->cpus.receiver;
	pid_t other;
	int err;

	if (load->pinning == PIN_AUTO && !load->peer) /* a peer needs none of our CPUs */
		cpus__plan(&run->cpus);
	err = run->ops->prepare(run, f);
	if (!err && load->link)
		err = link__create(&run->link, f);
	if (!err)
		err = run->ops->fork(run, f);
	if (!err)
		err = link__enter_sender(&run->link, f);
	if (err)
		return err;
	if (run->cpus.split)
		sched_setaffinity(0, sizeof(*ours), ours);
	other = load->peer ? 0 : run->other.pid;
	run->control->message.sender_pid = sends ? getpid() : other;
	run->control->message.receiver_pid = sends ? other : getpid();
	return control__send(run->control, CONTROL_HELLO, "", f);
}

static int execute_phase(struct run *run, uint64_t deadline_ns, uint64_t messages,
			 struct failure *f)
{
	run->ops->begin(run, deadline_ns, messages);
	barrier__release(&run->barrier, false);
	return wait_for_phase(run, deadline_ns, f);
}

/* Does everything up to the first PARKED. After a failure here, there is no result to report. */
static int warm_up(struct run *run, struct failure *f)
{
	int err = run->ops->connect(run, f);

	if (!err)
		err = wait_for_phase(run, PHASE_FOREVER, f);
	control__catch_signals(run->control);
	failure__adopt(f, &run->barrier.failure);
	if (!err && !f->status && run->load->warmup_s > 0 && !run->stopped) {
		run->start_ns = now_ns();
		err = execute_phase(run, run->start_ns + (uint64_t)(run->load->warmup_s * 1e9),
				    UINT64_MAX, f);
		if (run->given_up)
			failure__set(f, STATUS_FAILED, -ETIMEDOUT, "%s of the warm-up",
				     run->given_up);
		failure__adopt(f, &run->barrier.failure);
	}
	return f->status && !err ? -ECANCELED : err;
}

static int window(struct run *run, struct result *r, struct failure *f)
{
	const struct load *load = run->load;
	pid_t elsewhere = load->link ? run->other.pid : 0;
	bool sends = run->ops->sends, known;
	struct cpu_time own, theirs, now;
	uint64_t deadline = PHASE_FOREVER;
	int err;

	netstat__read(&r->netstat_before, elsewhere);
	if (run->ops->open)
		run->ops->open(run);
	known = !child__cpu_time(&run->other, &theirs);
	own = cpu_time__own();
	run->start_ns = now_ns();
	if (!load->messages)
		deadline = run->start_ns + (uint64_t)(load->duration_s * 1e9);
	if (run->stopped)
		deadline = 0;
	err = execute_phase(run, deadline, load->messages ? load->messages : UINT64_MAX,
			    &r->failure);
	if (err) {
		failure__adopt(f, &r->failure);
		return err;
	}
	*(sends ? &r->sender : &r->receiver) = since(own, cpu_time__own());
	netstat__read(&r->netstat_after, elsewhere);
	err = child__cpu_time(&run->other, &now);
	if (err == -EPIPE) /* checked before the workers' failures, which it explains */
		child__explain_death(&run->other, &r->failure);
	known = known && !err;
	if (known)
		*(sends ? &r->receiver : &r->sender) = since(theirs, now);
	r->sender_known = sends || known;
	r->receiver_known = !sends || known;
	r->elapsed_s = (double)(run->ops->count(run, r) - run->start_ns) / 1e9;
	if (run->given_up && run->ops->delivered)
		failure__set(
			&r->failure, STATUS_FAILED, -ETIMEDOUT,
			"%s: %llu of %llu bytes had arrived when its connections were shut down",
			run->given_up, (unsigned long long)r->received,
			(unsigned long long)r->bytes);
	failure__adopt(&r->failure, &run->barrier.failure);
	if (run->ops->check)
		run->ops->check(run, r);
	return 0;
}

static int conduct(struct run *run, struct result *r, struct failure *f)
{
	int stopped = 0, ignored;
	int err = control__await(run->control, CONTROL_START, &stopped, f);

	if (!err)
		err = warm_up(run, f);
	if (err)
		return err;
	/* A driver's STOP ends only the warm-up; Ctrl-C ends the whole run. */
	run->stopped = run->control->signal;
	r->port = listener__port_of(&run->listener.address);
	run->control->message.port = (__u16)r->port;
	err = control__send(run->control, CONTROL_PARKED, "", f);
	if (!err)
		err = control__await(run->control, CONTROL_GO, &stopped, f);
	if (err)
		return err;
	run->stopped |= stopped;
	err = window(run, r, f);
	if (!err)
		err = control__send(run->control, CONTROL_PARKED, "", f);
	if (!err)
		err = control__await(run->control, CONTROL_FINISH, &ignored, f);
	return err;
}

int run__execute(const struct load *load, struct control *control, struct result *r,
		 struct failure *f)
{
	struct run run = {
		.load = load,
		.ops = load->workload == WORKLOAD_PROCINFO ? &run_serving : &run_stream,
		.control = control,
		.link = {.sender = -1},
		.listener = {.fd = -1},
	};
	int err;

	memset(r, 0, sizeof(*r));
	r->load = load;
	r->ops = run.ops;
	err = prepare_run(&run, f);
	if (!err)
		err = conduct(&run, r, f);
	r->cpus = run.cpus;
	if (err && run.barrier.threads) {
		run.ops->stop(&run);
		run.ops->abandon(&run);
	}
	barrier__destroy(&run.barrier);
	run.ops->clean_up(&run);
	child__stop(&run.other);
	listener__close(&run.listener);
	link__close(&run.link);
	return err;
}
