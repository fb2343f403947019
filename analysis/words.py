# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Formats numbers and texts for people. The text report and the page use the same functions."""

import math
import re

NOTHING = "-"
TEXT_MAX = 47  # the most characters of a text; no measured number is longer

# unit of a column -> (factor, unit that is printed)
UNITS = {"bit/s": (1e-9, "Gbit/s"), "ns": (1e-3, "us")}


def decimal(value, decimals):
    """Returns, for example, "1,234.50", with this number of decimals."""
    if abs(value) >= 1e20:
        return "%g" % value
    return f"{'-' if value < 0 else ''}{abs(value):,.{decimals}f}"


def whole(value):
    """Returns, for example, "1,234,567"."""
    return decimal(value, 0)


def number(value, digits=3):
    """Returns a measured number with this number of significant digits, or without decimals: "0.0123", "12.0",
    "12,345". "-": the number is not known.
    """
    if value is None or math.isnan(value):
        return NOTHING
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    if abs(value) >= 10 ** digits - 0.5:
        return whole(value)
    # The number of decimals follows from the rounded value, so that 9.996 is 10.0.
    rounded = float(f"{value:.{digits - 1}e}")
    return f"{rounded:.{max(digits - 1 - math.floor(math.log10(abs(rounded))), 0)}f}"


def figure(value, digits):
    """Returns the text of number() without zeros after its last decimal, such as "12" or "0.2"."""
    text = number(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


def interval(estimate, scale=1.0):
    """Returns "12.3 (11.9 to 12.6)", or only the value. estimate: has the members value, low, high and has_interval."""
    text = number(estimate.value * scale)
    if not estimate.has_interval:
        return text
    return f"{text} ({number(estimate.low * scale)} to {number(estimate.high * scale)})"


def estimate(value, scale=1.0):
    """Returns the text of interval(). If there is no interval, the text includes the number of values."""
    return interval(value, scale) + ("" if value.has_interval else f" (of {value.n}, no interval)")


def percent(part, whole_=1):
    """Returns, for example, "37.5 %". A share that is neither 0 nor 1 is at least 0.01 % and at most 99.99 %. "-": the
    part is not known, or the whole is 0.
    """
    if part is None or not whole_ > 0:
        return NOTHING
    share = 100 * part / whole_
    if 0 < part < whole_:
        share = min(max(share, 0.01), 99.99)
    return f"{share:.{4 if 99.9 < share < 100 else 3}g} %"


def level(reached):
    """Returns the level of an interval, such as "99.22 %"."""
    return f"{100 * reached:.4g} %"


def counted(value, unit, units=None):
    """Returns, for example, "1 send" or "1,234 sends". units: the plural, unless it is unit + "s"."""
    text = whole(value)
    return f"{text} {unit if text == '1' else units or unit + 's'}"[:TEXT_MAX]


def time(ns):
    """Returns a time with three digits and a suitable unit, such as "3.91 us" or "412 ms"."""
    unit, *larger = "ns", "us", "ms", "s"
    while ns >= 999.5 and larger:
        ns /= 1000
        unit, *larger = larger
    decimals = 0 if ns >= 99.95 or unit == "ns" else 1 if ns >= 9.995 else 2
    return f"{ns:.{decimals}f} {unit}"[:TEXT_MAX]


def duration(text):
    """Returns the seconds of a text such as "10", "0.5", "10s" or "200ms", like common/units.c. Raises ValueError."""
    found = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)(us|ms|s|m|h|)", text)
    if not found:
        raise ValueError(text)
    return float(found[1]) * {"us": 1e-6, "ms": 1e-3, "m": 60, "h": 3600}.get(found[2], 1)


def size(count):
    """Returns a number of bytes in the form of the command line: "16K", "99999", "1M"."""
    for shift, letter in (30, "G"), (20, "M"), (10, "K"):
        if count >> shift and not count & (1 << shift) - 1:
            return f"{count >> shift}{letter}"
    return str(count)


def listed(texts):
    """Returns "a", "a and b" or "a, b and c"."""
    return "".join(texts) if len(texts) < 2 else ", ".join(texts[:-1]) + " and " + texts[-1]


def starting(text):
    """Returns the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def sentence(*parts):
    """Returns the parts that are not empty as one sentence, joined by semicolons; "" if all are empty."""
    text = "; ".join(filter(None, parts))
    return starting(text) + ("" if text.endswith(".") else ".") if text else ""


def table(header, rows):
    """Returns a table of aligned columns: the first is aligned to the left, the others to the right."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join("  ".join(text.rjust(width) if i else text.ljust(width)
                               for i, (text, width) in enumerate(zip(line, widths))).rstrip()
                     for line in lines)
