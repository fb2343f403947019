# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests hardware counters of each side, where the machine has a PMU.

The lab's arm64 guests have a PMU. It counts cycles, and with --icount also instructions, which are then nearly equal in
equal runs.
"""

import collections
import itertools
import json
import os
import subprocess

import pytest

from conftest import ROOT, VARIANTS, needs_bpf, only, records

ICOUNT = os.environ.get("SENDPATH_ICOUNT") == "1"
SIDES = {"sender", "receiver"}
LOAD = ("--messages", 300, "--size", "64K")
PLAIN = ("--mechanism", "none", "--variant", "twocopy")
CACHE_LINE = 64
REPEATABLE = 0.05


def rows(record, event):
    """Returns {side: rows of this event}; with a hybrid CPU, a side has several."""
    found = {side: [] for side in SIDES}
    for row in record["counters"]:
        if row["event"] == event:
            found[row["scope"]].append(row)
    return found


def total(record, event, side):
    return sum(row["value"] for row in rows(record, event)[side])


@pytest.fixture(scope="module", autouse=True)
def pmu():
    """Skips the test if cycles cannot be counted here, with the reason from a record."""
    record = only(records(*PLAIN, "--messages", 1))
    cycles = [row for side in rows(record, "cycles").values() for row in side]
    if all(row["status"] != "counted" for row in cycles):
        pytest.skip(f"no hardware counters: {cycles[0]['reason']}")


def counted(record, event):
    """Asserts that the event was counted on both sides, all of the time."""
    for side, found in rows(record, event).items():
        assert {row["status"] for row in found} == {"counted"}, found
        assert total(record, event, side) > 0
        for row in found:
            assert row["enabled_ns"] >= row["running_ns"] > 0, row


@needs_bpf
@pytest.mark.parametrize("variant", VARIANTS)
def test_each_side_has_its_counts(variant):
    record = only(records("--variant", variant, *LOAD))
    counted(record, "cycles")
    if ICOUNT:
        counted(record, "instructions")
    # On each side, the program or the kernel copies every message.
    for side in SIDES:
        assert total(record, "cycles", side) > record["app"]["bytes"] / CACHE_LINE


def test_more_work_is_more_cycles():
    few, many = (only(records(*PLAIN, "--size", "64K", "--messages", count))
                 for count in (100, 1000))
    for side in SIDES:
        assert total(many, "cycles", side) > 2 * total(few, "cycles", side)


# Needs one CPU: on two CPUs, the ends would wait for each other's lock, which takes instructions.
@pytest.mark.skipif(not ICOUNT or os.cpu_count() != 1,
                    reason="needs a guest of the lab with --icount --cpus 1")
def test_equal_runs_count_equally():
    """Compares two of at most four runs: the receiver may wake more often in one of them."""
    counts = {side: [] for side in SIDES}
    for _ in range(4):
        record = only(records(*PLAIN, *LOAD))
        for side, found in counts.items():
            found.append(total(record, "instructions", side))
        if all(any(abs(a - b) <= REPEATABLE * max(a, b) for a, b in itertools.combinations(found, 2))
               for found in counts.values()):
            return
    raise AssertionError(counts)


def instructions(*ways):
    """Returns {way of tracing: instructions of a send}, counted by tests/bench. Takes the least of three runs, because
    the others have more timer interrupts.
    """
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/bench/count_instructions.py", "3",
                           "1000", *ways], capture_output=True, text=True, check=True, timeout=600)
    found = collections.defaultdict(list)
    for line in map(json.loads, done.stdout.splitlines()):
        found[line["way"]].append(line["instructions"] / line["sends"])
    assert {way: len(counts) for way, counts in found.items()} == dict.fromkeys(ways, 3), done.stderr
    return {way: min(counts) for way, counts in found.items()}


@pytest.mark.skipif(not ICOUNT or os.cpu_count() != 1,
                    reason="needs a guest of the lab with --icount --cpus 1")
def test_what_measuring_adds_is_bounded():
    found = instructions("none", "fentry", "unobserved, 1 threads", "zerocopy, none",
                         "zerocopy, fentry")
    assert found["fentry"] <= 1.25 * found["none"], found
    assert found["unobserved, 1 threads"] <= 1.2 * found["none"], found
    assert found["zerocopy, fentry"] <= 1.3 * found["zerocopy, none"], found
