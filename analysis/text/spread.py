# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A number over repeats: median, range, and the interval of a median."""

import math

LEVEL = 0.95


class Spread:
    """low, middle, high: the range of count values; of a ratio an interval, 0 below five values."""

    def __init__(self, low=0.0, middle=0.0, high=0.0, count=0):
        self.low, self.middle, self.high, self.count = low, middle, high, count


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


def level_reached(k, count):
    """How often the k-th of count values and the k-th from above have the true median between them."""
    term, below = 0.5 ** count, 0.0
    for i in range(k):
        below += term
        term *= (count - i) / (i + 1)
    return 1 - 2 * below


def median_interval(ordered):
    """Low and high of the median's interval (Hettmansperger and Sheather 1986), as docs/statistics.md
    has it; None below five values.
    """
    count, k, weight = len(ordered), 1, 0.0
    if count < 5:
        return None
    while level_reached(k + 1, count) >= LEVEL:
        k += 1
    reached = level_reached(k, count)
    if reached > LEVEL:
        inner = level_reached(k + 1, count) if 2 * (k + 1) <= count + 1 else 0.0
        share = (reached - LEVEL) / (reached - inner)
        weight = (count - k) * share / (k + (count - 2 * k) * share)
    return (ordered[k - 1] + weight * (ordered[k] - ordered[k - 1]),
            ordered[count - k] + weight * (ordered[count - k - 1] - ordered[count - k]))


def log(ratio):
    return math.log(ratio) if ratio else -math.inf


def exp(logarithm):
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf


def spread(values):
    """The Spread of numbers, with their range."""
    ordered = sorted(values)
    return Spread(ordered[0], median(ordered), ordered[-1], len(ordered)) if ordered else Spread()


def ratio(pairs):
    """The Spread of the ratios of pairs of numbers above 0, with the interval of their median."""
    logs = sorted(log(one / other) for one, other in pairs)
    interval = median_interval(logs)
    low, high = map(exp, interval) if interval else (0.0, 0.0)
    return Spread(low, exp(median(logs)), high, len(logs))
