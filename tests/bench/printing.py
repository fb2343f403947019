# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lays out text tables and formats numbers. Pure."""


def table(header, rows):
    """Returns the table with aligned columns: the first is left-aligned, the others are right-aligned."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(cell.rjust(width) if i else cell.ljust(width)
                  for i, (cell, width) in enumerate(zip(line, widths, strict=True)))
        for line in lines)


def interval(summary, form):
    if summary.low is None:
        return "-"
    return f"{form.format(summary.low)} to {form.format(summary.high)}"


def spread(summary, form):
    return f"{form.format(summary.minimum)} to {form.format(summary.maximum)}"


def level(summary):
    """Returns the heading of a column of intervals."""
    return f"{100 * summary.level:.1f} % interval"


def size(count):
    for unit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if count % unit == 0:
            return f"{count // unit}{name}"
    return str(count)


def gbit(bps):
    return f"{bps / 1e9:.2f}"
