# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the lines of --interval: the counts since the line before.

A raw line of schema sendpath.interval/1 has the kernel programs' counts so far, the seconds since the
window opened (at), and whether it is the last line of the window.
"""

from collections import Counter

from analysis.words import percent

from .hist import Hist
from .run import Call, quotient, sum_of

FORMAT = "{:>6} {:>11} {:>10} {:>9} {:>10} {:>6} {:>11} {:>7}"  # fits 80 columns
HEADER = FORMAT.format("time s", "sends", "Mbit/s", "us p50", "p99", "failed", "zero-copy", "copied")


def counts_so_far(raw):
    """Returns the counts so far over all syscalls: sums by name, timed sends by bucket, and the longest one in ns."""
    totals = raw["maps"]["totals"]
    calls = [Call(int(slot), part) for slot, part in raw["maps"]["calls"].items()]
    walls, buckets = [Hist(call.raw["wall"]) for call in calls], Counter()
    for wall in walls:
        buckets.update(dict(wall.buckets))
    sums = Counter(
        sends=sum(call.sends for call in calls),
        # The program sees no failure of a send that the kernel restarts after a signal.
        failed=sum(call.raw["failed"] - call.raw["interrupted"] for call in calls),
        bytes=sum(call.bytes for call in calls),
        requests=sum(call.sends for call in calls if call.zerocopy),
        completions=totals["completions"] + totals["uring_completions"],
        copied=totals["uring_copied"] + sum_of("copied" if raw["sees_unflagged"] else "flagged", totals),
        # completions without a report of io_uring
        unknown=0 if raw["knows_uring"] else totals["uring_unknown"])
    return sums, buckets, max((wall.max for wall in walls if wall.count), default=0)


class Lines:
    """The lines of one window."""

    def __init__(self):
        self.before, self.buckets, self.at = None, Counter(), 0.0

    def line(self, raw):
        """Returns the text of a line; None for a last fraction of an interval without sends."""
        sums, buckets, longest = counts_so_far(raw)
        # Counter subtraction drops values below 0: a flag may be corrected in a later interval.
        new, seconds = sums - (self.before or Counter()), raw["at"] - self.at
        if raw["last"] and self.before and not new["sends"] and seconds < raw["seconds"] / 2:
            return None
        # The longest of all sends bounds the new ones.
        wall = Hist({"sum": 0, "min": 0, "max": longest, "buckets": buckets - self.buckets})
        self.before, self.buckets, self.at = sums, buckets, raw["at"]
        times = [f"{wall.percentile(point) / 1e3:,.2f}" if wall.count else "-" for point in (500, 990)]
        return FORMAT.format(
            f"{self.at:,.1f}", f"{new['sends']:,}", f"{quotient(new['bytes'] * 8 / 1e6, seconds) or 0:,.2f}", *times,
            f"{new['failed']:,}", f"{new['requests']:,}",
            "-" if new["unknown"] else percent(min(new["copied"], new["completions"]), new["completions"]))
