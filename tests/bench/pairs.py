# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Statistics of runs made in pairs: medians and their intervals. Pure.

A machine drifts while a benchmark runs, so two programs are compared by the ratio within each pair of neighbouring
runs, never by runs far apart.
"""

import collections
import math
import statistics

LEVEL = 0.95

# low and high are None if there is only one value.
Summary = collections.namedtuple("Summary", "median low high level minimum maximum n")


def run_pair(number, *runs):
    """Runs a pair, or more. Returns the results in the order of `runs`; `number` decides which one runs first."""
    begin = number % len(runs)
    results = {i: runs[i]() for i in (*range(begin, len(runs)), *range(begin))}
    return tuple(results[i] for i in range(len(runs)))


def ratios(a, b):
    return [x / y for x, y in zip(a, b, strict=True)]


def differences(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


def interval_rank(n, level=LEVEL):
    """Returns (k, reached): the k-th smallest and k-th largest of n values enclose the median with the level `reached`.

    The number of values below the true median is binomial(n, 1/2), whatever the distribution, so `reached` is exact.
    The interval is the narrowest one that has at least the requested level. If n is too small for that level, it is the
    whole range.
    """
    outside = 2 * 0.5 ** n  # probability that fewer than k values are on one side, both sides added
    k, reached = 1, max(0.0, 1 - outside)
    while k < (n + 1) // 2:
        outside += 2 * math.comb(n, k) * 0.5 ** n
        if 1 - outside < level:
            break
        k, reached = k + 1, 1 - outside
    return k, reached


def summarise(values, level=LEVEL):
    ordered = sorted(values)
    k, reached = interval_rank(len(ordered), level)
    low, high = (ordered[k - 1], ordered[-k]) if len(ordered) > 1 else (None, None)
    return Summary(statistics.median(ordered), low, high, reached, ordered[0], ordered[-1],
                   len(ordered))
