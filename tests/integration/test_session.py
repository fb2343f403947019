# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that windows of one process, which loads its BPF programs once, count the same as a process per window."""

import os
import re
import shutil
import subprocess

import pytest

from conftest import ANALYZE, NOTHING_LOST, MECHANISMS, VARIANTS, losses, lossy, needs_bpf, only, records

pytestmark = needs_bpf

WINDOWS = 24 if "SENDPATH_LAB" in os.environ else 240
THREADS = 1, 4
MESSAGES = 30
LOADED = re.compile(rb"PROG_LOAD.*prog_name=\"send_length\"")


def run(variants, threads, mechanism, repeats, *more):
    return records("--variant", variants, "--threads", threads, "--repeat", repeats, "--mechanism", mechanism,
                   "--size", "4K", "--messages", MESSAGES, "--warmup", 0, *more, timeout=600)


def counted(record):
    """Returns the counts that are equal in all runs of a load, without times."""
    zerocopy = record["zerocopy"] or {}
    return {
        "calls": [{key: call[key] for key in ("syscall", "zerocopy", "sends", "syscalls", "bytes",
                                              "sizes", "errors")} | {"timed": call["wall_ns"]["count"]}
                  for call in record["calls"]],
        "zerocopy": {key: zerocopy.get(key) for key in ("requests", "completions", "ignored",
                                                        "outstanding", "copied", "bytes")},
        "causes": [(cause["cause"], cause["count"]) for cause in zerocopy.get("causes") or []],
        "received": record["receiver"]["bytes"], "lost": losses(record)}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_many_windows_of_one_process_count_as_many_processes(mechanism, untouched):
    alone = {(variant, threads): only(run(variant, threads, mechanism, 1))
             for variant in VARIANTS for threads in THREADS}
    if any(map(lossy, alone.values())):
        pytest.skip(f"{mechanism} can miss sends or completions here, a few each time")
    repeats = WINDOWS // len(alone)
    together = run(",".join(VARIANTS), ",".join(map(str, THREADS)), mechanism, repeats)
    assert len(together) == repeats * len(alone)
    for record in together:
        one = alone[record["load"]["variant"], record["load"]["threads"]]
        assert record["calls"][0]["bytes"] == record["app"]["bytes"] == record["app"]["received_bytes"]
        assert counted(record) == counted(one)
        assert losses(record) == NOTHING_LOST
        assert record["plan"] == one["plan"]


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_programs_are_loaded_once_for_all_repeats_of_a_variant(untouched):
    trace = subprocess.run(
        ["strace", "-f", "-e", "trace=bpf", "-s", "64", ANALYZE, "--mechanism", "tracepoint", "--variant",
         "onecopy,zerocopy", "--repeat", "4", "--messages", "10", "--warmup", "0"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, timeout=120).stderr
    assert len(LOADED.findall(trace)) == 2  # copying loads have fewer hooks
