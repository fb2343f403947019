/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "loadgen/system/offspring.h"

/* Signals of the terminal's group are the parent's to act upon. */
static void settle_signals(void)
{
	sigset_t none;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What the parent holds open must not stay open here, or its end would not show. */
static void close_all_but(int a, int b)
{
	unsigned int low = (unsigned int)(a < b ? a : b), high = (unsigned int)(a < b ? b : a);

	if (low > 3)
		close_range(3, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0u, 0);
}

void offspring__settle(pid_t parent, int a, int b)
{
	settle_signals();
	/* After the parent died, the signal would never come: hence the second look. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	close_all_but(a, b);
}
