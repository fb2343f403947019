# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What sentences of the report are made of: numbers, estimates with units, plurals."""

from analysis.stats.interval import Estimate
from analysis.words import number


def count(value: int) -> str:
    """1,234,567"""
    return f"{value:,d}"


def estimate(value: Estimate, unit: str = "") -> str:
    """14.9 (13.1 to 15.2) Gbit/s; without an interval, the number of values instead."""
    interval = (f" ({number(value.low)} to {number(value.high)})" if value.has_interval
                else f" (of {value.n}, no interval)")
    return number(value.value) + interval + (f" {unit}" if unit else "")


def times(value: Estimate) -> str:
    """1.31 times (1.12 to 1.52)"""
    interval = (f" ({number(value.low)} to {number(value.high)})" if value.has_interval
                else f" (of {value.n} pairs, no interval)")
    return f"{number(value.value)} times{interval}"


def plural(amount: int, word: str, words: str | None = None) -> str:
    """1 run; 1,234 runs"""
    return f"{amount:,d} {word if amount == 1 else words or word + 's'}"


def level(estimates: list[Estimate]) -> str:
    """The level that the intervals reach, as said once for all: 93.8 %."""
    reached = sorted({f"{e.level * 100:.3g}" for e in estimates if e.has_interval}, key=float)
    if not reached:
        return "no intervals: too few repeats"
    return f"intervals in brackets reach {' to '.join(dict.fromkeys((reached[0], reached[-1])))} %"


def of_setting(setting: str, sentence: str) -> str:
    """A sentence that is about one setting of several."""
    return f"On {setting}: {sentence}" if setting else sentence


def starting(words: str) -> str:
    """As a sentence begins."""
    return words[:1].upper() + words[1:]
