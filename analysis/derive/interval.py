# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the lines of --interval and the tables of top, which have the counts since the previous line or table.

A raw line of schema sendpath.interval/1 has the seconds since the window opened (at), and whether it is the last line
of the window. A raw line for --interval has the kernel programs' counts so far (maps). One for top has the counts of
each group of sends since the previous line (groups).
"""

from collections import Counter
from typing import NamedTuple

from analysis.words import percent

from .groups import SUMS, kernel_text
from .hist import Hist
from .run import Call, quotient, sum_of

FORMAT = "{:>6} {:>11} {:>10} {:>9} {:>10} {:>6} {:>11} {:>7}"  # fits 80 columns
HEADER = FORMAT.format("time s", "sends", "Mbit/s", "us p50", "p99", "failed", "zero-copy", "copied")


def counts_so_far(raw):
    """Returns the counts so far over all syscalls: sums by name, timed sends by bucket, and the longest send in ns."""
    totals = raw["maps"]["totals"]
    calls = [Call(int(slot), part) for slot, part in raw["maps"]["calls"].items()]
    walls, buckets = [Hist(call.raw["wall"]) for call in calls], Counter()
    for wall in walls:
        buckets.update(dict(wall.buckets))
    sums = Counter(
        sends=sum(call.sends for call in calls),
        # The kernel may restart an interrupted send after a signal; then the observed program sees no failure.
        failed=sum(call.raw["failed"] - call.raw["interrupted"] for call in calls),
        bytes=sum(call.bytes for call in calls),
        requests=sum(call.sends for call in calls if call.zerocopy),
        completions=totals["completions"] + totals["uring_completions"],
        copied=totals["uring_copied"] + sum_of("copied" if raw["sees_unflagged"] else "flagged", totals),
        # completions for which io_uring did not report whether the data were copied
        unknown=0 if raw["knows_uring"] else totals["uring_unknown"])
    return sums, buckets, max((wall.max for wall in walls if wall.count), default=0)


class Lines:
    """The lines of one window."""

    def __init__(self):
        self.before, self.buckets, self.at = None, Counter(), 0.0

    def line(self, raw):
        """Returns the text of a line; None for a last fraction of an interval without sends."""
        sums, buckets, longest = counts_so_far(raw)
        # Counter subtraction drops negative values, which occur if a flag is corrected in a later interval.
        new, seconds = sums - (self.before or Counter()), raw["at"] - self.at
        if raw["last"] and self.before and not new["sends"] and seconds < raw["seconds"] / 2:
            return None
        # The longest send of the window is an upper bound for the sends of this interval.
        wall = Hist({"sum": 0, "min": 0, "max": longest, "buckets": buckets - self.buckets})
        self.before, self.buckets, self.at = sums, buckets, raw["at"]
        times = [f"{wall.percentile(point) / 1e3:,.2f}" if wall.count else "-" for point in (500, 990)]
        return FORMAT.format(
            f"{self.at:,.1f}", f"{new['sends']:,}", f"{quotient(new['bytes'] * 8 / 1e6, seconds) or 0:,.2f}", *times,
            f"{new['failed']:,}", f"{new['requests']:,}",
            "-" if new["unknown"] else percent(min(new["copied"], new["completions"]), new["completions"]))


class Row:
    """The sends of a process or control group in an interval."""

    def __init__(self, comm="", pid=None, cgroup=None):
        self.comm, self.pid, self.cgroup = comm, pid, cgroup
        self.sums = Counter()
        self.bytes_by_device = Counter()  # "": sends without a route
        self.blind = self.knows_uring = False

    def add(self, group, raw):
        """Adds the counts of a group. raw: the line that has the group."""
        # A correction is negative; as an unsigned number of the kernel, it is near 2^64.
        self.sums.update({name: count - (count >> 63 << 64) for name, count in group.items() if name in SUMS})
        self.blind = not raw["sees_unflagged"]
        self.knows_uring = raw["knows_uring"]

    def plus(self, *rows):
        """Adds the sums of other rows. Returns self."""
        for row in rows:
            self.sums.update(row.sums)
            self.bytes_by_device.update(row.bytes_by_device)
            self.blind, self.knows_uring = row.blind, row.knows_uring
        return self

    @property
    def devices(self):
        """Returns the names of the devices, the one with most bytes first."""
        return [name for name, _ in self.bytes_by_device.most_common()]

    @property
    def copied(self):
        """Returns the copied share of the completed zero-copy sends; None: no send completed, or io_uring does not
        report copies.
        """
        completions = self.sums["completions"]
        if completions <= 0 or (self.sums["unknown"] and not self.knows_uring):
            return None
        copied = self.sums["copied"] + (0 if self.blind else self.sums["unflagged"])
        return min(max(copied, 0), completions) / completions


class Table(NamedTuple):
    at: float       # when the table's interval ended, in seconds since the window opened
    seconds: float  # the actual length of the interval
    interval: float  # the length that --interval requests
    rows: list
    rest: Row       # the sum of the sends for which the kernel or the line had no room


class Groups:
    """Adds up the lines of top until a table is taken."""

    def __init__(self, processes, cgroups):
        self.processes, self.cgroups = processes, cgroups  # whether a row is of a process, and of a control group
        self.at = self.taken = self.interval = 0.0
        self._clear()

    def _clear(self):
        self.rows, self.rest = {}, Row()

    def _row(self, key, group, path):
        name = (key.get("tgid") if self.processes else None, key.get("cgroup") if self.cgroups else None)
        if name not in self.rows:
            self.rows[name] = Row(kernel_text(group.get("comm", "")) or "", group.get("pid"), path)
        return self.rows[name]

    def add(self, raw):
        groups = raw["groups"]
        for key, group, path in groups["groups"]:
            row = self._row(key, group, kernel_text(path))
            row.add(group, raw)
            row.bytes_by_device[kernel_text(group.get("device", "")) or "" if key.get("ifindex") else ""] += group.get("bytes", 0)
        self.rest.add(groups["rest"][1], raw)
        self.at, self.interval = raw["at"], raw["seconds"]

    def take(self):
        """Returns a Table of the lines that were added since the previous call."""
        table = Table(self.at, self.at - self.taken, self.interval, list(self.rows.values()), self.rest)
        self.taken = self.at
        self._clear()
        return table
