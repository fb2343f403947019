# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs pytest in a guest, each suite in a fork of a process that has imported pytest: in an emulator, the imports
alone take ten seconds or more.

Run as `suites.py SECONDS FD`. Standard input has, for each suite, the arguments of pytest, then the environment, each
ended by a NUL, and one more NUL after either. For each suite, a line with its exit status is written to file descriptor
FD. A suite that hangs for SECONDS is interrupted; its traceback shows where it was.
"""

import contextlib
import faulthandler
import os
import signal
import sys

import jsonschema  # noqa: F401  pylint: disable=unused-import
import pytest

GRACE_S = 30


def requests(stream):
    """Yields (arguments, environment) of each suite."""
    parts, lists, rest = [], [], b""
    while chunk := stream.read1(1 << 16):
        *whole, rest = (rest + chunk).split(b"\0")
        for part in whole:
            if part:
                parts.append(os.fsdecode(part))
                continue
            lists.append(parts)
            parts = []
            if len(lists) == 2:
                yield lists[0], dict(variable.split("=", 1) for variable in lists[1])
                lists = []


def suite(arguments, environment, seconds):
    """Runs a suite to its end, in the fork."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(environment)
    for name in "SENDPATH_ADDRESS", "SENDPATH_NETNS":  # tests read the receiver's address and namespace from these
        os.environ.pop(name, None)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(seconds)
    faulthandler.dump_traceback_later(seconds + GRACE_S, exit=True)
    return int(pytest.main(["-q", "-p", "no:cacheprovider", *arguments]))


def run(arguments, environment, seconds):
    """Runs a suite in a fork. Returns the exit status as a shell would."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        status = 1
        try:
            status = suite(arguments, environment, seconds)
            sys.stdout.flush()
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if status >= 0 else 128 - status


def main():
    seconds, answers = map(int, sys.argv[1:])
    os.set_inheritable(answers, False)
    with open(os.devnull, "w", encoding="ascii") as nowhere, contextlib.redirect_stdout(nowhere):
        pytest.main(["--version"])  # imports what every suite needs
    for arguments, environment in requests(sys.stdin.buffer):
        status = run(arguments, environment, seconds)
        os.write(answers, b"%d\n" % status)


if __name__ == "__main__":
    main()
