// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/run/run.h"

#include "user/system/files.h"
#include "user/system/privilege.h"
#include "user/system/signals.h"

#include <glob.h>
#include <linux/magic.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TICK_MS	    200
#define FAREWELL_S  10	/* the longest wait for the command's end after a signal */
#define COMPLETES_S 1	/* how long completions of a timeline's last sends are awaited */
#define CLOSING_MS  100 /* the longest wait for sends in progress when the window closes */

/* The processes and times for which an observation waits. */
struct watch {
	struct pollfd ends[TARGET_PIDS_MAX]; /* a pidfd each; fd is -1 once the process has ended */
	size_t count, alive;
	struct child *child; /* NULL: none */
	pid_t left;	     /* the awaited process that the command left behind; 0: none */
	size_t left_count;
	bool left_reported;
	struct timespec begun;
	double seconds;		  /* 0: no end */
	bool in_time;		  /* the window ended when its time was up */
	struct timespec full;	  /* when the timeline had its sends: since_first() */
	struct timespec signaled; /* when a signal came: since_first() */
	bool waits, refuses;	  /* the command refuses to end if it takes FAREWELL_S */
};

static int watch_pids(struct watch *w, const struct target *target, struct run_result *r)
{
	int fd, err;

	for (size_t i = 0; i < target->pid_count; i++) {
		fd = pidfd_open(target->pids[i], 0);
		err = -errno;
		if (fd < 0)
			return failure__set(&r->failure, STATUS_USAGE, err, "--pid %d: %s",
					    (int)target->pids[i],
					    err == -EINVAL
						    ? "is a thread; give the id of its process"
					    : err == -ESRCH ? "there is no such process"
							    : strerror(-err));
		w->ends[w->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
		w->alive++;
		if (poll(&w->ends[w->count - 1], 1, 0) > 0)
			return failure__set(
				&r->failure, STATUS_USAGE, -ESRCH,
				"--pid %d: has ended, and its parent did not wait for it "
				"(a zombie)",
				(int)target->pids[i]);
	}
	return 0;
}

/* Returns whether a thread of this name runs. */
static bool comm_runs(const char *name)
{
	char line[64];
	bool found = false;
	glob_t paths;

	if (glob("/proc/[0-9]*/task/[0-9]*/comm", GLOB_NOSORT, NULL, &paths))
		return false;
	for (size_t i = 0; i < paths.gl_pathc && !found; i++)
		found = files__first_line(paths.gl_pathv[i], line, sizeof(line)) &&
			!strcmp(line, name);
	globfree(&paths);
	return found;
}

/*
 * Fails if the target does not exist. If the observation has no end (later), a process of this name
 * may start later. In a container the name is not checked, because /proc does not show all observed
 * processes.
 */
static int check_target(const struct target *target, bool later, struct run_result *r)
{
	struct statfs fs;

	if (target->by == TARGET_COMM && !later && !target__pid_namespace() &&
	    !comm_runs(target->named))
		return failure__set(&r->failure, STATUS_USAGE, -ESRCH,
				    "--comm %s: no process of this name runs; analyze -- COMMAND "
				    "observes one from its start",
				    target->named);
	if (target->by != TARGET_CGROUP)
		return 0;
	if (statfs(target->named, &fs))
		return failure__set(
			&r->failure, STATUS_USAGE, -errno, "--cgroup %s: %s", target->named,
			errno == ENOENT ? "there is no such control group" : strerror(errno));
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return failure__set(&r->failure, STATUS_USAGE, -EINVAL,
				    "--cgroup %s: is not in a control group hierarchy of version 2",
				    target->named);
	return 0;
}

static void watch_command(struct watch *w, struct child *child)
{
	w->child = child;
	w->ends[w->count++] = (struct pollfd){.fd = child->pidfd, .events = POLLIN};
	w->alive++;
}

static int attach(struct run_result *r, const struct measurement *setup, const struct watch *w,
		  struct tracer **tracer)
{
	int err = run__attach(r, setup, tracer);

	for (size_t i = 0; i < setup->tracing.target->pid_count && !err; i++)
		err = tracer__add_target(*tracer, setup->tracing.target->pids[i], ROLE_BOTH);
	if (!err && w->child)
		err = tracer__add_target(*tracer, w->child->pid, ROLE_BOTH);
	if (!err && w->child)
		err = counters__open(&r->sender, w->child->pid, setup->events);
	if (!err && setup->last)
		err = privilege__drop_attach(&r->failure);
	return failure__set(&r->failure, STATUS_FAILED, err, "%m");
}

static int ms_to_end(const struct watch *w)
{
	double ms = ceil((w->seconds - elapsed_since(&w->begun)) * 1e3);

	if (w->seconds <= 0 || ms > TICK_MS)
		return TICK_MS;
	return ms < 0 ? 0 : (int)ms;
}

/* Finds the processes that have ended, so that they are not polled again. */
static void note_ended(struct watch *w)
{
	for (size_t i = 0; i < w->count; i++) {
		if (w->ends[i].fd < 0 || !(w->ends[i].revents & POLLIN))
			continue;
		if (w->child && w->ends[i].fd == w->child->pidfd)
			child__ended(w->child);
		else
			close(w->ends[i].fd);
		w->ends[i].fd = -1;
		w->alive--;
	}
}

/*
 * Watches a process that the ended command left behind. When it has ended, this is called again.
 * The programs saw these processes fork and end. Returns false if no such process is left.
 */
static bool watch_left(struct watch *w, struct tracer *tracer)
{
	int fd;

	if (w->left)
		tracer__remove_target(tracer, w->left);
	while ((w->left_count = tracer__targets(tracer, &w->left, 1))) {
		fd = pidfd_open(w->left, 0);
		if (fd >= 0 || errno != ESRCH) {
			w->ends[0].fd = fd;
			w->alive = fd >= 0;
			return true;
		}
		tracer__remove_target(tracer, w->left);
	}
	return false;
}

static bool continues(struct watch *w, struct tracer *tracer)
{
	return !w->count || w->alive || (w->child && watch_left(w, tracer));
}

/* Reports once that the window waits for processes, unless they end at once. */
static void report_left(struct watch *w, const struct target *target)
{
	if (!w->left_count || w->left_reported || w->seconds > 0)
		return;
	w->left_reported = true;
	program__complain("waiting for %zu process%s that %s left behind: Ctrl-C ends the window",
			  w->left_count, w->left_count > 1 ? "es" : "", target->command[0]);
}

/* Reports processes that outlive the window, which the user can observe again. */
static void report_living(const struct watch *w, const struct target *target, struct tracer *tracer)
{
	pid_t pids[TARGET_PIDS_MAX];
	char list[TARGET_PIDS_MAX * 12] = "", whom[32] = "it";
	size_t i, count;

	if (!w->child || (!w->child->ended && ms_to_end(w)))
		return;
	/* The command itself may have ended unseen, or is ended after the window. */
	tracer__remove_target(tracer, w->child->pid);
	count = tracer__targets(tracer, pids, TARGET_PIDS_MAX);
	if (count > TARGET_PIDS_MAX)
		snprintf(whom, sizeof(whom), "%d of them", TARGET_PIDS_MAX);
	else if (count > 1)
		snprintf(whom, sizeof(whom), "them");
	for (i = 0; i < count && i < TARGET_PIDS_MAX; i++)
		text__append(list, sizeof(list), "%s%d", i ? "," : "", (int)pids[i]);
	if (count)
		program__complain(
			"%zu process%s that %s left behind live%s on: --pid %s observes %s", count,
			count > 1 ? "es" : "", target->command[0], count > 1 ? "" : "s", list,
			whom);
}

/*
 * Passes a signal on to the command unless it received the signal itself; the command decides how
 * to end. When it has ended, the processes that it left behind receive the signal.
 */
static void pass_signal_on(const struct watch *w, struct tracer *tracer)
{
	int sig = w->child ? signals__to_pass_on() : 0;
	pid_t pids[TARGET_PIDS_MAX];
	size_t i, count = 0;

	if (sig && !w->child->ended)
		kill(w->child->pid, sig);
	else if (sig && tracer)
		count = tracer__targets(tracer, pids, TARGET_PIDS_MAX);
	for (i = 0; i < count && i < TARGET_PIDS_MAX; i++)
		kill(pids[i], sig);
}

/* Returns the seconds since the first call with this time, which is all zero before. */
static double since_first(struct timespec *first)
{
	if (!first->tv_sec && !first->tv_nsec)
		clock_gettime(CLOCK_MONOTONIC, first);
	return elapsed_since(first);
}

/* After a signal: returns whether the command may still end by itself. */
static bool may_end(struct watch *w, const struct target *target)
{
	double since;

	if (!w->child || w->child->ended)
		return false;
	since = since_first(&w->signaled);
	if (since >= 1 && !w->waits)
		program__complain("waiting for %s, which received the signal, too, to end: "
				  "after %d s it is ended",
				  target->command[0], FAREWELL_S);
	w->waits = since >= 1;
	w->refuses = since >= FAREWELL_S;
	return !w->refuses;
}

/*
 * Returns whether a timeline has its sends, and their completions have had time to follow. A
 * command and --duration have an end of their own.
 */
static bool timeline_is_taken(struct watch *w, const struct tracer *tracer)
{
	if (w->child || w->seconds > 0 || !tracer__timeline_is_full(tracer))
		return false;
	return since_first(&w->full) >= COMPLETES_S;
}

/*
 * Waits until the time is up, all processes have ended, or a signal interrupts. The command
 * receives the same signal, and then its end is awaited for FAREWELL_S.
 */
static void wait_for_end(struct watch *w, const struct measurement *setup, struct run_result *r,
			 struct tracer *tracer)
{
	int ms, most, ready;

	while (continues(w, tracer)) {
		ms = ms_to_end(w);
		most = tracer__read_timeline(tracer, ms);
		ready = ms ? poll(w->ends, w->count, interval_sender__ms_left(setup->live, most))
			   : 0;
		if (ready > 0)
			note_ended(w);
		else
			report_left(w, setup->tracing.target);
		if (ms_to_end(w)) /* at the end, the last line follows at once */
			interval_sender__tick(setup->live, tracer);
		r->observed_s = elapsed_since(&w->begun);
		pass_signal_on(w, tracer);
		w->in_time = !ms;
		if (!ms || timeline_is_taken(w, tracer) ||
		    (setup->tick(setup->tick_context) && !may_end(w, setup->tracing.target)))
			return;
	}
}

/* Waits until the ended command can be reaped: a tracer (ptrace) may still hold it. */
static void wait_for_command(struct watch *w, const struct measurement *setup)
{
	while (!child__ended(w->child)) {
		if (poll(w->ends, w->count, TICK_MS) > 0)
			note_ended(w);
		setup->tick(setup->tick_context);
		pass_signal_on(w, NULL);
	}
}

/* Ends a command that runs when the time is up, or long after a signal. */
static void end_command(struct watch *w, const struct measurement *setup, struct run_result *r)
{
	r->timed_out = (w->in_time || w->refuses) && !child__ended(w->child);
	if (r->timed_out) {
		child__end(w->child);
	} else {
		wait_for_command(w, setup);
		r->command_status = child__exit_status(w->child);
	}
}

static void close_observation(struct tracer *tracer)
{
	tracer__gate_settled(tracer, GATE_CLOSING);
	for (int ms = 0; ms < CLOSING_MS && tracer__in_sends(tracer); ms++)
		poll(NULL, 0, 1);
	/* Each change takes an RCU grace period: some clock ticks. */
	if (tracer__may_count(tracer)) {
		tracer__gate_settled(tracer, GATE_CORRECTING);
		tracer__gate_settled(tracer, GATE_CLOSED);
	} else {
		tracer__gate(tracer, GATE_CLOSED);
	}
}

static int observe_window(struct run_result *r, const struct measurement *setup, struct watch *w,
			  struct tracer *tracer)
{
	int err;

	run__open_window(r, setup, tracer);
	clock_gettime(CLOCK_MONOTONIC, &w->begun);
	w->seconds = setup->load.duration_s;
	err = w->child ? child__run(w->child) : 0;
	if (err) {
		r->window = false;
		return failure__set(&r->failure, err == -ENOENT ? 127 : 126, err, "%.200s: %m",
				    setup->tracing.target->command[0]);
	}
	wait_for_end(w, setup, r, tracer);
	close_observation(tracer);
	report_living(w, setup->tracing.target, tracer);
	r->observed_s = elapsed_since(&w->begun);
	r->in_flight = tracer__in_sends(tracer);
	return run__close_window(r, setup, tracer);
}

static void free_watch(struct watch *w)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->ends[i].fd >= 0 && (!w->child || w->left))
			close(w->ends[i].fd);
}

/* Plans and attaches. later: the target need not exist yet. */
static int prepare_observation(struct run_result *r, const struct measurement *setup, bool later,
			       struct watch *w, struct tracer **tracer)
{
	int err;

	*tracer = NULL;
	memset(r, 0, sizeof(*r));
	clock_gettime(CLOCK_REALTIME, &r->started);
	err = check_target(setup->tracing.target, later, r);
	if (!err)
		err = run__plan(r, setup, PLAN_OBSERVATION);
	if (!err && setup->child)
		watch_command(w, setup->child);
	else if (!err)
		err = watch_pids(w, setup->tracing.target, r);
	return err ? err : attach(r, setup, w, tracer);
}

int run__open_observation(struct run_result *r, const struct measurement *setup,
			  struct tracer **tracer)
{
	struct watch w = {};
	int err = prepare_observation(r, setup, true, &w, tracer);

	if (!err)
		run__open_window(r, setup, *tracer);
	free_watch(&w);
	return err;
}

int run__observe(struct run_result *r, const struct measurement *setup)
{
	struct watch w = {};
	struct tracer *tracer;
	int err = prepare_observation(r, setup, false, &w, &tracer);

	if (!err)
		err = observe_window(r, setup, &w, tracer);
	tracer__free(tracer);
	if (r->window && w.child)
		end_command(&w, setup, r);
	/* A window without --duration has no end to miss. */
	r->interrupted = w.seconds > 0 && !w.in_time && setup->tick(setup->tick_context);
	free_watch(&w);
	return err;
}
