# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What changes from one value of an axis to the next, in the same blocks: falls, rises, dips.

One axis may be sizes, fields or threads; what is followed along it a throughput, its ratio to
another way's, or a counter. A step is significant as decision.py has it.
"""

import dataclasses

import numpy as np

from analysis.stats import decision
from analysis.stats.interval import Estimate
from analysis.stats.decision import Ratio, of_logs


@dataclasses.dataclass(frozen=True)
class Step:
    """From x to the next: value there / value here. direction: +1 up, -1 down, 0 inconclusive."""
    before: float
    after: float
    ratio: Estimate
    p: float
    direction: int


@dataclasses.dataclass(frozen=True)
class Dip:
    """Lower between two values of the axis than at both. depth: at bottom / at before."""
    before: float
    bottom: float
    after: float
    depth: Estimate


def logs_between(logs, i: int, j: int) -> np.ndarray:
    """logs: a row a block, a column a value of the axis. log(value at j / at i) of each block
    that has both."""
    steps = np.asarray(logs, dtype=float)[:, j] - np.asarray(logs, dtype=float)[:, i]
    return steps[~np.isnan(steps)]


def ratios(logs) -> list[Ratio]:
    """Of each column to the one before it."""
    return [of_logs(logs_between(logs, j, j + 1)) for j in range(np.shape(logs)[1] - 1)]


def along(axis, logs, corrected=None) -> list[Step]:
    """axis: k rising values; logs as above. corrected: p of the k - 1 steps after correction
    within a larger family; without it they are the family."""
    found = ratios(logs)
    if corrected is None:
        corrected = decision.holm([ratio.p for ratio in found])
    return [Step(float(before), float(after), ratio.estimate, float(p),
                 ratio.sign if ratio.is_significant(p) else 0)
            for before, after, ratio, p in zip(axis, axis[1:], found, corrected)]


def dips(axis, logs, steps: list[Step]) -> list[Dip]:
    """Significant falls that a significant rise follows before the axis ends. Slow bends are
    none."""
    found, top = [], None
    for j, step in enumerate(steps):
        if step.direction < 0 and top is None:
            top = j
        elif step.direction > 0 and top is not None:
            middles = [of_logs(logs_between(logs, top, k)).estimate.value
                       for k in range(top + 1, j + 1)]
            bottom = top + 1 + int(np.nanargmin(middles))
            found.append(Dip(float(axis[top]), float(axis[bottom]), float(axis[j + 1]),
                             of_logs(logs_between(logs, top, bottom)).estimate))
            top = None
    return found
