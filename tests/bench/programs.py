# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Starts and times child processes, and ends them by pid in any case.

Interrupts are handled only while waiting for a child, so that none is lost between its start and the moment when
its pid is known.
"""

import collections
import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time

TIMEOUT_S = 60
END_S = 5

Finished = collections.namedtuple("Finished", "status output errors wall_s cpu_s peak_rss_kib")


class Failed(Exception):
    """A program failed. The message names it, and what it failed to do or its status and output."""


class _Interrupts:
    def __init__(self):
        self.waiting = False
        self.pending = False

    def handle(self, *_):
        if self.waiting:
            raise KeyboardInterrupt
        self.pending = True

    @contextlib.contextmanager
    def handled(self):
        self.waiting = True
        try:
            if self.pending:
                raise KeyboardInterrupt
            yield
        finally:
            self.waiting = False


_interrupts = _Interrupts()


def handle_interrupts():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupts.handle)


def environment():
    """Returns the environment without sudo's variables: the analyzer would run its load as sudo's caller."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SUDO_")}


class Program:
    """A running child process. The end of its with block ends it."""

    def __init__(self, command):
        self.command = [str(word) for word in command]
        self.output = tempfile.TemporaryFile()
        self.errors = tempfile.TemporaryFile()
        self.started = time.monotonic()
        # Starts the child in a session of its own, so that Ctrl-C in the terminal reaches only this process.
        try:
            self.child = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                          stdout=self.output, stderr=self.errors,
                                          env=environment(), start_new_session=True)
        except OSError as problem:
            raise Failed(f"{self.command[0]} cannot be started: {problem.strerror}") from problem
        self.pidfd = os.pidfd_open(self.child.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        for resource in (self.output, self.errors):
            resource.close()
        os.close(self.pidfd)

    def ended(self, seconds):
        return bool(select.select([self.pidfd], [], [], seconds)[0])

    def wait(self, seconds=TIMEOUT_S):
        with _interrupts.handled():
            if not self.ended(seconds):
                raise Failed(f"{self.name()} did not end in {seconds} s")
        wall_s = time.monotonic() - self.started
        usage = self._reap()
        return Finished(self.child.returncode, self.text(self.output), self.text(self.errors),
                        wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)

    def wait_until(self, condition, seconds=END_S):
        """Polls a condition that has no event to wait for, until it holds or the program ends."""
        deadline = time.monotonic() + seconds
        with _interrupts.handled():
            while not condition():
                if self.ended(0.005) or time.monotonic() > deadline:
                    raise Failed(f"{self.name()} was not ready: {self.text(self.output)}"
                                 f"{self.text(self.errors)}")

    def end(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.child.returncode is not None:
                return
            signal.pidfd_send_signal(self.pidfd, number)
            if self.ended(END_S):
                self._reap()

    def name(self):
        return " ".join(self.command)

    def text(self, stream):
        stream.seek(0)
        return stream.read().decode(errors="replace")

    def _reap(self):
        _, status, usage = os.wait4(self.child.pid, 0)
        self.child.returncode = os.waitstatus_to_exitcode(status)
        return usage


def run(command, seconds=TIMEOUT_S):
    """Runs a program to its end, whatever its status."""
    with Program(command) as program:
        return program.wait(seconds)


def must(command, seconds=TIMEOUT_S):
    """Runs a program, and raises Failed unless its status is 0."""
    done = run(command, seconds)
    if done.status:
        lines = (done.errors or done.output).strip().splitlines()
        raise Failed(f"{' '.join(map(str, command))}: status {done.status}: "
                     f"{lines[-1] if lines else 'it printed nothing'}")
    return done
