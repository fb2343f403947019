# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the functions that fill columns of tables. Such a function takes a cell, or a row of a record, and returns a
text; None if the value is not known.
"""

from analysis import words

from .record import string, value


def text(path):
    """Returns a function for a string that all repeats have in common."""
    def of(cell):
        found = cell.at(path)
        return None if found is None else string(found)
    return of


def whole(path):
    """Returns a function for a number that all repeats have in common."""
    return lambda cell: words.whole(value(cell.record, path))


def middle(path, unit, decimals=0):
    """Returns a function for the median over the repeats."""
    def of(cell):
        spread = cell.spread(path)
        return words.decimal(spread.middle / unit, decimals) if spread.count else None
    return of


def spread(path, unit, decimals=0):
    """Returns a function for the median over the repeats, with the range if there are several."""
    median = middle(path, unit, decimals)

    def of(cell):
        found = cell.spread(path)
        low, high = (words.decimal(end / unit, decimals) for end in (found.low, found.high))
        return f"{median(cell)} ({low}-{high})" if found.count > 1 else median(cell)
    return of


def total(path):
    """Returns a function for the sum over the repeats."""
    def of(cell):
        found = cell.sum(path)
        return None if found is None else words.whole(found)
    return of


def rate(path, per, unit=1):
    """Returns a function for the sum of a number over the repeats, divided by the sum of another number and by unit."""
    def of(cell):
        found, by = cell.sum(path), cell.sum(per, 0.0)
        return words.figure(found / by / unit, 4) if found is not None and by > 0 else None
    return of


def time(ns, unit):
    """Returns a time as text, with two decimals below 1,000 units. unit: the length of the unit in ns."""
    return words.decimal(ns / unit, 2 if ns / unit < 1000 else 0)


def point(hist, per_mille, unit):
    """Returns a percentile of a Hist as text, or its largest value if per_mille is 0; None if the Hist is empty."""
    if not hist.count:
        return None
    return time(float(hist.percentile(per_mille) if per_mille else hist.max), unit)


def percentile(path, per_mille, unit):
    """Returns a function for a percentile of a histogram over the repeats."""
    return lambda cell: point(cell.hist(path), per_mille, unit)


def count(path, less=None):
    """Returns a function for a number of a record's row, less another number if there is a path `less`."""
    return lambda row: words.whole(value(row, path) - (value(row, less) if less else 0.0))


def mean_time(path, unit):
    """Returns a function for the mean of a histogram in a record's row."""
    def of(row):
        many = value(row, path + "/count")
        return time(value(row, path + "/sum") / many, unit) if many > 0 else None
    return of
