# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Finds changes from one value of an axis to the next, within blocks: falls, rises, dips, and the counters that
changed at the same place. judge.py decides; a series is one family. A correlation shows no cause.
"""

import dataclasses

import numpy as np
import polars as pl

from analysis.compare import judge
from analysis.compare.judge import Judgment


@dataclasses.dataclass(frozen=True)
class Step:
    """The ratio of the value at `after` to the value at `before`. direction: +1 up, -1 down, 0 neither is shown."""
    before: float
    after: float
    ratio: Judgment

    @property
    def direction(self) -> int:
        return judge.SIGNS[self.ratio.verdict]


@dataclasses.dataclass(frozen=True)
class Dip:
    """A place `bottom` with a lower value than at `before` and `after`. depth: the ratio of bottom to before."""
    before: float
    bottom: float
    after: float
    depth: Judgment


@dataclasses.dataclass(frozen=True)
class Moved:
    """A counter that changed between two values of the axis: by `ratio` per message, and in the same direction per
    second. correlation: Spearman's correlation of the counter's steps per message with the metric's steps. steps: the
    number of these steps."""
    name: str
    ratio: Judgment
    correlation: float | None
    steps: int


def step_sample(logs, i: int, j: int) -> judge.Sample:
    """Returns the Sample of the value at j / the value at i in each block that has both. logs: blocks x axis values."""
    logs = np.asarray(logs, dtype=float)
    found = logs[:, j] - logs[:, i]
    return judge.paired(found[~np.isnan(found)])


def along(axis, logs) -> list[Step]:
    """Returns the k - 1 Steps along an axis of k rising values. logs: blocks x k."""
    judged = judge.judge([step_sample(logs, j, j + 1) for j in range(len(axis) - 1)])
    return [Step(float(before), float(after), one) for before, after, one in zip(axis, axis[1:], judged)]


def dips(axis, logs, steps: list[Step]) -> list[Dip]:
    """Returns a Dip for each fall that is followed by a rise before the axis ends."""
    found, top = [], None
    for j, step in enumerate(steps):
        if step.direction < 0 and top is None:
            top = j
        elif step.direction > 0 and top is not None:
            depths = [judge.judge_one(step_sample(logs, top, k)) for k in range(top + 1, j + 1)]
            depth = min(depths, key=lambda one: one.value)
            found.append(Dip(float(axis[top]), float(axis[top + 1 + depths.index(depth)]),
                             float(axis[j + 1]), depth))
            top = None
    return found


def resolved(steps: list[Step]) -> tuple[float, float] | None:
    """Returns two shares: the smallest dip that the step with the narrowest interval would have shown, and the same for
    the widest; None if a step has no interval."""
    found = [1 - 1 / (1 + step.ratio.resolved) for step in steps if step.ratio.resolved is not None]
    return (min(found), max(found)) if found and len(found) == len(steps) else None


def moved_with(logs, counters: dict, i: int, j: int) -> list[Moved]:
    """Returns the counters that changed between columns i and j, the most correlated first.

    logs: blocks x values of the axis. counters: two such arrays for each counter, per message and per second. If
    throughput rises, a counter with a constant rate falls per message, and a counter with a constant number per message
    rises per second. A counter is therefore returned only if both change in the same direction.
    """
    judged = judge.judge([step_sample(rate, i, j) for rates in counters.values() for rate in rates])
    found = [Moved(name, both[0], *_correlation(logs, counters[name][0]))
             for name, both in zip(counters, zip(judged[::2], judged[1::2]))
             if both[0].verdict == both[1].verdict and judge.SIGNS[both[0].verdict]]
    return sorted(found, key=lambda m: (-abs(m.correlation or 0), m.name))


def _correlation(logs, counter):
    """Returns Spearman's correlation of the steps of medians, and the number of steps. None: too few, or all equal."""
    steps = [np.diff(np.nanmedian(np.asarray(values, dtype=float), axis=0)) for values in (logs, counter)]
    a, b = (one[~np.isnan(steps[0]) & ~np.isnan(steps[1])] for one in steps)
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None, len(a)
    # rank() gives equal values the mean of their ranks.
    return float(np.corrcoef(*(pl.Series(values).rank() for values in (a, b)))[0, 1]), len(a)
