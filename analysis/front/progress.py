# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the progress of runs on standard error: a bar on a terminal; otherwise, in a sweep, a line for each run."""

import os
import time

from analysis.front.output import say, terminal_size
from analysis.words import counted

_BAR = 10


def duration_text(seconds):
    """Returns seconds as text: "3 h 5 min", "4 min 20 s", "12 s"."""
    s = max(int(seconds + 0.5), 0)
    if s >= 3600:
        return f"{s // 3600} h {s % 3600 // 60} min"
    return f"{s // 60} min {s % 60} s" if s >= 60 else f"{s} s"


class Progress:
    """The progress of runs. runs: their number; 0: unknown. before: how many were done earlier. guess_s: the assumed
    time of a run until one was timed. bar: whether a terminal shows a bar. lines: whether runs have lines otherwise.
    """

    def __init__(self, runs, configurations, before, guess_s, bar, lines):
        self.runs, self.configurations, self.done, self.guess_s = runs, configurations, before, guess_s
        self.terminal = bar and os.isatty(2)
        self.lines = lines and not self.terminal
        self.timed, self.timed_s = 0, 0.0
        self.label, self.begun, self.shown = "", 0.0, False

    def _left(self, running):
        each = self.timed_s / self.timed if self.timed else self.guess_s
        return duration_text((self.runs - self.done) * each - running)

    def repeats(self, runs, most_s):
        """Reports that this number of runs is repeated. most_s: the time that may be spent on them."""
        self.clear()
        self.runs = max(self.runs, self.done + runs)
        if self.lines or self.terminal:
            say(f"repeating {counted(runs, 'run')} that a busy machine disturbed, for at most "
                f"{duration_text(most_s)}\n")

    def begin(self, label):
        self.label = label
        self.begun = time.monotonic()
        self.tick()

    def tick(self):
        if not self.terminal:
            return
        running = time.monotonic() - self.begun
        self.shown = True
        text = f"{self.label}: {running:.1f} s"
        if self.runs:
            full = self.done * _BAR // self.runs
            text = (f"[{'#' * full}{'.' * (_BAR - full)}] {self.done}/{self.runs} of "
                    f"{counted(self.configurations, 'configuration')}, {self._left(running)} left: {text}")
        # A line that wraps could not be erased, so it is cut at the width of the terminal.
        say(f"\r{text[:terminal_size(2).columns - 1]}\033[K")

    def clear(self):
        """Erases the bar."""
        if self.shown:
            say("\r\033[K")
        self.shown = False

    def end(self, timed, word):
        """Ends a run. timed: whether its duration counts in the estimate for later runs. word: the run's outcome."""
        seconds = time.monotonic() - self.begun
        self.clear()
        self.done += 1
        if timed:
            self.timed += 1
            self.timed_s += seconds
        if self.lines:
            say(f"[{self.done}/{self.runs}] {self.label}: {word}, {seconds:.1f} s; {self._left(0)} left\n")
