# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A number over repeats: median and range; a share and its interval."""

import collections
import math

# The range of count values, and their median.
Spread = collections.namedtuple("Spread", "low middle high count", defaults=(0.0, 0.0, 0.0, 0))


def total(numbers):
    """The sum of floats, each rounded to one: that of later Pythons' sum() is not."""
    found = 0.0
    for number in numbers:
        found += number
    return found


def median(ordered):
    """Of values in order; 0 for none."""
    half = len(ordered) // 2
    if not ordered:
        return 0.0
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def spread(values):
    """The Spread of numbers, with their range."""
    ordered = sorted(values)
    return Spread(ordered[0], median(ordered), ordered[-1], len(ordered)) if ordered else Spread()


Z = 1.959964  # of 95 %


def half_width(part, whole):
    """Of Wilson's 95 % interval of a share: half of its width."""
    share = part / whole
    return Z * math.sqrt(share * (1 - share) / whole + (Z / whole) ** 2 / 4) / (1 + Z * Z / whole)
