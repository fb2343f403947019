// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/system/signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

static volatile sig_atomic_t caught, pass_on, passed_on, end_too;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (caught) { /* the second signal ends all at once: the children die with this process */
		if (end_too)
			kill(end_too, SIGKILL);
		signal(sig, SIG_DFL);
		raise(sig);
	}
	/*
	 * Signals of a process, not of the terminal, are passed on. When a terminal closes, the
	 * kernel sends SIGHUP only to the session's leader.
	 */
	if (info->si_code <= 0 || (sig == SIGHUP && getsid(0) == getpid()))
		pass_on = sig;
	caught = sig;
}

void signals__catch(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	struct sigaction before;

	for (size_t i = 0; i < SIGNALS; i++)
		if (sigaction(signals[i], &action, &before) == 0 && signals[i] == SIGHUP &&
		    before.sa_handler == SIG_IGN)
			signal(SIGHUP, SIG_IGN); /* by nohup */
}

void signals__release(void)
{
	struct sigaction action;

	for (size_t i = 0; i < SIGNALS; i++)
		if (!sigaction(signals[i], NULL, &action) && action.sa_sigaction == on_signal)
			signal(signals[i], SIG_DFL);
}

int signals__caught(void)
{
	return caught;
}

int signals__to_pass_on(void)
{
	/* Atomic, because a signal may come in between. */
	return __atomic_exchange_n(&pass_on, 0, __ATOMIC_RELAXED);
}

void signals__pass_on(int sig)
{
	if (!passed_on && !caught)
		pass_on = sig;
	passed_on = true;
}

void signals__end_too(pid_t pid)
{
	end_too = pid;
}
