# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures what measuring costs: the same load with the analyzer attached and without it.

The loss of throughput includes the whole cost: the time of the kernel programs, the cache lines that they use, and the
analyzer, which only waits.
"""

import functools

import loads
import pairs
from printing import gbit, interval, level, size, table

VARIANTS = ("twocopy", "onecopy", "zerocopy")
SIZES = (256, 4 << 10, 64 << 10)
# Options are measured with only these configurations.
FEW = [(variant, count) for variant in ("twocopy", "zerocopy") for count in (256, 64 << 10)]
OPTIONS = {"": [(variant, count) for variant in VARIANTS for count in SIZES],
           "--stages": FEW,
           "--sample 10": FEW[:1], "--sample 100": FEW, "--sample 1000": FEW[:1]}
WARMUP_S = 0.3
QUICK_WARMUP_S = 0.05


def send_ns(count, bps):
    return [count * 8e9 / b for b in bps]


class Section:
    name = "cost"

    def __init__(self, settings):
        self.undisturbed = settings.undisturbed
        self.seconds = settings.seconds
        self.warmup = QUICK_WARMUP_S if settings.quick else WARMUP_S
        self.cells = {(name, *cell): ([], []) for name, few in OPTIONS.items() for cell in few
                      if not settings.quick or cell[1] == SIZES[0]}

    def missing(self):
        return loads.cannot_measure()

    def round(self, number):
        for (name, variant, count), (attached, plain) in self.cells.items():
            options = ["--variant", variant, "--size", count, "--duration", self.seconds,
                       "--warmup", self.warmup]
            a, b = self.undisturbed.run_pair(number, functools.partial(loads.analyze, *options,
                                                                   *name.split()),
                              functools.partial(loads.loadgen, *options))
            attached.append(a)
            plain.append(b)

    def text(self):
        lines = ["what measuring costs: throughput with the analyzer attached over without; 8 "
                 f"fields, 1 thread, loopback, pinned apart; {self.seconds:g} s after "
                 f"{self.warmup:g} s of warm-up"]
        rows = []
        for cell in self.data()["cells"]:
            ratio, added = cell["ratio"], cell["added_ns"]
            rows.append([f"{cell['variant']} {cell['options']}".strip(),
                         size(cell["message_bytes"]), f"{ratio.median:.3f}",
                         interval(ratio, "{:.3f}"), gbit(cell["attached"].median),
                         gbit(cell["plain"].median), f"{cell['plain_send_ns'].median:,.0f}",
                         f"{added.median:+,.0f}", interval(added, "{:+,.0f}")])
            heading = level(ratio)
        if rows:
            lines.append(table(["variant", "size", "ratio", heading, "with Gbit/s",
                                "without", "ns a send", "added ns", heading], rows))
        return "\n".join(lines)

    def data(self):
        cells = []
        for (name, variant, count), (attached, plain) in self.cells.items():
            if not attached:
                continue
            slow, fast = send_ns(count, attached), send_ns(count, plain)
            cells.append({"variant": variant, "options": name, "message_bytes": count,
                          "ratio": pairs.summarise(pairs.ratios(attached, plain)),
                          "attached": pairs.summarise(attached),
                          "plain": pairs.summarise(plain),
                          "plain_send_ns": pairs.summarise(fast),
                          "added_ns": pairs.summarise(pairs.differences(slow, fast)),
                          "attached_bps": attached, "plain_bps": plain})
        return {"seconds": self.seconds, "warmup_s": self.warmup, "cells": cells}
