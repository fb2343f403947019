# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the cost of measuring with that of other tools that time sends: the same load with each tool attached
to every process of the machine, and without.
"""

import os

import loads
import pairs
import programs
import startup
import tools
from cost import QUICK_WARMUP_S, WARMUP_S, send_ns
from printing import interval, level, table

OURS = ("--all --interval 1", *(f"--all --interval 1 --sample {n}" for n in (10, 100, 1000)),
        "exporter --listen 127.0.0.1:0")
ALL = {f"analyze {options}": tools.Tool((loads.ANALYZE, *options.split()),
                                        tools.prints("sends" if "--all" in options else "metrics at"))
       for options in OURS} | tools.TOOLS
PER_S = 100_000  # sends
SIZE = 256
LOAD = ("--variant", "twocopy", "--size", SIZE)


class Section:
    name = "tools"

    def __init__(self, settings):
        self.undisturbed = settings.undisturbed
        self.load = (*LOAD, "--duration", settings.seconds,
                     "--warmup", QUICK_WARMUP_S if settings.quick else WARMUP_S)
        self.cells = {name: ([], []) for name in ALL}
        self.reasons = {}

    def missing(self):
        os.environ["PYTHONUNBUFFERED"] = "1"  # makes bcc print at once that it is ready
        return loads.cannot_measure() or startup.see_tracefs()

    def _plain(self):
        return loads.loadgen(*self.load)

    def _beside(self, name):
        with tools.attached(ALL[name]):
            return self._plain()

    def round(self, number):
        for name, (attached, plain) in self.cells.items():
            if name in self.reasons:
                continue
            try:
                a, b = self.undisturbed.run_pair(number, lambda name=name: self._beside(name),
                                             self._plain)
            except programs.Failed as problem:
                if name not in tools.TOOLS:
                    raise
                self.reasons[name] = str(problem).strip().splitlines()[-1]
                continue
            attached.append(a)
            plain.append(b)

    def data(self):
        cells = []
        for name, (attached, plain) in self.cells.items():
            if name in self.reasons or not attached:
                continue
            cells.append({"tool": name, "command": [str(word) for word in ALL[name].command],
                          "ratio": pairs.summarise(pairs.ratios(attached, plain)),
                          "added_ns": pairs.summarise(pairs.differences(
                              send_ns(SIZE, attached), send_ns(SIZE, plain))),
                          "attached_bps": attached, "plain_bps": plain})
        return {"cells": cells, "reasons": self.reasons}

    def text(self):
        lines = ["what measuring costs beside other tools: throughput with each attached, for all "
                 f"processes, over without, and how much of a CPU it takes at {PER_S:,} sends "
                 f"a second; analyze {' '.join(map(str, LOAD))}"]
        data = self.data()
        if data["cells"]:
            rows = []
            for cell in data["cells"]:
                ratio, added = cell["ratio"], cell["added_ns"]
                rows.append([cell["tool"], f"{ratio.median:.3f}", interval(ratio, "{:.3f}"),
                             f"{added.median:+,.0f}", interval(added, "{:+,.0f}"),
                             f"{added.median * PER_S / 1e7:.1f}"])
            heading = level(ratio)
            lines.append(table(["attached", "ratio", heading, "added ns", heading, "CPU %"], rows))
        lines += [f"{name}: not compared: {why}" for name, why in data["reasons"].items()]
        return "\n".join(lines)
