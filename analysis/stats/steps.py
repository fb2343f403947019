# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What changes from one value of an axis to the next, in the same blocks: falls, rises, dips, and the
counters that moved with them. judge.py decides; a series is one family. What moved together is
correlation, which shows no cause.
"""

import dataclasses

import numpy as np
import polars as pl

from analysis.compare import judge
from analysis.compare.judge import Judgment


@dataclasses.dataclass(frozen=True)
class Step:
    """From x to the next: value there / value here. direction: +1 up, -1 down, 0 neither is shown."""
    before: float
    after: float
    ratio: Judgment

    @property
    def direction(self) -> int:
        return judge.SIGNS[self.ratio.verdict]


@dataclasses.dataclass(frozen=True)
class Dip:
    """Lower between two values of the axis than at both. depth: at bottom / at before."""
    before: float
    bottom: float
    after: float
    depth: Judgment


@dataclasses.dataclass(frozen=True)
class Moved:
    """A counter that changed between the same two values, by ratio a message, and likewise a second.
    correlation: of its steps a message with those of what is explained, by ranks, over so many steps."""
    name: str
    ratio: Judgment
    correlation: float | None
    steps: int


def between(logs, i: int, j: int) -> judge.Sample:
    """logs: a row a block, a column a value of the axis. value at j / at i of each block that has both."""
    logs = np.asarray(logs, dtype=float)
    found = logs[:, j] - logs[:, i]
    return judge.paired(found[~np.isnan(found)])


def along(axis, logs) -> list[Step]:
    """axis: k rising values; logs as above."""
    judged = judge.judge([between(logs, j, j + 1) for j in range(len(axis) - 1)])
    return [Step(float(before), float(after), one) for before, after, one in zip(axis, axis[1:], judged)]


def dips(axis, logs, steps: list[Step]) -> list[Dip]:
    """Falls that a rise follows before the axis ends. Slow bends are none."""
    found, top = [], None
    for j, step in enumerate(steps):
        if step.direction < 0 and top is None:
            top = j
        elif step.direction > 0 and top is not None:
            depths = [judge.judge_one(between(logs, top, k)) for k in range(top + 1, j + 1)]
            depth = min(depths, key=lambda one: one.value)
            found.append(Dip(float(axis[top]), float(axis[top + 1 + depths.index(depth)]),
                             float(axis[j + 1]), depth))
            top = None
    return found


def resolved(steps: list[Step]) -> tuple[float, float] | None:
    """The smallest dips that these data would have shown, where they are clearest and where they are least
    so: shares; None where no step has an interval."""
    found = [1 - 1 / (1 + step.ratio.resolved) for step in steps if step.ratio.resolved is not None]
    return (min(found), max(found)) if found and len(found) == len(steps) else None


def moved_with(logs, counters: dict, i: int, j: int) -> list[Moved]:
    """Which counters moved between columns i and j, the most correlated first.

    logs, and of each of counters two, a message and a second: a row a block, a column a value of the
    axis. One that goes on at its own pace falls a message where throughput rises, and one that belongs
    to each message rises a second: only what moves in the same direction in both has moved by more.
    """
    judged = judge.judge([between(rate, i, j) for rates in counters.values() for rate in rates])
    found = [Moved(name, both[0], *_correlation(logs, counters[name][0]))
             for name, both in zip(counters, zip(judged[::2], judged[1::2]))
             if both[0].verdict == both[1].verdict and judge.SIGNS[both[0].verdict]]
    return sorted(found, key=lambda m: (-abs(m.correlation or 0), m.name))


def _correlation(logs, counter):
    """Of ranks (Spearman's), of the steps of medians."""
    steps = [np.diff(np.nanmedian(np.asarray(values, dtype=float), axis=0)) for values in (logs, counter)]
    a, b = (one[~np.isnan(steps[0]) & ~np.isnan(steps[1])] for one in steps)
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None, len(a)
    # The rank of equal values is their mean.
    return float(np.corrcoef(*(pl.Series(values).rank() for values in (a, b)))[0, 1]), len(a)
