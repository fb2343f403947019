# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures whether an observation leaves anything behind: the speed of a program after the analyzer has observed it
many times, beside a program that was never observed. Both are the tests' own sender, started anew for each run.
"""

import contextlib
import functools
import json
import subprocess
import time

import loads
import pairs
import programs
from printing import interval, level, spread, table

PEER, SINK = loads.PROGRAMS / "peer", loads.PROGRAMS / "sink"
SIZE = 256
BATCH = 10_000
TIMES = 20
QUICK_TIMES = 2


@contextlib.contextmanager
def running(*command, end=""):
    with subprocess.Popen([str(part) for part in command], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        yield process, json.loads(process.stdout.readline())
        process.communicate(end)
        if process.returncode:
            raise programs.Failed(f"{command[0]} ended with {process.returncode}")


def send(sender, count):
    sender.stdin.write(f"send {count}\n")
    sender.stdin.flush()
    return json.loads(sender.stdout.readline())["sends"]


def speed(times, seconds):
    """Returns sends per second after the process was observed this many times while it sent."""
    with running(SINK) as (_, receiver), \
            running(PEER, "--port", receiver["port"], "--plain", "--size", SIZE, "--steps",
                    end="quit\n") as (sender, _):
        for _ in range(times):
            with subprocess.Popen([loads.ANALYZE, "--json", "-", "--pid", str(sender.pid),
                                   "--duration", "0.01"], stdout=subprocess.DEVNULL) as analyzer:
                while analyzer.poll() is None:
                    send(sender, 100)
            if analyzer.returncode:
                raise programs.Failed(f"analyze --pid ended with {analyzer.returncode}")
        before = send(sender, BATCH)  # warms the sender up
        begun = time.monotonic()
        while time.monotonic() < begun + seconds:
            sent = send(sender, BATCH)
        return (sent - before) / (time.monotonic() - begun)


class Section:
    name = "attach"

    def __init__(self, settings):
        self.undisturbed = settings.undisturbed
        self.seconds = settings.seconds
        self.times = QUICK_TIMES if settings.quick else TIMES
        self.observed, self.alone = [], []

    def missing(self):
        return loads.lacks_programs("peer", "sink") or loads.cannot_measure()

    def round(self, number):
        observed, alone = self.undisturbed.run_pair(
            number, functools.partial(speed, self.times, self.seconds),
            functools.partial(speed, 0, self.seconds))
        self.observed.append(observed)
        self.alone.append(alone)

    def data(self):
        if not self.observed:
            return {"times": self.times}
        return {"times": self.times,
                "ratio": pairs.summarise(pairs.ratios(self.observed, self.alone)),
                "observed_sends_s": pairs.summarise(self.observed),
                "alone_sends_s": pairs.summarise(self.alone)}

    def text(self):
        lines = [f"after the analyzer came and went {self.times} times: sends a second of a program "
                 f"over those of one that was never observed; {SIZE} bytes, loopback"]
        data = self.data()
        if "ratio" in data:
            ratio = data["ratio"]
            lines.append(table(
                ["ratio", level(ratio), "range", "observed sends/s", "never observed"],
                [[f"{ratio.median:.3f}", interval(ratio, "{:.3f}"), spread(ratio, "{:.3f}"),
                  f"{data['observed_sends_s'].median:,.0f}",
                  f"{data['alone_sends_s'].median:,.0f}"]]))
        return "\n".join(lines)
