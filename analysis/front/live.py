# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the lines of --interval, with a header above every LINES_A_HEADER lines."""

from analysis.derive.interval import HEADER, Lines

LINES_A_HEADER = 20


class Live:
    def __init__(self, stream):
        self.stream = stream
        self.lines = None  # the Lines of this run
        self.count = 0
        self.label = ""  # the label of the run; "" after the run's first line
        self.waiting = ""  # text that is not yet written

    def begin(self, label):
        """Begins a run. label: printed above the run's lines; "" if there is only one run."""
        self.lines = Lines()
        self.label = label

    def add(self, raw):
        """Prints the line of an interval. If the reader is busy, skips the line: the next one includes its counts,
        since raw has the counts of the window so far. Keeps the last line for end(), which waits for the reader.
        """
        reads = self.stream.takes_text()
        if not raw["last"] and not reads:
            return
        line = self.lines.line(raw)
        if line is None:
            return
        self.waiting += "" if self.count % LINES_A_HEADER else f"{HEADER}\n"
        self.waiting += f"{self.label}:\n" if self.label else ""
        self.waiting += f"{line}\n"
        self.count += 1
        self.label = ""
        if reads:
            self._write()

    def _write(self):
        self.stream.write(self.waiting)
        self.waiting = ""

    def end(self):
        """Writes the text that is not yet written, and an empty line below the lines."""
        if self.count:
            self.waiting += "\n"
            self._write()
