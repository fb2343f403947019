# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A table of texts with aligned columns, in at most 80 characters a line."""

CELL = 47
WIDTH = 80
DETAILED_MAX = 6  # of more configurations no details are printed unless asked for


def fitting(widths, keys, begin, end):
    """Where the columns from one on end that a line has room for, but one in any case."""
    used = sum(widths[:keys]) + 2 * keys
    for column in range(begin, end):
        used += widths[column] + 2
        if used - 2 > WIDTH and column > begin:
            return column
    return max(begin, end)


def lines(rows, keys=1):
    """Lists of texts as lines, the first column to the left, the others to the right. Columns for
    which a line has no room go below, beside the keys: the first ones, which say what a row is.
    """
    rows = [[text[:CELL] for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    end = max((column for column, width in enumerate(widths, 1) if width), default=1)
    out, begin = [], keys
    while begin == keys or begin < end:
        stop = fitting(widths, keys, begin, end)
        right = [*range(1, keys), *range(begin, stop)]
        out += ["  ".join([row[0].ljust(widths[0]), *(row[column].rjust(widths[column]) for column in right)]).rstrip()
                for row in rows]
        begin = max(stop, begin + 1)
        if begin < end:
            out.append("")
    return out


def shown(columns, when):
    """Of rows (condition, head, function), those whose condition is among these, without it."""
    return [(head, text) for condition, head, text in columns if condition in when]


def fits(lines):
    """Is it as wide as a line has room for, so that no column goes below?"""
    return "" not in lines


def of(items, columns, keys=1):
    """The lines of a table with a row an item. columns: (head, function of an item), which gives None
    where nothing is known.
    """
    body = [[text(item) for _, text in columns] for item in items]
    return lines([[head for head, _ in columns], *(["-" if text is None else text for text in row] for row in body)],
                 keys)
