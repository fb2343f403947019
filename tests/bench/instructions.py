# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures the instructions that measuring adds to a send, beside other tools.

Instructions are counted in a guest of the lab, whose emulated PMU counts only what the guest executes. The guest has
one CPU: on two, sender and receiver would wait for each other, which takes instructions too.
"""

import json
import pathlib

import loads
import pairs
import programs
from printing import interval, level, spread, table

LAB = loads.ROOT / "tests/lab/lab"
PROGRAMS = loads.ROOT / "build-arm64"
KERNEL = "6.12-arm64"
GUEST = ("--kernel", KERNEL, "--cpus", 1, "--icount")
SCRIPT = pathlib.Path(__file__).with_name("count_instructions.py")
CANNOT = 77
ROUNDS, MESSAGES = 4, 5000
QUICK_ROUNDS, QUICK_MESSAGES = 2, 500
TIMEOUT_S = 1800


def unattached(way, runs):
    """Returns the name of the same load with nothing attached."""
    load = way.split(", ")
    for name in (f"{load[0]}, none", f"none, {load[-1]}"):
        if name in runs:
            return name
    return "none"


def added(runs):
    """Returns for each way how many more instructions a send took than without tools in the same round."""
    return {way: pairs.summarise(pairs.differences(values, runs[unattached(way, runs)][:len(values)]))
            for way, values in runs.items() if "none" not in way.split(", ")}


class Section:
    name = "instructions"

    def __init__(self, settings):
        self.rounds = QUICK_ROUNDS if settings.quick else ROUNDS
        self.messages = QUICK_MESSAGES if settings.quick else MESSAGES
        self.runs = {}
        self.reasons = {}
        self.done = False

    def missing(self):
        if not (PROGRAMS / "analyze").exists():
            return "no programs for an arm64 guest: run make cross, which prints why"
        # This first run also downloads the guest's kernel and headers.
        probe = programs.run([LAB, *GUEST, "--headers", "--", "true"], TIMEOUT_S)
        if probe.status == CANNOT:
            return probe.errors.strip().splitlines()[-1]
        if probe.status:
            raise programs.Failed(f"lab: status {probe.status}: {probe.errors.strip()}")
        return None

    def round(self, _number):
        """Runs everything in one guest, which interleaves the runs itself."""
        if self.done:
            return
        self.done = True
        guest = programs.must([LAB, *GUEST, "--headers", "--timeout", TIMEOUT_S, "--",
                               "/usr/bin/python3", SCRIPT, self.rounds, self.messages],
                              TIMEOUT_S + 60)
        for line in map(json.loads, guest.output.splitlines()):
            if "reason" in line:
                self.reasons[line["way"]] = line["reason"]
            else:
                self.runs.setdefault(line["way"], []).append(
                    line["instructions"] / line["sends"])
        if not self.runs:
            raise programs.Failed("the guest ran nothing")

    def text(self):
        lines = ["what measuring costs, in instructions of the sender: twocopy, 256 bytes, 8 "
                 f"fields, 1 thread, loopback; {self.rounds} runs of {self.messages:,} sends, "
                 f"in a guest: Linux {KERNEL}, 1 CPU"]
        if not self.runs:
            return lines[0]
        more = added(self.runs)
        rows, heading = [], "interval"
        for way, values in self.runs.items():
            total = pairs.summarise(values)
            extra = more.get(way)
            heading = level(total)
            rows.append([way, f"{total.median:,.0f}",
                         *(["-"] * 3 if extra is None else
                           [f"{extra.median:+,.0f}", interval(extra, "{:+,.0f}"),
                            spread(extra, "{:+,.0f}")])])
        rows += [[way, "not measured", *["-"] * 3] for way in self.reasons]
        lines.append(table(["attached", "instructions a send", "added", heading, "range"], rows))
        lines += [f"{way} not measured: {reason}" for way, reason in self.reasons.items()]
        return "\n".join(lines)

    def data(self):
        if not self.runs:
            return {"ways": []}
        more = added(self.runs)
        return {"kernel": KERNEL, "messages": self.messages, "reasons": self.reasons,
                "ways": [{"way": way, "instructions_a_send": values,
                          "added": more.get(way)} for way, values in self.runs.items()]}
