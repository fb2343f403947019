# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the table of compared loads, with a row for each cell."""

from analysis import words

from . import table
from .answer import discarded
from .columns import middle, percentile, point, spread, text, time, whole
from .record import count, string
from .spread import total

GIB = 1 << 30
SPEED = "app/throughput_bps"
ANSWER = "app/message_latency_ns"


def ratio(metric):
    """Returns a column's function for the ratio to the reference, with an interval if there is one."""
    def of(cell):
        if cell is cell.reference:
            return "1" if any(other.reference is cell for other in cell.cells if other is not cell) else None
        found = cell.comparisons[metric]
        if found["effect"] is None:
            return None
        return f"{found['effect']:.2f}" + (" ({:.2f}-{:.2f})".format(*found["interval"])
                                           if found["interval"] else "")
    return of


def short_spread(cell):
    """Returns the median throughput in Gbit/s and its range, with about three digits."""
    found = cell.spread(SPEED)
    decimals = 2 if found.high < 1e10 else 1
    return spread(SPEED, 1e9, decimals)(cell)


def wall_p99(cell):
    return point(cell.wall, 990, 1e3)


def cpu_seconds(*sides):
    """Returns a column's function for the CPU time of one end or of both, in seconds per GiB received."""
    def of(cell):
        received, *spent = (cell.sum(path) for path in (
            "app/received_bytes", *(f"{side}/{key}" for side in sides for key in ("user_s", "system_s"))))
        if None in (received, *spent) or received / GIB <= 0:
            return None
        seconds = total(spent) / (received / GIB)
        return words.decimal(seconds, 3 if seconds < 10 else 1)
    return of


def copied(cell):
    if cell.at("zerocopy") is None:
        return None
    block = "zerocopy" if cell.at("zerocopy/io_uring") is None else "zerocopy/io_uring"
    completions, copies = cell.sum(f"{block}/completions", 0.0), cell.sum(f"{block}/copied")
    return "unknown" if copies is None or completions <= 0 else words.percent(copies, completions)


# Columns of --details: the condition of shown() for the column ("": always), its head, its function of a cell.
COLUMNS = (
    ("", "variant", text("load/variant")),
    ("message_bytes", "size", lambda cell: words.size(count(cell.record, "load/message_bytes"))),
    ("fields", "fields", whole("load/fields")),
    ("threads", "threads", whole("load/threads")),
    ("link", "link", text("load/link")),
    ("one", "Gbit/s", middle(SPEED, 1e9, 2)),
    ("repeats", "Gbit/s (range)", spread(SPEED, 1e9, 2)),
    ("variant", "ratio", ratio("throughput")),
    ("", "us/send", lambda cell: time(cell.wall.mean, 1e3) if cell.wall.count else None),
    ("", "p50", lambda cell: point(cell.wall, 500, 1e3)),
    ("", "p99", wall_p99),
    ("request", "answer us p50", percentile(ANSWER, 500, 1e3)),
    ("request", "p99", percentile(ANSWER, 990, 1e3)),
    ("", "CPU s/GiB", cpu_seconds("app")),
    ("", "receiver", cpu_seconds("app/receiver")),
    ("variant", "CPU ratio", ratio("cpu")),
    ("", "copied", copied),
)


# Columns without --details. LESS: sets of conditions to add, from the widest table to the narrowest.
KEYS = COLUMNS[:5]
BRIEF = (
    *KEYS,
    ("speed", "Gbit/s", middle(SPEED, 1e9, 2)),
    ("spread", "Gbit/s (range)", short_spread),
    ("variant", "ratio", ratio("throughput")),
    ("p50", "us p50", lambda cell: point(cell.wall, 500, 1e3)),
    ("p50", "p99", wall_p99),
    ("p99", "us p99", wall_p99),
    ("request", "answer p50", percentile(ANSWER, 500, 1e3)),
    ("", "CPU s/GiB", cpu_seconds("app", "app/receiver")),
    ("zerocopy", "copied", copied),
)
LESS = {"spread", "p50"}, {"speed", "p50"}, {"speed", "p99"}


def brief(cells):
    """Yields the widest table that fits a line, and what is in no comparison."""
    when, keys = shown(cells)
    when |= {"zerocopy"} if any(cell.at("zerocopy") is not None for cell in cells) else set()
    more = LESS if cells.repeats > 1 and keys == 1 else LESS[1:]
    made = [table.of(cells, table.shown(BRIEF, when | some), keys) for some in more]
    yield from next(filter(table.fits, made), made[-1])
    yield from alone(cells)
    yield from discarded(cells)


def alone(cells):
    """Yields the variants that are compared with no other variant."""
    names = dict.fromkeys(string(cell.record, "load/variant") for cell in cells if cell.alone)
    if names and cells.vary("load/variant"):
        yield f"not compared: {', '.join(names)}: another number of fields; --fields 1 makes all equal"


def shown(cells):
    """Returns the conditions of columns that hold for these cells, and how many columns identify a row."""
    keys = {key for key in ("message_bytes", "fields", "threads", "link") if cells.vary(f"load/{key}")}
    return {"", *keys, "repeats" if cells.repeats > 1 else "one",
            *({"request"} & {string(cells.record, "load/workload")}),
            *(["variant"] if cells.vary("load/variant") else [])}, 1 + len(keys)


def detailed(cells):
    """Yields the table with all columns, and what is in no comparison."""
    when, keys = shown(cells)
    yield from table.of(cells, table.shown(COLUMNS, when), keys)
    if "variant" in when:
        yield from alone(cells)
        yield from discarded(cells)
