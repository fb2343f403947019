# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Finds the sizes at which one way overtakes another: all crossings, each with its direction.

There is a crossing between two tried sizes if one way is worse at one size and better at the other (see judge.py), and
no size in between has such a verdict. The crossing's place is found by linear interpolation of the pairs on logarithmic
axes. Its interval has every size at which the interval of the ratio includes 1, so both have the same level.
"""

import dataclasses
import itertools

import numpy as np

from analysis.compare import judge

STEPS = 64


@dataclasses.dataclass(frozen=True)
class Crossing:
    """a overtakes b (direction +1) or falls behind b (-1) as sizes grow: at about `size`, in the interval low..high
    with the confidence level `level`, between the tried sizes `before` and `after`. level None: too few blocks have all
    these sizes, so low and high are before and after."""
    direction: int
    size: float
    low: float
    high: float
    level: float | None
    before: float
    after: float


def find_crossings(sizes, logs, judged=None) -> list[Crossing]:
    """Returns the crossings. sizes: k rising numbers. logs (blocks x k): log(a / b), NaN if a block lacks a size.
    judged: Judgments of these sizes in a larger family; without it, these sizes are the family.
    """
    sizes, logs = np.asarray(sizes, dtype=float), np.asarray(logs, dtype=float)
    if judged is None:
        judged = judge.judge([judge.paired(column[~np.isnan(column)]) for column in logs.T])
    signs = [(j, judge.SIGNS[one.verdict]) for j, one in enumerate(judged) if judge.SIGNS[one.verdict]]
    return [_locate(sizes, logs, first, last, sign)
            for (first, before), (last, sign) in itertools.pairwise(signs) if before != sign]


def _locate(sizes, logs, first, last, direction):
    """Returns the crossing between the columns first and last. Uses only blocks that have all sizes in between."""
    part = logs[:, first:last + 1]
    part = part[~np.isnan(part).any(axis=1)]
    ends = float(sizes[first]), float(sizes[last])
    if not judge.judge_one(judge.paired(part[:, 0])).has_interval:
        # Too few complete blocks: only the two sizes around the crossing are known.
        return Crossing(direction, float(np.sqrt(ends[0] * ends[1])), *ends, None, *ends)
    at = np.log(sizes[first:last + 1])
    grid = np.unique(np.concatenate(
        [np.linspace(left, right, STEPS + 1) for left, right in itertools.pairwise(at)]))
    found = [judge.judge_one(judge.paired(column))
             for column in np.array([np.interp(grid, at, row) for row in part]).T]
    middle = np.log([one.value for one in found]) * direction
    held = [one.low <= 1 <= one.high for one in found]
    inside = grid[held] if any(held) else grid[[np.argmin(np.abs(middle))]]
    step = (grid[-1] - grid[0]) / len(grid)
    return Crossing(direction, float(np.exp(_zero(grid, middle))),
                    float(np.exp(max(inside[0] - step, grid[0]))),
                    float(np.exp(min(inside[-1] + step, grid[-1]))), found[0].level, *ends)


def _zero(grid, rising):
    """Returns from where on a curve, which begins below 0 and is linear between grid points, stays above 0."""
    below = np.flatnonzero(rising <= 0)
    if not len(below) or below[-1] + 1 >= len(grid):
        return grid[np.argmin(np.abs(rising))]
    i = below[-1]
    share = -rising[i] / (rising[i + 1] - rising[i])
    return grid[i] + share * (grid[i + 1] - grid[i])
