# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What fills columns of tables: each makes a function of a cell, or of a row of a record, to a text;
None where nothing is known.
"""

from analysis import words

from .record import string, value


def text(path):
    """What repeats have in common, a string."""
    def of(cell):
        found = cell.at(path)
        return None if found is None else string(found)
    return of


def whole(path):
    """What repeats have in common, a number."""
    return lambda cell: words.whole(value(cell.record, path))


def middle(path, unit, decimals=0):
    """The median over the repeats."""
    def of(cell):
        spread = cell.spread(path)
        return words.decimal(spread.middle / unit, decimals) if spread.count else None
    return of


def spread(path, unit, decimals=0):
    """The median over the repeats, with the range of several."""
    median = middle(path, unit, decimals)

    def of(cell):
        found = cell.spread(path)
        low, high = (words.decimal(end / unit, decimals) for end in (found.low, found.high))
        return f"{median(cell)} ({low}-{high})" if found.count > 1 else median(cell)
    return of


def total(path):
    """The sum over the repeats."""
    def of(cell):
        found = cell.sum(path)
        return None if found is None else words.whole(found)
    return of


def rate(path, per, unit=1):
    """A sum over the repeats per another."""
    def of(cell):
        found, by = cell.sum(path), cell.sum(per, 0.0)
        return words.figure(found / by / unit, 4) if found is not None and by > 0 else None
    return of


def time(ns, unit):
    """With two decimals below 1,000."""
    return words.decimal(ns / unit, 2 if ns / unit < 1000 else 0)


def point(hist, per_mille, unit):
    """A percentile of a Hist; without one, its largest."""
    if not hist.count:
        return None
    return time(float(hist.percentile(per_mille) if per_mille else hist.max), unit)


def percentile(path, per_mille, unit):
    """Of a histogram over the repeats."""
    return lambda cell: point(cell.hist(path), per_mille, unit)


def count(path, less=None):
    """Of a record's row: a number, less another."""
    return lambda row: words.whole(value(row, path) - (value(row, less) if less else 0.0))


def mean_time(path, unit):
    """Of a record's row with a histogram."""
    def of(row):
        many = value(row, path + "/count")
        return time(value(row, path + "/sum") / many, unit) if many > 0 else None
    return of
