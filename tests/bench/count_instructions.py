#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""count_instructions ROUNDS MESSAGES [WAY...]: runs the load with each tool attached, in a guest of the lab whose
PMU counts instructions, and writes one line of JSON per run: what the sender executed.

Tools that attach quickly are interleaved with a run without tools. Slow ones are attached once, and their runs
follow: unlike times, instructions do not drift with a machine's heat and clock.
"""

import collections
import json
import os
import pathlib
import sys

import programs
import tools
from tools import Tool

BIN = pathlib.Path(os.environ["SENDPATH_BIN"])
ANALYZE = BIN / "analyze"
# rcvlowat: a receiver that each message wakes would cost instructions of whichever end runs at that moment.
LOAD = ("--size", 256, "--rcvlowat", "64K")
UNOBSERVED = (1, 100)

# options: of analyze; if this analyze lacks one of them, the way is skipped. tool: a program that is attached without
# analyze. slow: the tool takes long to start.
Way = collections.namedtuple("Way", "name options tool slow variant threads",
                             defaults=(None, False, "twocopy", 1))

NOTHING = ("--mechanism", "none")


def observing(*options):
    return Tool((ANALYZE, *options, "--interval", 1), tools.prints("sends"))


WAYS = (
    Way("none", NOTHING),
    Way("fentry", ("--mechanism", "fentry")),
    Way("fentry --cost", ("--mechanism", "fentry", "--cost")),
    Way("fentry --call-counters", ("--mechanism", "fentry", "--call-counters", "instructions")),
    Way("fentry --by process", ("--mechanism", "fentry", "--by", "process")),
    Way("fentry --stages", ("--mechanism", "fentry", "--stages")),
    Way("fentry --sample 100", ("--mechanism", "fentry", "--sample", 100)),
    Way("fentry --stages --call-counters",
        ("--mechanism", "fentry", "--stages", "--call-counters", "instructions")),
    Way("kprobe", ("--mechanism", "kprobe")),
    Way("kprobe --stages", ("--mechanism", "kprobe", "--stages")),
    Way("tracepoint", ("--mechanism", "tracepoint")),
    Way("tracepoint --stages", ("--mechanism", "tracepoint", "--stages")),
    *(Way(f"zerocopy, {mechanism}", ("--mechanism", mechanism), variant="zerocopy")
      for mechanism in ("none", "fentry", "kprobe", "tracepoint")),
    # Every sender is observed.
    Way("fentry --all", NOTHING, observing("--mechanism", "fentry", "--all")),
    # Observes this process, which sends nothing: measures the overhead for unobserved senders.
    *(Way(f"unobserved, {threads} threads", NOTHING,
          observing("--mechanism", "fentry", "--pid", os.getpid()), threads=threads)
      for threads in UNOBSERVED),
    *(Way(f"none, {threads} threads", NOTHING, threads=threads) for threads in UNOBSERVED[1:]),
    Way("empty fentry and fexit", NOTHING,
        Tool((BIN / "tests/bench/empty",), tools.prints("attached"))),
    *(Way(name, NOTHING, tool, True) for name, tool in tools.TOOLS.items()),
)


def report(way, **what):
    print(json.dumps({"way": way.name, **what}), flush=True)


def measure(way, messages):
    done = programs.must([ANALYZE, "--variant", way.variant, *LOAD, "--threads", way.threads,
                          "--messages", -(-messages // way.threads), *way.options, "--json", "-"])
    record = json.loads(done.output)
    (row,) = [row for row in record["counters"]
              if (row["event"], row["scope"]) == ("instructions", "sender")]
    if row["status"] != "counted":
        raise programs.Failed(f"instructions are not counted: {row['reason']}")
    report(way, instructions=row["value"], sends=record["app"]["send_calls"])


def run(way, messages, times=1):
    if not way.tool:
        return measure(way, messages)
    with tools.attached(way.tool):
        for _ in range(times):
            measure(way, messages)


def all_ways():
    text = programs.must([ANALYZE, "--help=all"]).output
    return [way for way in WAYS
            if all(option.lstrip("-") in text for option in map(str, way.options)
                   if option[:2] == "--")]


def main():
    rounds, messages = map(int, sys.argv[1:3])
    ways = [way for way in all_ways() if way.name in (sys.argv[3:] or [way.name])]
    os.environ["PYTHONUNBUFFERED"] = "1"  # makes bcc print at once that it is ready
    lost = set()
    steps = [(way, 1) for _ in range(rounds) for way in ways if not way.slow]
    steps += [(way, rounds) for way in ways if way.slow]
    for way, times in steps:
        if way in lost:
            continue
        try:
            run(way, messages, times)
        except programs.Failed as problem:
            # Without a run to compare with, no other run is useful.
            if way.name == "none":
                raise
            lost.add(way)
            report(way, reason=str(problem))


if __name__ == "__main__":
    try:
        main()
    except programs.Failed as failure:
        sys.exit(str(failure))
