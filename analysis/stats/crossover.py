# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""At which sizes does one way overtake another? All crossings, each with its direction.

A crossing is asserted between two sizes tried at which the ratio is significantly below 1 and
significantly above it (decision.py says what that means), with nothing significant in between.
Where between them it is follows from the pairs, taken as straight between two sizes on
logarithmic axes: the interval holds every size at which the interval of the ratio holds 1, so it
reaches the same level. What is no crossing is one of two: never, or inconclusive.
"""

import dataclasses
import itertools

import numpy as np

from analysis.stats import decision
from analysis.stats.interval import median
from analysis.stats.ratio import of_logs

CROSSES, NEVER, INCONCLUSIVE = "crosses", "never", "cannot tell"
STEPS = 64


@dataclasses.dataclass(frozen=True)
class Crossing:
    """a overtakes b (direction +1) or falls behind it (-1) as sizes grow: at about size, within
    low..high at the level (None: too few blocks have all these sizes, and low..high are before
    and after); between the sizes tried before and after."""
    direction: int
    size: float
    low: float
    high: float
    level: float | None
    before: float
    after: float


@dataclasses.dataclass(frozen=True)
class Crossovers:
    """What can be said of a against b.

    answer is CROSSES (crossings has all that are significant), NEVER (on one side at every size
    tried, side) or INCONCLUSIVE. signs: of each size tried, +1 a significantly ahead, -1 behind, 0
    not significant. inconclusive has the sizes that might hide a crossing, with the repeats more
    that might settle each (None: none would). tests: how many were made together.
    """
    answer: str
    crossings: tuple[Crossing, ...]
    side: int
    sizes: tuple[float, ...]
    signs: tuple[int, ...]
    inconclusive: tuple[tuple[float, int | None], ...]
    repeats: int
    tests: int

    @property
    def more_repeats(self) -> int | None:
        """So many more would settle every size; None: nothing to settle, or none would."""
        more = [count for _, count in self.inconclusive]
        return max(more) if more and None not in more else None


def signs_of(ratios, corrected) -> tuple[int, ...]:
    return tuple(ratio.sign if ratio.is_significant(p) else 0 for ratio, p in zip(ratios, corrected))


def find(sizes, logs, tests: int | None = None, corrected=None) -> Crossovers:
    """sizes: k rising numbers. logs: a row a block, a column a size: log(a / b), NaN where a
    block lacks a size.

    Of a larger family, tests is how many tests it has and corrected their corrected p for these
    sizes; without them the family is these k.
    """
    sizes, logs = np.asarray(sizes, dtype=float), np.asarray(logs, dtype=float)
    ratios = [of_logs(column[~np.isnan(column)]) for column in logs.T]
    tests = tests or len(sizes)
    if corrected is None:
        corrected = decision.holm([ratio.p for ratio in ratios])
    signs = signs_of(ratios, corrected)
    crossings = tuple(_crossings(sizes, logs, signs))
    inconclusive = tuple((float(size), ratio.more_repeats(tests))
                   for size, ratio, sign, inside in zip(sizes, ratios, signs,
                                                        _between(sizes, crossings))
                   if sign == 0 and not inside)
    sides = set(signs) - {0}
    if crossings:
        answer = CROSSES
    else:
        answer = NEVER if not inconclusive and len(sides) == 1 else INCONCLUSIVE
    return Crossovers(answer, crossings, sides.pop() if len(sides) == 1 else 0,
                      tuple(map(float, sizes)), signs, inconclusive,
                      min((ratio.estimate.n for ratio in ratios), default=0), tests)


def _between(sizes, crossings):
    """Of each size: is it where a crossing is known to be? It need not be significant then."""
    return [any(c.before < size < c.after for c in crossings) for size in sizes]


def _crossings(sizes, logs, signs):
    last = None
    for j, sign in enumerate(signs):
        if not sign:
            continue
        if last is not None and signs[last] != sign:
            yield _locate(sizes, logs, last, j, sign)
        last = j


def _locate(sizes, logs, first, last, direction):
    """The crossing between columns first and last, by complete blocks only."""
    part = logs[:, first:last + 1]
    part = part[~np.isnan(part).any(axis=1)]
    if len(part) < 2:
        # No block has all: what is known is between which sizes it is.
        middle = float(np.sqrt(sizes[first] * sizes[last]))
        return Crossing(direction, middle, float(sizes[first]), float(sizes[last]), None,
                        float(sizes[first]), float(sizes[last]))
    at = np.log(sizes[first:last + 1])
    grid = np.unique(np.concatenate(
        [np.linspace(left, right, STEPS + 1) for left, right in itertools.pairwise(at)]))
    lines = np.array([np.interp(grid, at, row) for row in part])
    found = [median(column) for column in lines.T]
    middle = np.array([estimate.value for estimate in found]) * direction
    held = [not estimate.excludes(0) for estimate in found]
    inside = grid[held] if any(held) else grid[[np.argmin(np.abs(middle))]]
    step = (grid[-1] - grid[0]) / len(grid)
    return Crossing(direction, float(np.exp(_zero(grid, middle))),
                    float(np.exp(max(inside[0] - step, grid[0]))),
                    float(np.exp(min(inside[-1] + step, grid[-1]))),
                    found[0].level, float(sizes[first]), float(sizes[last]))


def _zero(grid, rising):
    """Where a curve that begins below 0 and ends above it first stays above, by its grid."""
    below = np.flatnonzero(rising <= 0)
    if not len(below) or below[-1] + 1 >= len(grid):
        return grid[np.argmin(np.abs(rising))]
    i = below[-1]
    share = -rising[i] / (rising[i + 1] - rising[i])
    return grid[i] + share * (grid[i + 1] - grid[i])
