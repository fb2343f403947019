# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the measuring programs cost, where --cost has the kernel count it."""

from . import units
from .record import number, value


def cpu_time(cell):
    """Of what was measured, over all repeats; 0 where any of them lacks it."""
    total = 0.0
    for record in cell.records:
        share, ns = number(record, "observer/cpu_share"), number(record, "observer/bpf_ns")
        if share is None or share <= 0 or ns is None:
            return 0.0
        total += ns / share
    return total


def line(cell):
    ns, runs = cell.sum("observer/bpf_ns"), cell.sum("observer/bpf_runs")
    if ns is None or runs is None:
        return ""
    whose = "of the command" if cell.at("load") is None else "of sender and receiver"
    sends, cpu_ns, text = 0.0, cpu_time(cell), f"overhead, {cell.title}: "
    for call in cell.rows("calls"):
        sends += value(call, "sends")
    if sends > 0:
        text += f"{units.whole(ns / sends)} ns per send, "
    if cpu_ns > 0:
        text += f"{units.percent(ns, cpu_ns)} of the CPU time {whose}, "
    return f"{text}{units.counted(runs, 'run')} of the BPF programs"


def overhead(cells):
    """A line a cell."""
    said = [*filter(None, map(line, cells))]
    yield from said
    if said:
        yield ""
