# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the cost of measuring with a lower limit: the time of a message untraced, with empty programs on the
analyzer's own tracepoints, and measured. Compares the exporter with an observation.
"""

import collections
import functools

import loads
import others
import pairs
import tools
from cost import send_ns
from printing import interval, level, size, table

PARTS = 4  # a round's time is divided into this many runs
EMPTY = loads.ROOT / "build/tests/bench/empty"
# The analyzer uses only tracepoints, too, because the empty programs attach to no other hooks.
TRACEPOINTS = ("--mechanism", "tracepoint")
# Targets of two ratios: (measured - untraced) / (limit - untraced), and measured / untraced. tools: the programs that
# serve as the limit and as the measurement, if these are other programs.
Cell = collections.namedtuple("Cell", "variant size over_limit over_untraced tools",
                              defaults=(None,))
CELLS = (Cell("onecopy", 256, 2.0, None),
         Cell("zerocopy", 256, 2.5, 1.45),
         Cell("zerocopy", 64 << 10, None, 1.15),
         Cell("twocopy", 256, 1.2, None, (f"analyze {others.OURS[0]}",
                                          f"analyze {others.OURS[-1]}")))


@functools.cache
def attached_tracepoints(variant):
    """Returns the tracepoints to which the analyzer attaches programs for a load of this variant, without duplicates."""
    record = loads.result(loads.ANALYZE, *TRACEPOINTS, "--variant", variant, "--messages", 1)
    symbols = [hook["symbol"].split(", ") for hook in record["plan"]["hooks"]
               if hook["status"] == "attached"]
    return tuple(dict.fromkeys(sum(symbols, [])))


def beside(tool, load):
    with tools.attached(tool):
        return loads.loadgen(*load)


def limit_and_measured(cell, load):
    """Returns two functions that run the load: beside the limit, and measured."""
    if cell.tools:
        return [functools.partial(beside, others.ALL[name], load) for name in cell.tools]
    empty = tools.Tool((EMPTY, *attached_tracepoints(cell.variant)), tools.prints("attached"))
    return (functools.partial(beside, empty, load),
            functools.partial(loads.analyze, *load, *TRACEPOINTS))


def over_limit(measured, limit):
    """Returns what measuring added in a round, divided by what the limit added. Noise may make the limit's cost 0 or
    negative; it then counts as 1, so that the median is still right.
    """
    return [more / max(least, 1) for more, least in zip(measured, limit, strict=True)]


def summarise(cell, rounds):
    untraced, limit, measured = zip(*rounds, strict=True)
    limit_adds, measured_adds = (pairs.differences(ns, untraced) for ns in (limit, measured))
    return {"variant": cell.variant, "message_bytes": cell.size, "tools": cell.tools,
            "tracepoints": None if cell.tools else attached_tracepoints(cell.variant),
            "untraced_ns": pairs.summarise(untraced),
            "limit_adds_ns": pairs.summarise(limit_adds),
            "measured_adds_ns": pairs.summarise(measured_adds),
            "over_limit": pairs.summarise(over_limit(measured_adds, limit_adds)),
            "over_limit_target": cell.over_limit,
            "over_untraced": pairs.summarise(pairs.ratios(measured, untraced)),
            "over_untraced_target": cell.over_untraced, "rounds_ns": rounds}


def ratio(summary, target):
    return [f"{summary.median:.2f}", interval(summary, "{:.2f}"), f"{target:.2f}" if target else "-"]


def row(cell):
    return [f"{cell['variant']}{', exporter' if cell['tools'] else ''}",
            size(cell["message_bytes"]), f"{cell['untraced_ns'].median:,.0f}",
            f"{cell['limit_adds_ns'].median:+,.0f}", f"{cell['measured_adds_ns'].median:+,.0f}",
            *ratio(cell["over_limit"], cell["over_limit_target"]),
            *ratio(cell["over_untraced"], cell["over_untraced_target"])]


class Section:
    name = "limit"

    def __init__(self, settings):
        self.undisturbed = settings.undisturbed
        # Differences of a few nanoseconds need many short runs, not long ones.
        self.parts = 1 if settings.quick else PARTS
        self.seconds = settings.seconds / self.parts
        self.rounds = {cell: [] for cell in CELLS}

    def missing(self):
        if not EMPTY.exists():
            return "the empty programs are not built: run make test-programs"
        return loads.cannot_measure()

    def round(self, number):
        for part in range(number * self.parts, (number + 1) * self.parts):
            for cell, rounds in self.rounds.items():
                load = ("--variant", cell.variant, "--size", cell.size, "--fields", 1,
                        "--duration", self.seconds, "--warmup", self.seconds)
                bps = self.undisturbed.run_pair(part, functools.partial(loads.loadgen, *load),
                                            *limit_and_measured(cell, load))
                rounds.append(send_ns(cell.size, bps))

    def data(self):
        return {"seconds": self.seconds, "warmup_s": self.seconds,
                "cells": [summarise(cell, rounds) for cell, rounds in self.rounds.items() if rounds]}

    def text(self):
        lines = ["what measuring costs beside its limit, empty programs on the same tracepoints (for "
                 "the exporter, analyze --all): ns that each adds to a message, their ratio, and "
                 "a measured message over an untraced one; 1 field, 1 thread, loopback; "
                 f"{self.seconds:g} s after as long a warm-up"]
        cells = self.data()["cells"]
        if cells:
            lines[0] += f"; {cells[0]['over_limit'].n} rounds"
            heading = level(cells[0]["over_limit"])
            lines.append(table(["load", "size", "untraced ns", "limit adds", "measuring adds",
                                "over limit", heading, "target", "over untraced", heading,
                                "target"], [row(cell) for cell in cells]))
        return "\n".join(lines)
