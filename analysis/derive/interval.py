# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lines of --interval: what was counted since the line before it.

A raw line of schema sendpath.interval/1 has the kernel programs' counts as they stand, the seconds
since the window opened (at), and whether it is the window's first or last.
"""

from .hist import Hist
from .run import Call, ratio, sum_of

FORMAT = "{:>6} {:>11} {:>10} {:>9} {:>10} {:>6} {:>11} {:>7}"  # fits 80 columns
HEADER = FORMAT.format("time s", "sends", "Mbit/s", "us p50", "p99", "failed", "zero-copy", "copied")


def percent(part, whole):
    """As "37.5 %"; what is neither nothing nor all is not rounded to either. "-" of nothing."""
    if not whole > 0:
        return "-"
    share = 100 * part / whole
    share = min(share, 99.9) if part < whole else share
    return f"{max(share, 0.1) if part > 0 else share:.3g} %"


class Sample:
    """What a window has counted so far, by all ways of sending together."""

    def __init__(self, raw):
        totals = raw["maps"]["totals"]
        calls = [Call(int(slot), part, {}) for slot, part in raw["maps"]["calls"].items()]
        walls = [Hist(call.raw["wall"]) for call in calls]
        self.at = raw["at"]
        self.sends = sum(call.sends for call in calls)
        # As the program saw it: the kernel restarts what a signal interrupted.
        self.failed = sum(call.raw["failed"] - call.raw["interrupted"] for call in calls)
        self.bytes = sum(call.bytes for call in calls)
        self.requests = sum(call.sends for call in calls if call.zerocopy)
        self.completions = totals["completions"] + totals["uring_completions"]
        self.copied = totals["uring_copied"] + sum_of(
            "copied" if raw["sees_unflagged"] else "flagged", totals)
        # Of the completions: io_uring was not asked to report copies.
        self.unknown = 0 if raw["knows_uring"] else totals["uring_unknown"]
        self.max = max((wall.max for wall in walls if wall.count), default=0)
        self.buckets = {}
        for bucket, count in (pair for wall in walls for pair in wall.buckets):
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count

    def since(self, before):
        """The same of what came after another one."""
        between = object.__new__(Sample)
        for name, now in vars(self).items():
            if name not in ("max", "buckets"):
                setattr(between, name, now - getattr(before, name))
        between.max = self.max  # none of the difference is above it
        between.buckets = {bucket: count - before.buckets.get(bucket, 0)
                           for bucket, count in self.buckets.items()
                           if count > before.buckets.get(bucket, 0)}
        return between

    def line(self, at):
        wall = Hist({"sum": 0, "min": 0, "max": self.max, "buckets": self.buckets})
        times = [f"{wall.percentile(point) / 1e3:,.2f}" if wall.count else "-" for point in (500, 990)]
        # The kernel may take a flag back in a later interval.
        copied = min(max(self.copied, 0), self.completions)
        return FORMAT.format(
            f"{at:,.1f}", f"{self.sends:,}", f"{ratio(self.bytes * 8 / 1e6, self.at) or 0:,.2f}", *times,
            f"{self.failed:,}", f"{self.requests:,}",
            "-" if self.unknown else percent(copied, self.completions))


class Lines:
    """Of one window after the other."""

    def __init__(self):
        self.before = None

    def begin(self):
        """A window opens."""
        self.before = None

    def line(self, raw):
        """Its text; None for a last fraction of an interval in which nothing was sent."""
        now = Sample(raw)
        between = now.since(self.before) if self.before else now
        if raw["last"] and self.before and not between.sends and between.at < raw["seconds"] / 2:
            return None
        self.before = now
        return between.line(now.at)
