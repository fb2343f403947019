# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What measuring costs beside other tools that time sends: the same load while each of them is
attached, all for every process of the machine, and without.
"""

import os

import loads
import pairs
import programs
import startup
import tools
from table import interval, level, table

ALL = {"analyze --all": tools.Tool((loads.ANALYZE, "--all", "--interval", 1), tools.says("sends")),
       **tools.TOOLS}
LOAD = ("--variant", "twocopy", "--size", 256)
WARMUP_S = 0.3
QUICK_WARMUP_S = 0.05


class Section:
    name = "tools"

    def __init__(self, settings):
        self.undisturbed = settings.undisturbed
        self.load = (*LOAD, "--duration", settings.seconds,
                     "--warmup", QUICK_WARMUP_S if settings.quick else WARMUP_S)
        self.cells = {name: ([], []) for name in ALL}
        self.reasons = {}

    def missing(self):
        os.environ["PYTHONUNBUFFERED"] = "1"  # that bcc says at once when it is ready
        return loads.cannot_measure() or startup.see_tracefs()

    def _plain(self):
        return loads.loadgen(*self.load)

    def _beside(self, name):
        tool = ALL[name]
        with programs.Program(tool.command) as program:
            program.wait_until(lambda: tool.ready(program), tool.start_s)
            return self._plain()

    def round(self, number):
        for name, (attached, plain) in self.cells.items():
            if name in self.reasons:
                continue
            try:
                a, b = self.undisturbed.take(number, lambda name=name: self._beside(name),
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
                          "attached_bps": attached, "plain_bps": plain})
        return {"cells": cells, "reasons": self.reasons}

    def text(self):
        lines = ["what measuring costs beside other tools: throughput with each attached, for all "
                 f"processes, over without; analyze {' '.join(map(str, LOAD))}"]
        data = self.data()
        if data["cells"]:
            ratios = [cell["ratio"] for cell in data["cells"]]
            lines.append(table(["attached", "ratio", level(ratios[0])],
                               [[cell["tool"], f"{ratio.median:.3f}", interval(ratio, "{:.3f}")]
                                for cell, ratio in zip(data["cells"], ratios, strict=True)]))
        lines += [f"{name}: not compared: {why}" for name, why in data["reasons"].items()]
        return "\n".join(lines)
