# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lines of --interval as they are printed, a header over each screen of them."""

from analysis.derive.interval import HEADER, Lines

LINES_A_HEADER = 20


class Live:
    def __init__(self, stream):
        self.stream = stream
        self.lines = None  # of this run
        self.count = 0
        self.label = ""  # of the run, until a line of it is made
        self.waiting = ""  # text to be written

    def begin(self, label):
        """A run begins; label stands before its lines ("": there is one run alone)."""
        self.lines = Lines()
        self.label = label

    def add(self, raw):
        """raw has the counts of its window so far: those of a line that is left out are in the next. The
        last waits, where nobody reads, until somebody does.
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
        """What comes after the lines is set off from them."""
        if self.count:
            self.waiting += "\n"
            self._write()
