# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Failures, as one line for people and an exit status."""

import os
import sys
from collections.abc import Callable

FAILED = 1
USAGE = 2
SYSTEM = 3
FOUND = 4  # the exit status if there are findings that --fail-on names


def why(error: Exception) -> str:
    """Returns the reason in one line. For root, it includes why even root may not write to another user's file."""
    if isinstance(error, PermissionError):
        return "Permission denied" + (
            "" if os.geteuid() else " (root's capabilities are given up: take a folder of root's)")
    return getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]


def printed(main: Callable[[], int], say: Callable[[str], object]) -> int:
    """Calls main and flushes standard output. Returns main's status. If the output could not be written, calls say with
    the reason, unless the reader closed the pipe, and returns FAILED."""
    try:
        try:
            status = main()
        except SystemExit as end:  # by --help or wrong usage
            status = end.code
        sys.stdout.flush()
        return status
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            say(f"{error.filename or 'standard output'}: {why(error)}")
        # Without this, the interpreter would report the failure again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


class Fault(Exception):
    """Ends the program. The message names the input and, if there is one, the remedy."""

    def __init__(self, message, status=FAILED):
        super().__init__(message)
        self.status = status
