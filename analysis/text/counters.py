# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints counters, a row for each side of a cell: totals over the windows of all repeats, then ratios."""

from analysis import words

from . import table
from .record import rows, string

# Each side has a scope in the record, a name, and the block of the record with its CPU time. A load has two sides, an
# observed command has one. A server has the same scope as the sender of a stream.
COMMAND = (("command", "command", None),)
STREAM = ("sender", "sender", "app"), ("receiver", "receiver", "app/receiver")
SERVING = ("sender", "server", "app"), ("receiver", "client", "app/receiver")


def sides_of(cells):
    loaded = next(iter(cells)).at("load") is not None
    return SERVING if cells.serving else STREAM if loaded else COMMAND


def ratio(event, per=None, unit=1.0):
    """Returns a column's function for the ratio of an event to another event, or to the bytes received."""
    def of(cell, side):
        found = cell.counter(side[0], event)
        by = cell.counter(side[0], per) if per else cell.sum("app/received_bytes")
        return words.figure(unit * found / by, 3) if found is not None and (by or 0) > 0 else None
    return of


def seconds(key):
    def of(cell, side):
        found = cell.sum(f"{side[2]}/{key}")
        return None if found is None else words.decimal(found, 3)
    return of


# Columns: the event that the column needs (None: a block with CPU time), its head, its function of a cell and a side.
DERIVED = (
    ("instructions", "IPC", ratio("instructions", "cycles")),
    ("cycles", "cycles/byte", ratio("cycles")),
    ("instructions", "instr./byte", ratio("instructions")),
    ("branch-misses", "miss %", ratio("branch-misses", "branches", 100.0)),
    (None, "user s", seconds("user_s")),
    (None, "system s", seconds("system_s")),
)


def is_counted(cells, event, pmu=None):
    return any(cell.counter(side[0], event, pmu) is not None for cell in cells for side in sides_of(cells))


def of_counter(row):
    """Returns the head and the function of the column for one counter. row: of a record's counters."""
    event, pmu, is_time = string(row, "event"), string(row, "pmu"), string(row, "unit") == "ns"

    def of(cell, side):
        found = cell.counter(side[0], event, pmu)
        if found is None:
            return None
        return words.decimal(found / 1e6, 1) if is_time else words.whole(found)
    unit = f" {pmu}" if pmu not in ("", "cpu") else ""
    return f"{event}{unit}{' ms' if is_time else ''}", of


def uncounted(found):
    """Yields a line for each reason, with the events that are not counted because of it."""
    by_reason = {}
    for row in found:
        by_reason.setdefault(string(row, "reason"), []).append(row)
    for reason, together in by_reason.items():
        yield (f"{string(together[0], 'status')}, {reason}: "
               f"{' '.join(string(row, 'event') for row in together)}")


def counters(cells):
    """Yields totals and ratios for each side, and which events are not counted."""
    if next(iter(cells)).at("counters") is None:
        return
    sides = sides_of(cells)
    known, unknown = [], []
    for row in rows(cells.record, "counters"):
        if string(row, "scope") == sides[0][0]:
            found = is_counted(cells, string(row, "event"), string(row, "pmu"))
            (known if found else unknown).append(row)
    # The counters have the order of the record, and ratios follow them.
    columns = [("counters", lambda cell, side: cell.title if side is sides[0] else ""),
               ("side", lambda cell, side: side[1]), *map(of_counter, known),
               *((head, of) for event, head, of in DERIVED
                 if (is_counted(cells, event) if event else sides[0][2]))]
    yield from table.of([(cell, side) for cell in cells for side in sides],
                        [(head, lambda row, of=of: of(*row)) for head, of in columns], keys=2)
    yield from uncounted(unknown)
