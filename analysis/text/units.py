# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Numbers as people write them. All but duration() take floats."""

import re

from analysis.derive.interval import percent  # noqa: F401 (of both kinds of text)

TEXT_MAX = 47  # what is longer is cut: such a number is no measured one


def decimal(number, decimals):
    """As "1,234.50", with so many decimals."""
    if abs(number) >= 1e20:
        return "%g" % number
    return f"{'-' if number < 0 else ''}{abs(number):,.{decimals}f}"


def whole(number):
    """As "1,234,567"."""
    return decimal(number, 0)


def figure(number, digits):
    """As "1.23" or "1,235": so many digits that mean something, and no exponent where it is large."""
    return whole(number) if abs(number) >= 10 ** digits - 0.5 else "%.*g" % (digits, number)


def counted(number, unit):
    """As "1 send" or "1,234 sends"."""
    text = whole(number)
    return f"{text} {unit}{'' if text == '1' else 's'}"[:TEXT_MAX]


def time(ns):
    """As "3.91 us" or "412 ms": three digits and the unit that suits."""
    unit, *larger = "ns", "us", "ms", "s"
    while ns >= 999.5 and larger:
        ns /= 1000
        unit, *larger = larger
    decimals = 0 if ns >= 99.95 or unit == "ns" else 1 if ns >= 9.995 else 2
    return f"{ns:.{decimals}f} {unit}"[:TEXT_MAX]


def duration(text):
    """Seconds of "10", "0.5", "10s" or "200ms", as common/units.c reads them. Raises ValueError."""
    found = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)(us|ms|s|m|h|)", text)
    if not found:
        raise ValueError(text)
    return float(found[1]) * {"us": 1e-6, "ms": 1e-3, "m": 60, "h": 3600}.get(found[2], 1)


def size(count):
    """As "16K", "99999" or "1M": of an int, in powers of 1024."""
    for shift, letter in (30, "G"), (20, "M"), (10, "K"):
        if count >> shift and not count & (1 << shift) - 1:
            return f"{count >> shift}{letter}"
    return str(count)
