# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Signals that end advise: what it runs ends with it, and what is known is said all the same."""

import contextlib
import os
import signal
import subprocess

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_caught = []


def _note(number, _frame):
    _caught.append(number)
    raise KeyboardInterrupt


def catch() -> None:
    """From now on they raise KeyboardInterrupt, but for those that nohup or a shell had us ignore."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _note)


def die() -> None:
    """By the signal that came, so that a shell sees it."""
    number = _caught[0] if _caught else signal.SIGINT
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def output(job: subprocess.Popen, spared: float) -> tuple[str, str | None, bool]:
    """What it writes until it ends, and whether a signal ended it. The terminal's signals it has heard,
    too: for so many seconds it may end by itself. A second signal ends it at once."""
    try:
        with contextlib.suppress(KeyboardInterrupt):
            return *job.communicate(), False
        if _caught[-1] != signal.SIGTERM:  # no terminal sends it
            with contextlib.suppress(subprocess.TimeoutExpired):
                return *job.communicate(timeout=spared), True
        job.terminate()
        return *job.communicate(), True
    except KeyboardInterrupt:
        job.kill()
        raise
