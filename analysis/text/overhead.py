# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the measuring programs cost, where --cost has the kernel count it."""

from . import units
from .record import value
from .spread import total


def cpu_time(cell):
    """Of what was measured, over all repeats; 0 where any of them lacks it."""
    found = list(zip(cell.numbers("overhead/bpf_ns"), cell.numbers("overhead/cpu_share")))
    if any(ns is None or share is None or share <= 0 for ns, share in found):
        return 0.0
    return total(ns / share for ns, share in found)


def line(cell):
    ns, runs = cell.sum("overhead/bpf_ns"), cell.sum("overhead/bpf_runs")
    if ns is None or runs is None:
        return ""
    whose = "of the command" if cell.at("load") is None else "of sender and receiver"
    sends = total(value(call, "sends") for call in cell.rows("calls"))
    cpu_ns, text = cpu_time(cell), f"overhead, {cell.title}: "
    if sends > 0:
        text += f"{units.whole(ns / sends)} ns per send, "
    if cpu_ns > 0:
        text += f"{units.percent(ns, cpu_ns)} of the CPU time {whose}, "
    return f"{text}{units.counted(runs, 'run')} of the BPF programs"


def overhead(cells):
    """A line a cell."""
    return filter(None, map(line, cells))
