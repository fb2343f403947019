# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures the time and the memory of the shortest measurement, beside the same command without the analyzer.

The time includes all steps: start, load, attach, read, detach, exit. Memory is that of the largest process among a
program and its children, as time(1) reports it. A process that this interpreter forks itself would begin with the
interpreter's memory.
"""

import ctypes
import os
import pathlib
import tempfile
import time

import loads
import pairs
import programs
from printing import interval, level, spread, table

CLONE_NEWNS = 0x20000
LOAD = ("--variant", "twocopy", "--messages", 1, "--warmup", 0)
WINDOW_S = 0.1
# The command prints the time at which it runs. The time before that is the analyzer's start.
COMMAND = ("date", "+%s.%N")
# bpftrace scripts: the first probe is a hook of the analyzer, the others are near it. Some versions of bpftrace abort()
# if a script fails, so any status except 0 means that the probe does not work here.
SCRIPTS = [f"{probe} {{ @[cpu] = count(); }} interval:ms:1 {{ exit(); }}" for probe in (
    "rawtracepoint:sock_send_length", "tracepoint:sock:sock_send_length",
    "tracepoint:syscalls:sys_enter_sendto")]
# The same command without the analyzer.
BARE = {"analyze, a load": "loadgen, the load", "analyze -- date": "date",
        "analyze --all": "sleep"}


def see_tracefs():
    """Mounts tracefs for this process only, if it is not mounted: bpftrace needs it to find tracepoints."""
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
        self.no_bpftrace = None  # the reason if bpftrace is left out
        self.runs = {}
        self.peaks_kib = {}
        self.ran_after = {}

    def missing(self):
        return loads.cannot_measure() or loads.lacks("time", "time") or self._prepare()

    def _prepare(self):
        """Runs each command once, so that its files are in the page cache."""
        self.no_bpftrace = loads.lacks("bpftrace", "bpftrace") or self._find_script()
        for command in self._commands().values():
            programs.must(command)

    def _find_script(self):
        """Sets self.script to the first script that works. If there is none, returns the reason."""
        try:
            see_tracefs()
        except programs.Failed as problem:
            return f"bpftrace sees no tracepoints: {problem}"
        for script in SCRIPTS:
            done = programs.run(["bpftrace", "-e", script])
            if not done.status:
                self.script = script
                return None
        lines = (done.errors.strip() or "it printed nothing").splitlines()
        return f"bpftrace can attach to no send here: {lines[-1]}"

    def _commands(self):
        theirs = {"bpftrace": ["bpftrace", "-e", self.script]} if self.script else {}
        return {"analyze, a load": [loads.ANALYZE, *LOAD],
                "loadgen, the load": [loads.LOADGEN, *LOAD],
                "analyze -- date": [loads.ANALYZE, "--", *COMMAND],
                "date": [*COMMAND],
                "analyze --all": [loads.ANALYZE, "--all", "--duration", WINDOW_S],
                "sleep": ["sleep", WINDOW_S],
                **theirs,
                "true": ["true"]}

    def round(self, number):
        commands = list(self._commands().items())
        start = number % len(commands)
        for name, command in commands[start:] + commands[:start]:
            with tempfile.NamedTemporaryFile("r") as peak:
                started = time.time()
                done = programs.must(["time", "-f", "%M", "-o", peak.name, *command])
                self.peaks_kib.setdefault(name, []).append(int(peak.read()))
            self.runs.setdefault(name, []).append(done)
            if tuple(command[-len(COMMAND):]) == COMMAND:
                self.ran_after.setdefault(name, []).append(1e3 * (float(done.output) - started))

    def _walls(self, name):
        return [1e3 * run.wall_s for run in self.runs[name]]

    def _program(self, name):
        """Returns a program's times and memory, and how much more they are than without the analyzer."""
        walls, runs = self._walls(name), self.runs[name]
        result = {"wall_ms": pairs.summarise(walls),
                "cpu_ms": pairs.summarise([1e3 * run.cpu_s for run in runs]),
                "peak_rss_kib": pairs.summarise(self.peaks_kib[name])}
        if name in BARE:
            result["adds_ms"] = pairs.summarise(pairs.differences(walls, self._walls(BARE[name])))
        return result

    def data(self):
        if not self.runs:
            return {"programs": {}}
        data = {"programs": {name: self._program(name) for name in self._commands()},
                "command_runs_after_ms": {name: pairs.summarise(values)
                                          for name, values in self.ran_after.items()}}
        if self.script:
            data["script"] = self.script
            data["analyze_over_bpftrace"] = pairs.summarise(pairs.ratios(
                self._walls("analyze, a load"), self._walls("bpftrace")))
        return data

    def text(self):
        lines = [f"start and memory: one message, a command and a window of {WINDOW_S} s"]
        data = self.data()
        if not data["programs"]:
            return lines[0]
        rows = []
        for name, program in data["programs"].items():
            wall, memory = program["wall_ms"], program["peak_rss_kib"].median
            adds = program.get("adds_ms")
            rows.append([name, f"{wall.median:.1f}", spread(wall, "{:.1f}"),
                         f"{adds.median:+.1f}" if adds else "-",
                         interval(adds, "{:+.1f}") if adds else "-",
                         f"{program['cpu_ms'].median:.0f}", f"{memory / 1024:.1f}"])
        lines.append(table(["program", "wall ms", "range", "added",
                            level(data["programs"]["true"]["wall_ms"]), "CPU ms", "peak MiB"],
                           rows))
        lines += [f"{name}: the command runs after {after.median:.1f} ms "
                  f"({interval(after, '{:.1f}')})"
                  for name, after in data["command_runs_after_ms"].items()]
        if self.script:
            over = data["analyze_over_bpftrace"]
            lines.append(f"a load over bpftrace, attached for 1 ms: {over.median:.2f} "
                         f"({interval(over, '{:.2f}')}); bpftrace -e '{self.script}'")
        else:
            lines.append(f"not compared with bpftrace: {self.no_bpftrace}")
        return "\n".join(lines)
