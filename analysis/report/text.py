# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What sentences of the report are made of: numbers, estimates with units, plurals."""

from analysis.stats.interval import Estimate
from analysis.words import interval, number  # noqa: F401 (text.number, too)


def count(value: int) -> str:
    """1,234,567"""
    return f"{value:,d}"


def estimate(value: Estimate, scale: float = 1.0) -> str:
    """14.9 (13.1 to 15.2); without an interval, the number of values instead."""
    return interval(value, scale) + ("" if value.has_interval else f" (of {value.n}, no interval)")


def plural(amount: int, word: str, words: str | None = None) -> str:
    """1 run; 1,234 runs"""
    return f"{amount:,d} {word if amount == 1 else words or word + 's'}"


def starting(words: str) -> str:
    """As a sentence begins."""
    return words[:1].upper() + words[1:]
