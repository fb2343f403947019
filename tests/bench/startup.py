# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Start-up and memory: the least measurement there is, beside the least of bpftrace.

Load, attach, read, detach, exit. Of a program and its children, memory is the largest
process, as wait4() tells it: a child begins with what this interpreter held, so nothing
below the same reading for true(1) can be told apart.
"""

import ctypes
import os
import pathlib

import loads
import pairs
import programs
from table import interval, level, spread, table

CLONE_NEWNS = 0x20000
LOAD = ("--variant", "twocopy", "--messages", 1, "--warmup", 0)
# bpftrace's way to the analyzer's own hook, else the nearest. Some versions end a script
# that fails by abort(): any status but 0 means that this one is not for here.
SCRIPTS = [f"{probe} {{ @[cpu] = count(); }} interval:ms:1 {{ exit(); }}" for probe in (
    "rawtracepoint:sock_send_length", "tracepoint:sock:sock_send_length",
    "tracepoint:syscalls:sys_enter_sendto")]


def see_tracefs():
    """bpftrace finds tracepoints by tracefs: mounted for this process alone if it is not."""
    if any(pathlib.Path(place, "events").exists()
           for place in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise programs.Failed(f"no mount namespace: {os.strerror(ctypes.get_errno())}")
    programs.must(["mount", "--make-rprivate", "/"])
    programs.must(["mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing"])


class Section:
    name = "startup"

    def __init__(self, _settings):
        self.script = None
        self.runs = {}

    def missing(self):
        return loads.cannot_measure() or loads.lacks("bpftrace", "bpftrace") or self._prepare()

    def _prepare(self):
        """Finds a script that works; runs everything once, so that all is in the page cache."""
        try:
            see_tracefs()
        except programs.Failed as problem:
            return f"bpftrace sees no tracepoints: {problem}"
        for script in SCRIPTS:
            done = programs.run(["bpftrace", "-e", script])
            if not done.status:
                self.script = script
                break
        else:
            said = (done.errors.strip() or "it said nothing").splitlines()
            return f"bpftrace can attach to no send here: {said[-1]}"
        for command in self._commands().values():
            programs.must(command)
        return None

    def _commands(self):
        return {"analyze": [loads.ANALYZE, *LOAD], "loadgen": [loads.LOADGEN, *LOAD],
                "bpftrace": ["bpftrace", "-e", self.script], "true": ["true"]}

    def round(self, number):
        commands = list(self._commands().items())
        start = number % len(commands)
        done = {name: programs.must(command)
                for name, command in commands[start:] + commands[:start]}
        for name, _ in commands:
            self.runs.setdefault(name, []).append(done[name])

    def _walls(self, name):
        return [1e3 * run.wall_s for run in self.runs[name]]

    def data(self):
        if not self.runs:
            return {"programs": {}}
        ours, load, theirs = (self._walls(name) for name in ("analyze", "loadgen", "bpftrace"))
        return {
            "script": self.script,
            "programs": {name: {"wall_ms": pairs.summarise(self._walls(name)),
                                "peak_rss_kib": pairs.summarise(
                                    [run.peak_rss_kib for run in runs])}
                         for name, runs in self.runs.items()},
            "measuring_adds_ms": pairs.summarise(pairs.differences(ours, load)),
            "analyze_over_bpftrace": pairs.summarise(pairs.ratios(ours, theirs)),
        }

    def text(self):
        lines = ["start-up and memory: one message measured, beside bpftrace attached for 1 ms"]
        data = self.data()
        if not data["programs"]:
            return lines[0]
        floor = data["programs"]["true"]["peak_rss_kib"].median
        rows = []
        for name, program in data["programs"].items():
            wall, memory = program["wall_ms"], program["peak_rss_kib"].median
            told = f"{memory / 1024:.1f}" if memory > 1.05 * floor else f"<= {floor / 1024:.1f}"
            rows.append([name, f"{wall.median:.1f}", interval(wall, "{:.1f}"),
                         spread(wall, "{:.1f}"), told])
        adds, over = data["measuring_adds_ms"], data["analyze_over_bpftrace"]
        lines.append(table(["program", "wall ms", level(wall), "range", "peak MiB"], rows))
        lines.append(f"measuring adds {adds.median:.1f} ms ({interval(adds, '{:.1f}')}) to the "
                     f"load alone; analyze over bpftrace {over.median:.2f} "
                     f"({interval(over, '{:.2f}')})")
        lines.append(f"bpftrace -e '{self.script}'")
        return "\n".join(lines)
