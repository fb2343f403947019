# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Numbers and cells in words for people. Pure."""

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


def number(value: float | None, digits: int = 3) -> str:
    """Significant digits, without exponents; "-" for what is not known."""
    if value is None or math.isnan(value):
        return NOTHING
    if value == 0:
        return "0"
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    return f"{value:,.{min(decimals, 6)}f}"


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


def level(reached: float) -> str:
    return f"{100 * reached:.4g} %"


# column of a cell -> how it is said; what is not here is left out of a cell's name
PARTS = (
    ("variant", "{}".format), ("server_model", "{}".format), ("message_bytes", size),
    ("fields", "{} fields".format), ("threads", "{} threads".format),
    ("connections", "{} connections".format), ("link", "{}".format),
    ("address_family", "{}".format), ("pick", "picked {}".format),
    ("working_set_bytes", lambda count: f"of {size(count)}"),
    ("rate_per_thread", "{} a second".format), ("socket_options", "{}".format),
    ("memory_options", "{}".format),
    ("inflight", "{} in flight".format), ("duration_s", "{:g} s".format),
    ("workload", "{}".format))


def cell(conditions: dict, leave_out=()) -> str:
    """A cell's name in words, without what leave_out names, as it is the same for all."""
    return ", ".join(say(conditions[column]) for column, say in PARTS
                     if column not in leave_out and conditions.get(column) is not None)


def the_same(cells: list[dict]) -> set[str]:
    """The columns that have one value in all cells."""
    return {column for column in (cells[0] if cells else ())
            if len({cell.get(column) for cell in cells}) == 1}


def table(header: list[str], rows: list[list[str]]) -> str:
    """Aligned columns: the first to the left, the others to the right."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join("  ".join(text.rjust(width) if i else text.ljust(width)
                               for i, (text, width) in enumerate(zip(line, widths))).rstrip()
                     for line in lines)
