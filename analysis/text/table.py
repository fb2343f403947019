# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lays out a table of texts with aligned columns, in at most 80 characters a line."""

CELL = 47
WIDTH = 80
DETAILED_MAX = 6  # a report of more configurations leaves out some sections


def fitting(widths, keys, begin, end):
    """Returns the end of the columns that a line has room for, from the column begin on; at least one column."""
    used = sum(widths[:keys]) + 2 * keys
    for column in range(begin, end):
        used += widths[column] + 2
        if used - 2 > WIDTH and column > begin:
            return column
    return max(begin, end)


def lines(rows, keys=1):
    """Returns the lines of rows, lists of texts. The first column is aligned to the left, the others to the right.
    keys: how many columns identify a row. Columns for which a line has no room follow below, beside the same keys.
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
    """Returns (head, function) of the columns (condition, head, function) whose condition is in when."""
    return [(head, text) for condition, head, text in columns if condition in when]


def fits(lines):
    """Returns whether the table fits the line without wrapping a column."""
    return "" not in lines


def of(items, columns, keys=1):
    """Returns the lines of a table with a row for each item. columns: (head, function of an item). The function returns
    None if nothing is known.
    """
    body = [[text(item) for _, text in columns] for item in items]
    return lines([[head for head, _ in columns], *(["-" if text is None else text for text in row] for row in body)],
                 keys)
