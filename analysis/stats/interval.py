# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Computes intervals of a median.

The binomial distribution gives the chance that the true median is between two of the ordered values, whatever
the distribution of the values is. The ends of the interval are interpolated between ordered values, so that it
has the requested level (Hettmansperger and Sheather 1986). Plain and BCa bootstrap intervals of 5 to 20 values
have levels of 87 to 94 % if 95 % are requested: tests/analysis/test_interval.py measures all three methods.
"""

import dataclasses
import functools

import numpy as np

LEVEL = 0.95
FEWEST = 5


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A value estimated from n observations, with an interval from low to high; None: there is no interval.

    level: the confidence level of the interval, which is below LEVEL if there are few observations.
    """
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    level: float | None = None

    @property
    def has_interval(self) -> bool:
        return self.low is not None


@functools.cache
def ranks(n: int) -> tuple[int, float, float]:
    """Returns k and weight, which give the ends of the interval of a median of n values, and the interval's level.

    The lower end is (1 - weight) x the k-th smallest value + weight x the next; the upper end is the same, counted from
    the largest. The widest interval, from the least to the largest value, has the level 1 - 2^(1-n): 93.75 % for n = 5.
    """
    from scipy.special import bdtr  # the import takes as long as those of polars and numpy together

    def reached(k):
        return 1 - 2 * float(bdtr(k - 1, n, 0.5))
    if reached(1) <= LEVEL:
        return 1, 0.0, reached(1)
    k = max(k for k in range(1, (n + 1) // 2 + 1) if reached(k) >= LEVEL)
    inner = reached(k + 1) if 2 * (k + 1) <= n + 1 else 0.0
    share = (reached(k) - LEVEL) / (reached(k) - inner)
    return k, (n - k) * share / (k + (n - 2 * k) * share), LEVEL


def median(values) -> Estimate:
    """Returns the median of one or more values (any unit), with an interval if there are at least five."""
    ordered, n = np.sort(np.asarray(values, dtype=float)), len(values)
    middle = float((ordered[(n - 1) // 2] + ordered[n // 2]) / 2)
    if n < FEWEST:
        return Estimate(middle, n)
    k, weight, reached = ranks(n)
    # This form gives equal ends for equal values.
    low = ordered[k - 1] + weight * (ordered[k] - ordered[k - 1])
    high = ordered[n - k] + weight * (ordered[n - k - 1] - ordered[n - k])
    return Estimate(middle, n, float(low), float(high), reached)
