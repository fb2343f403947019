# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Formats the table of analyze top as one screen of a terminal, or as lines of text."""

from typing import Callable, NamedTuple, Optional

from analysis import words
from analysis.derive.interval import Row

from .layout import BOLD
from .record import safe_text
from .table import WIDTH

DEVICE_MAX = 15  # the most columns on the screen for names of devices


class View(NamedTuple):
    """The contents and the form of a table."""
    processes: bool   # whether each row is of one process
    cgroups: bool     # whether each row is of one control group
    rows: int         # the most rows
    sort: str         # the name of a column of COLUMNS
    paused: bool = False


class Column(NamedTuple):
    name: str    # the name for --sort; "": rows cannot be sorted by this column
    head: str
    width: int   # the least width
    rank: int    # columns of the highest ranks are left out if there is no room
    value: Optional[Callable]  # (row, seconds) -> a number, or None if nothing is known
    text: Callable             # (number) -> text, or (row) -> text if value is None


def _gbit(number):
    if 0 < number < 0.0005:
        return "<0.001"
    return words.number(number) if number >= 1 or not number else words.decimal(number, 3)


def _devices(row):
    return ",".join(safe_text(name) if name else "no route" for name in row.devices) or words.NOTHING


def _share(row, _):
    return row.sums["requests"] / row.sums["sends"] if row.sums["sends"] else None


def _mean_us(row, _):
    return row.sums["ns"] / row.sums["timed"] / 1e3 if row.sums["timed"] else None


COLUMNS = (
    Column("sends", "sends/s", 7, 2, lambda row, seconds: row.sums["sends"] / seconds, words.number),
    Column("gbit", "Gbit/s", 6, 1, lambda row, seconds: row.sums["bytes"] * 8e-9 / seconds, _gbit),
    Column("us", "us/send", 7, 3, _mean_us, words.number),
    Column("zero-copy", "zero-copy", 9, 5, _share, words.percent),
    Column("copied", "copied", 6, 4, lambda row, _: row.copied, words.percent),
    Column("refused", "refused/s", 9, 7, lambda row, seconds: row.sums["refused"] / seconds, words.number),
    Column("", "device", 6, 6, None, _devices),
)
BY_NAME = {column.name: column for column in COLUMNS if column.name}
LETTERS = {name[0]: name for name in BY_NAME}
HINT = f"Sort by a column: {' '.join(LETTERS)}. p: pause. q: quit."
SHORT_HINT = f"sort: {''.join(LETTERS)}  p: pause  q: quit"


def _process(row, width):
    name = safe_text(row.comm) or "(no name)"
    return (name if len(name) <= width else name[:width - 2] + "..").ljust(width)


def _pid(row, width):
    return (str(row.pid) if row.pid else words.NOTHING).rjust(width)


def _control_group(row, width):
    """Returns the path, or the end of a long path, which is its most specific part."""
    path = safe_text(row.cgroup or "") or "not known"
    return (path if len(path) <= width else ".." + path[2 - width:]).ljust(width)


class Name(NamedTuple):
    """A column that identifies a row."""
    head: str
    least: int      # the least width
    most: int       # the largest width
    text: Callable  # (row, width) -> text


def _names(view, width):
    """Returns the columns that identify a row. On a narrow terminal they leave room for a column of numbers."""
    narrow = width < WIDTH
    return [*((Name("process", 12 if narrow or view.cgroups else 15, 60, _process), Name("    pid", 7, 7, _pid))
              if view.processes else ()),
            *((Name("control group", 12 if narrow else 20, 60, _control_group),) if view.cgroups else ())]


def _name_widths(names, rows, room):
    """Returns the width of each name: what its rows need, or less if there is no room. The last name has precedence."""
    widths = [name.least for name in names]
    room -= sum(widths)
    for place, name in reversed([*enumerate(names)]):
        needed = max((len(name.text(row, name.most).strip()) for row in rows), default=0)
        more = max(min(needed - name.least, room), 0)
        widths[place] += more
        room -= more
    return widths


def _cells(column, rows, seconds):
    """Returns the column's head and texts, all of the same width."""
    if column.value:
        numbers = [column.value(row, seconds) for row in rows]
        texts = [column.head, *(words.NOTHING if number is None else column.text(number) for number in numbers)]
        width = max(column.width, *map(len, texts))
        return [text.rjust(width) for text in texts]
    texts = [column.head, *map(column.text, rows)]
    width = min(max(column.width, *map(len, texts)), DEVICE_MAX)
    return [text[:width].ljust(width) for text in texts]


def _fitted(view, rows, seconds, room):
    """Returns the cells of the columns that fit, and the room that is left. The sorting column has precedence."""
    kept = {}
    for column in sorted(COLUMNS, key=lambda column: (column.name != view.sort, column.rank)):
        cells = _cells(column, rows, seconds)
        if len(cells[0]) >= room:
            break
        room -= len(cells[0]) + 1
        kept[column.head] = cells
    return [kept[column.head] for column in COLUMNS if column.head in kept], room


def _sorted(table, view):
    """Returns the rows, the largest first. Rows without a value are the last."""
    value = BY_NAME[view.sort].value

    def order(row):
        number = value(row, table.seconds)
        return number is None, -(number or 0), -row.sums["bytes"], row.comm, row.pid or 0, row.cgroup or ""
    return sorted(table.rows, key=order)


def _chosen(table, view, room):
    """Returns at most room rows: those to show, and one with the sums of all others."""
    rows = _sorted(table, view)
    room = min(view.rows + 1, room)
    beyond = any(table.rest.sums.values())
    most = max(room - 1 if beyond or len(rows) > min(view.rows, room) else room, 0)
    if not beyond and len(rows) <= most:
        return rows
    name = "others" if beyond else f"{len(rows[most:])} more"
    others = Row(name, None, words.NOTHING if view.processes else name).plus(table.rest, *rows[most:])
    return [*rows[:most], others][:max(room, 0)]


def _table(table, view, width, room):
    """Returns a header and at most room rows, each of at most width columns."""
    rows, names = _chosen(table, view, room), _names(view, width)
    columns, left = _fitted(view, rows, table.seconds, width - sum(name.least + 1 for name in names) + 1)
    widths = _name_widths(names, rows, left + sum(name.least for name in names))
    named = [[name.head.ljust(size), *(name.text(row, size) for row in rows)] for name, size in zip(names, widths)]
    return [" ".join(line)[:width].rstrip() for line in zip(*named, *columns)]


def _whole(table, view):
    """Returns the sums of all rows in words."""
    found = Row().plus(table.rest, *table.rows)
    if not any(found.sums.values()):
        return "no TCP sends"
    sends, gbit = (BY_NAME[name].value(found, table.seconds) for name in ("sends", "gbit"))
    unit = ("process", "processes") if view.processes else ("control group",)
    copied = "" if found.copied is None else f"; {words.percent(found.copied)} of zero-copy sends copied"
    least = "at least " if any(table.rest.sums.values()) else ""
    return (f"{words.number(sends)} sends/s, {_gbit(gbit)} Gbit/s by {least}"
            f"{words.counted(len(table.rows), *unit)}{copied}")


def block(table, view):
    """Returns a table as lines of text for a pipe."""
    head = f"{words.decimal(table.at, 1)} s: {_whole(table, view)}"
    lines = _table(table, view, WIDTH, view.rows + 1)
    return [head, *(lines if len(lines) > 1 else ()), ""]


def screen(table, view, width, height):
    """Returns as many lines as a terminal of this size has. Bold lines begin with BOLD. table: None before the end of
    the first interval.
    """
    hint = HINT if len(HINT) <= width else SHORT_HINT
    if table is None:
        top = ["Measuring: the first table comes after the first interval.", ""]
        lines = []
    else:
        at = words.decimal(table.at, 1)
        state = f"paused at {at} s" if view.paused else f"every {table.interval:g} s, {at} s so far"
        top = [words.starting(_whole(table, view)), f"most {BY_NAME[view.sort].head} first; {state}"]
        head, *rows = _table(table, view, width, height - len(top) - 4)
        lines = [BOLD + head, *rows] if rows else []
    lines = [*top, "", *lines]
    lines += [""] * (height - len(lines) - 1)
    return [line[:width + line.startswith(BOLD)] for line in [*lines[:max(height - 1, 0)], hint][:height]]
