# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What goes wrong, as one line for people and an exit status."""

import os

FAILED = 1
USAGE = 2
SYSTEM = 3


def why(error: Exception) -> str:
    """The reason in one line, and what a superuser does not expect: that it may not write."""
    if isinstance(error, PermissionError):
        return "Permission denied" + (
            "" if os.geteuid() else " (root's capabilities are given up: take a folder of root's)")
    return getattr(error, "strerror", None) or (str(error).splitlines() or
                                                [type(error).__name__])[0]


class Fault(Exception):
    """Ends the program: the message names the input and, where there is one, the remedy."""

    def __init__(self, message, status=FAILED):
        super().__init__(message)
        self.status = status
