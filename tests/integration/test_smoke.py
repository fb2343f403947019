# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests inside a guest of the lab that its kernel behaves as documented."""

import json
import os
import sys

import pytest

from conftest import ANALYZE, CALLS, ROOT, MECHANISMS, VARIANTS, analyze, hook, only, records, run
from test_counts import exact, settled, timed

sys.path.insert(0, str(ROOT / "tests/lab"))
import support  # noqa: E402 pylint: disable=wrong-import-position

THREADS = 2


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_variant_counts_exactly(mechanism, untouched):
    found = {record["load"]["variant"]: record for record in records(
        "--variant", "all", "--size", "4K", "--threads", THREADS, "--messages", CALLS // THREADS,
        "--mechanism", mechanism)}
    assert set(found) == set(VARIANTS)
    for variant, record in found.items():
        assert record["plan"]["tier"] == mechanism
        exact(record, variant, CALLS // THREADS * THREADS)
        timed(record, mechanism)
    if hook(found["zerocopy"], "completion")["status"] == "attached":
        settled(found["zerocopy"])


def test_a_command_has_the_limits_of_its_caller():
    """analyze raises only its own limit: before Linux 5.11, BPF maps count as locked memory."""
    result = run("prlimit", "--memlock=65536:65536", ANALYZE, "--json", "-", "--", "sh", "-c", "ulimit -l")
    limit, record = result.stdout.splitlines()
    assert (limit, json.loads(record)["privilege"]["memlock"]) == ("64", 65536)


def test_hooks_are_as_documented(untouched):
    found = analyze("doctor", "--hooks")
    assert found.returncode == 0, found.stdout + found.stderr
    complaints = support.complaints(os.environ["SENDPATH_LAB"], support.parse(found.stdout),
                                    support.documented(support.PAGE.read_text()))
    assert not complaints, "\n".join(complaints)


@pytest.mark.skipif("kprobe" not in MECHANISMS, reason="this kernel refuses kprobes")
def test_skipped_kprobes_are_counted_or_not_known():
    """Linux 6.7 began to count skipped kprobes. For older kernels, the number must be null, not 0."""
    record = only(records("--variant", "zerocopy", "--messages", "100", "--mechanism", "kprobe"))
    known = os.environ["SENDPATH_LAB"] not in ("5.10", "6.1")
    for entry in record["plan"]["hooks"]:
        if entry["status"] == "attached":
            assert (entry["missed"] is not None) == (known or entry["mechanism"] != "kprobe")
    assert any(u["key"] == "plan.hooks.missed" for u in record["unmeasured"]) != known
    assert any("does not count" in w["text"] for w in record["warnings"]) != known
