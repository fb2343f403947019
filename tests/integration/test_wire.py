# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Run inside a guest of the lab with a pair of network cards: here zero-copy is real."""

import pytest

from conftest import CALLS, NOTHING_LOST, TIERS, analyze, only, records

pytestmark = pytest.mark.usefixtures("untouched")

WIRE = ["--address", "10.9.0.2", "--netns", "peer"]


def zerocopy(*where, tier, threads=1, size="16K", count=CALLS):
    record = only(records("--variant", "zerocopy", "--threads", threads, "--size", size,
                          "--messages", count // threads, "--warmup", "0.1", "--tier", tier,
                          *where, timeout=500))
    app, seen = record["app"], record["zerocopy"]
    assert record["lost"] == NOTHING_LOST
    assert seen["requests"] == app["send_calls"]
    assert seen["completions"] == app["zerocopy"]["completions"] > 0
    assert seen["outstanding"] == 0
    assert only(record["calls"])["bytes"] == app["bytes"] == record["receiver"]["bytes"]
    return seen


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("threads", [1, 4])
def test_nothing_is_copied_on_the_wire(threads, tier):
    seen = zerocopy(*WIRE, tier=tier, threads=threads)
    assert seen["copied"] == seen["app_told_copied"] == seen["bytes_copied"] == 0
    assert seen["fallback_rate"] == 0
    if tier == "fentry":
        assert seen["skb_copies"] == 0


@pytest.mark.parametrize("tier", TIERS)
def test_everything_is_copied_on_loopback(tier):
    seen = zerocopy(tier=tier, count=1000)
    assert seen["copied"] == seen["app_told_copied"] == seen["completions"]
    assert seen["bytes_copied"] == seen["bytes"]
    if tier == "fentry":
        assert seen["skb_copies"] > 0
        # What TCP retransmits is copied again: a slow guest has a few such.
        assert seen["skb_copy_bytes"] >= seen["bytes"]


def test_report_says_so():
    wire = analyze("--variant", "zerocopy", "--messages", "300", *WIRE)
    assert "300 completed, 0 of them copied (0 %)" in wire.stdout, wire.stderr
    here = analyze("--variant", "zerocopy", "--messages", "300")
    assert "300 completed, 300 of them copied (100 %)" in here.stdout, here.stderr


def test_bytes_arrive_unharmed():
    record = only(records("--variant", "zerocopy", "--messages", "500", "--size", "64K",
                          "--verify", *WIRE))
    assert record["app"]["verify"] == {"bytes_checked": 500 * 65536, "bad_bytes": 0,
                                       "first": None}


def test_doctor_knows_the_card():
    text = analyze("doctor").stdout
    assert "eth0 (e1000e): zero-copy yes" in text
    assert "lo: zero-copy no" in text
