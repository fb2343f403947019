# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Computes the median and range of a number over repeats, and the interval of a share."""

import collections
import math

# The least, the median (middle) and the greatest of `count` values.
Spread = collections.namedtuple("Spread", "low middle high count", defaults=(0.0, 0.0, 0.0, 0))


def total(numbers):
    """Returns the sum of floats, rounded at each addition. sum() rounds differently in Python 3.12 and later."""
    found = 0.0
    for number in numbers:
        found += number
    return found


def median(ordered):
    """Returns the median of sorted values; 0 if there are no values."""
    half = len(ordered) // 2
    if not ordered:
        return 0.0
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def spread(values):
    ordered = sorted(values)
    return Spread(ordered[0], median(ordered), ordered[-1], len(ordered)) if ordered else Spread()


Z = 1.959964  # the quantile of the normal distribution for a 95 % interval


def half_width(part, whole):
    """Returns half the width of Wilson's 95 % interval of the share part / whole."""
    share = part / whole
    return Z * math.sqrt(share * (1 - share) / whole + (Z / whole) ** 2 / 4) / (1 + Z * Z / whole)
