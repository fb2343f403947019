# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the CPU time of the BPF programs, if --cost made the kernel count it."""

from operator import truediv

from analysis import words

from .record import value
from .spread import total


def line(cell):
    ns, runs = cell.sum("overhead/bpf_ns"), cell.sum("overhead/bpf_runs")
    if ns is None or runs is None:
        return ""
    whose = "of the command" if cell.at("load") is None else "of sender and receiver"
    sends = total(value(call, "sends") for call in cell.rows("calls"))
    each, shares = cell.numbers("overhead/bpf_ns"), cell.numbers("overhead/cpu_share")
    # ns divided by the share is the CPU time of the measured processes. It is known if every repeat has a share.
    known = ns > 0 and all(share and share > 0 for share in shares)
    text = f"overhead, {cell.title}: "
    if sends > 0:
        text += f"{words.whole(ns / sends)} ns per send, "
    if known:
        text += f"{words.percent(ns, total(map(truediv, each, shares)))} of the CPU time {whose}, "
    return f"{text}{words.counted(runs, 'run')} of the BPF programs"


def overhead(cells):
    """Returns a line for each cell whose cost was counted."""
    return filter(None, map(line, cells))
