# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The load generator against iperf3: is it a load worth measuring with?

One thread, one stream, one buffer a message, loopback. Both are warmed up and measured
for the same whole seconds, because iperf3 knows no others; both count what was received.
Not the same: with small messages iperf3 also receives small, the load generator always
receives up to 64 KiB at once.
"""

import functools
import math

import loads
import pairs
from table import gbit, interval, level, size, spread, table

SIZES = (4 << 10, 64 << 10, 1 << 20)


class Section:
    name = "iperf3"

    def __init__(self, settings):
        self.seconds = math.ceil(settings.seconds)
        self.pinned = not settings.unpinned
        self.cells = {count: ([], []) for count in (SIZES[1:2] if settings.quick else SIZES)}

    def missing(self):
        return loads.cannot_load() or loads.lacks("iperf3", "iperf3")

    def round(self, number):
        for count, (ours, theirs) in self.cells.items():
            a, b = pairs.take(number, functools.partial(self._loadgen, count),
                              functools.partial(self._iperf3, count))
            ours.append(a)
            theirs.append(b)

    def _loadgen(self, count):
        return loads.loadgen("--variant", "onecopy", "--fields", 1, "--size", count,
                             "--duration", self.seconds, "--warmup", self.seconds,
                             "--pin", "auto" if self.pinned else "none")

    def _iperf3(self, count):
        return loads.iperf3(count, self.seconds, self.seconds, self.pinned)

    def text(self):
        where = "both pinned apart" if self.pinned else "neither pinned"
        lines = [f"load generator over iperf3: onecopy, 1 field, loopback, {where}; "
                 f"{self.seconds} s after {self.seconds} s of warm-up, both"]
        rows = []
        for cell in self.data()["cells"]:
            ratio = cell["ratio"]
            rows.append([size(cell["message_bytes"]), f"{ratio.median:.2f}",
                         interval(ratio, "{:.2f}"), spread(ratio, "{:.2f}"),
                         gbit(cell["loadgen"].median), gbit(cell["iperf3"].median)])
            heading = level(ratio)
        if rows:
            lines.append(table(["size", "ratio", heading, "range", "loadgen Gbit/s",
                                "iperf3 Gbit/s"], rows))
            lines.append("loadgen's receiver wakes in bulk, as by default; iperf3's at any "
                         "arrival, which --rcvlowat 1 does too")
        return "\n".join(lines)

    def data(self):
        return {"seconds": self.seconds, "warmup_s": self.seconds, "pinned": self.pinned,
                "cells": [{"message_bytes": count,
                           "ratio": pairs.summarise(pairs.ratios(ours, theirs)),
                           "loadgen": pairs.summarise(ours), "iperf3": pairs.summarise(theirs),
                           "loadgen_bps": ours, "iperf3_bps": theirs}
                          for count, (ours, theirs) in self.cells.items() if ours]}
