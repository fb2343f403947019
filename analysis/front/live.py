# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the lines of --interval, with a header above every LINES_A_HEADER of them."""

from analysis.derive.interval import HEADER, Lines

LINES_A_HEADER = 20


class Live:
    def __init__(self, stream):
        self.stream = stream
        self.lines = None  # of this run
        self.count = 0
        self.label = ""  # of the run; "" after its first line
        self.waiting = ""  # text that is not yet written

    def begin(self, label):
        """Begins a run. label: precedes its lines; "" if there is only one run."""
        self.lines = Lines()
        self.label = label

    def add(self, raw):
        """Prints the line of an interval, or skips it if the reader is busy: raw has the counts of the window so far,
        so the next line includes them. The last line is kept for end(), which waits for the reader.
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
        """Writes the text that waits, and an empty line below the lines."""
        if self.count:
            self.waiting += "\n"
            self._write()
