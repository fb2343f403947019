# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints how many bytes the machine's memory and devices transferred during runs, if --memory counted them."""

from . import table
from .columns import rate
from .record import at, flag, rows, string

GIB = 1 << 30
ELAPSED = "app/elapsed_s"
COLUMNS = (
    ("read GiB/s", "memory/read_bytes", ELAPSED, GIB),
    ("write GiB/s", "memory/write_bytes", ELAPSED, GIB),
    ("bytes/byte sent", "memory/bytes", "app/bytes", 1),
    ("I/O read misses/s", "memory/io_read_misses", ELAPSED, 1),
    ("write misses/s", "memory/io_write_misses", ELAPSED, 1),
    ("PCIe in GiB/s", "memory/io_in_bytes", ELAPSED, GIB),
    ("out GiB/s", "memory/io_out_bytes", ELAPSED, GIB),
)


def reason(record):
    """Returns why the record does not have the number of bytes read from memory."""
    return next((string(row, "reason") for row in rows(record, "unmeasured")
                 if string(row, "key") == "memory.read_bytes"), "not counted")


def memory(cells):
    """Yields a row for each cell, with the columns that have a number in at least one cell."""
    if at(cells.record, "memory") is None:
        return
    shown = [(head, rate(path, per, unit)) for head, path, per, unit in COLUMNS
             if any(cell.sum(path) is not None for cell in cells)]
    if not shown:
        yield f"memory: {reason(cells.record)}"
    else:
        yield from table.of(cells, [("memory, whole machine", lambda cell: cell.title), *shown])
        if at(cells.record, "memory/source") is None:
            yield f"  reads and writes: {reason(cells.record)}"
        else:
            how = "estimated" if flag(cells.record, "memory/is_estimate") else "counted"
            yield f"  {how} by: {string(cells.record, 'memory/source')}"
