# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Numbers and tables in words for people. Pure."""

import math

from analysis.stats.interval import Estimate

NOTHING = "-"


def size(count: int) -> str:
    """Bytes as the command line takes them: 64K."""
    for unit, name in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if count and count % unit == 0:
            return f"{count // unit}{name}"
    return str(count)


# unit of a column -> (scale, what people read)
UNITS = {"bit/s": (1e-9, "Gbit/s"), "ns": (1e-3, "us")}


def number(value: float | None) -> str:
    """Three significant digits, thousands apart: 0.0123, 12.3, 12,300; "-" for what is not known."""
    if value is None or math.isnan(value):
        return NOTHING
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    # By way of its rounded value: 9.996 is 10.0.
    rounded = float(f"{value:.2e}")
    digits = 2 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(digits, 0)}f}"


def interval(estimate: Estimate, scale: float = 1.0) -> str:
    """12.3 (11.9 to 12.6); without an interval the value alone."""
    text = number(estimate.value * scale)
    if not estimate.has_interval:
        return text
    return f"{text} ({number(estimate.low * scale)} to {number(estimate.high * scale)})"


def percent(share: float | None) -> str:
    """100 %, 99.98 %, 0.02 %: never rounded to all or nothing."""
    if share is None:
        return NOTHING
    if share in (0, 1):
        return f"{share * 100:.0f} %"
    for digits in range(1, 8):
        text = f"{share * 100:.{digits}f}"
        if float(text) not in (0, 100):
            return f"{text} %"
    return "nearly all" if share > 0.5 else "nearly none"


def count(value: int) -> str:
    """1,234,567"""
    return f"{value:,d}"


def estimate(value: Estimate, scale: float = 1.0) -> str:
    """14.9 (13.1 to 15.2); without an interval, the number of values instead."""
    return interval(value, scale) + ("" if value.has_interval else f" (of {value.n}, no interval)")


def plural(amount: int, word: str, words: str | None = None) -> str:
    """1 run; 1,234 runs"""
    return f"{amount:,d} {word if amount == 1 else words or word + 's'}"


def starting(text: str) -> str:
    """As a sentence begins."""
    return text[:1].upper() + text[1:]


def sentence(parts: list[str]) -> str:
    """Its parts, but empty ones, with semicolons between; "" of none."""
    text = "; ".join(filter(None, parts))
    return starting(text) + "." if text else ""


def level(reached: float) -> str:
    return f"{100 * reached:.4g} %"


def table(header: list[str], rows: list[list[str]]) -> str:
    """Aligned columns: the first to the left, the others to the right."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join("  ".join(text.rjust(width) if i else text.ljust(width)
                               for i, (text, width) in enumerate(zip(line, widths))).rstrip()
                     for line in lines)
