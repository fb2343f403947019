# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the kernel's counts equal the load generator's own, exactly."""

import re

import pytest

from conftest import (CALLS, NOISE, NOTHING_LOST, MECHANISMS, VARIANTS, hook, losses, needs_bpf, only,
                      reason, records)

pytestmark = needs_bpf

A_FEW_RUNS = 64  # several runs of sends, each completed as one
SYSCALL = {"twocopy": "sendto", "onecopy": "sendmsg", "zerocopy": "sendmsg"}
SPANS = {"fentry": {"tcp_sendmsg"}, "kprobe": {"tcp_sendmsg"},
         "tracepoint": {"tcp_sendmsg_locked..return", "syscall"}}


def may_lose(record):
    """Returns whether the plan warns that sends may be missed on this kernel."""
    return re.search("preempts|loses returns", reason(record, "send"))


def all_but_the_lost(record):
    """Asserts that no more sends are missing than the record has as lost."""
    app, call, lost = record["app"], only(record["calls"]), record["lost"]["calls"]
    assert app["send_calls"] - lost <= call["sends"] <= app["send_calls"]
    assert call["bytes"] <= app["bytes"]
    assert record["receiver"]["bytes"] <= app["received_bytes"]


def go_by(record, why):
    """Returns whether the plan's reason for completions matches `why`, or their programs were skipped."""
    completion = hook(record, "completion")
    return re.search(why, completion["reason"] or "") or (completion["missed"] or 0) > 0


def lost_by_design(record):
    """Returns the record's lost counts that the completion hook may have."""
    keys = set()
    if hook(record, "completion")["mechanism"] == "tracepoint":
        keys.add("flags")  # flags may be lost: see settled()
    if go_by(record, "interrupts|preempts"):
        keys.add("completions")
    return {key: record["lost"][key] for key in keys}


def exact(record, variant, sends):
    app, call = record["app"], only(record["calls"])
    assert app["messages"] == sends
    assert call["syscall"] == SYSCALL[variant]
    assert call["zerocopy"] == (variant == "zerocopy")
    expected = {"no_pmu", "few_cpus", "governor", "debug_kernel", "hook_misses", "paced",
                "not_paced", *NOISE}
    assert {w["code"] for w in record["warnings"]} <= expected
    if may_lose(record):
        all_but_the_lost(record)
        return
    assert call["sends"] == call["syscalls"] == app["send_calls"]
    assert call["bytes"] == app["bytes"] == app["received_bytes"]
    assert call["errors"] == app["errors"]
    assert record["receiver"]["bytes"] == app["received_bytes"]
    assert losses(record) == {**NOTHING_LOST, **lost_by_design(record)}


def timed(record, mechanism):
    """Asserts that every send that reached the hook's span was timed; a send that failed before was not."""
    call = only(record["calls"])
    wall = call["wall_ns"]
    failed = sum(call["errors"].values())
    assert wall["span"] in SPANS[mechanism]
    if not may_lose(record):
        assert call["sends"] - failed <= wall["count"]
    assert wall["count"] <= call["sends"]
    assert sum(count for _, _, count in wall["buckets"]) == wall["count"]
    assert wall["min"] <= wall["p50"] <= wall["p90"] <= wall["p99"] <= wall["p999"] <= wall["max"]
    assert wall["min"] * wall["count"] <= wall["sum"] <= wall["max"] * wall["count"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("variant", VARIANTS)
def test_counts_are_exact(variant, threads, mechanism, untouched, sends=CALLS):
    record = only(records("--variant", variant, "--threads", threads, "--size", "256",
                          "--messages", sends // threads, "--warmup", "0.1", "--mechanism", mechanism,
                          timeout=600))
    assert record["plan"]["tier"] == mechanism
    exact(record, variant, sends)
    timed(record, mechanism)
    if variant != "zerocopy":
        assert record["zerocopy"] is None
    elif hook(record, "completion")["status"] == "attached":
        settled(record)
    else:
        assert record["zerocopy"]["completions"] is None


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_million_sends_are_counted(mechanism, untouched):
    test_counts_are_exact("zerocopy", 4, mechanism, untouched, sends=1_000_000)


def settled(record):
    """Asserts that every zero-copy send ended in exactly one way; on loopback all were copied."""
    zerocopy, app = record["zerocopy"], record["app"]["zerocopy"]
    accepted = record["app"]["send_calls"] - sum(record["app"]["errors"].values())
    assert zerocopy["errqueue_copied"] == app["copied"] == accepted
    if may_lose(record):
        assert zerocopy["completions"] <= accepted
        return
    lost = record["lost"]["completions"]
    assert zerocopy["requests"] == record["app"]["send_calls"]
    assert zerocopy["completions"] + lost == app["completions"] == accepted
    assert zerocopy["copied"] == zerocopy["flagged"] == zerocopy["completions"]
    assert zerocopy["fallback_rate"] == 1
    assert zerocopy["outstanding"] == lost
    assert zerocopy["ignored"] == 0
    assert sum(r["count"] for r in zerocopy["refused"]) == sum(record["app"]["errors"].values())
    assert zerocopy["bytes"] == record["app"]["bytes"]
    if not lost:
        assert zerocopy["bytes_copied"] == zerocopy["bytes"]
        causes = {(row["cause"], row["device"]): row["count"] for row in zerocopy["causes"]}
        seen = sum(causes.values())
        assert set(causes) == {("loopback", "lo")}, (zerocopy, record["lost"], record["plan"])
        # A copy whose flag was missed has no cause, unless its packet was seen.
        assert accepted - record["lost"]["flags"] <= seen <= accepted
        if not go_by(record, "merged|preempts"):
            assert record["lost"]["flags"] <= max(A_FEW_RUNS, accepted / 1000)


@pytest.mark.parametrize("variant, pieces", [("onecopy", 1), ("zerocopy", 8)])
def test_packets_are_the_sends_where_each_waits_for_its_answer(variant, pieces, untouched):
    """Each send waits for its answer, so the kernel cannot combine sends. Only a copy combines fields."""
    record = only(records("--variant", variant, "--workload", "request", "--size", "64",
                          "--messages", "500", "--packets"))
    tcp = record["tcp"]
    assert record["load"]["workload"] == "request" and record["app"]["messages"] == 500
    assert tcp["skbs"] - (tcp["sending"]["retransmits"] or 0) == 500 == only(record["calls"])["sends"]
    assert tcp["frags_per_skb"] == pytest.approx(pieces, abs=0.1)


def test_null_variant_sends_nothing(untouched):
    record = only(records("--variant", "null", "--duration", "0.2"))
    assert record["calls"] == []
    assert record["app"]["messages"] > 0
    assert record["app"]["bytes"] == record["receiver"]["bytes"] == 0


@pytest.mark.slow
def test_large_messages_and_odd_sizes(untouched):
    for size in ("64", "65", "99999", "1M", "16M"):
        for record in records("--variant", "all", "--size", size, "--messages", "20",
                              "--verify"):
            assert only(record["calls"])["bytes"] == record["app"]["bytes"]
            assert record["app"]["verify"]["bad_bytes"] == 0
            assert record["app"]["verify"]["bytes_checked"] == record["app"]["bytes"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_latency_of_the_message_contains_that_of_the_send(mechanism, untouched):
    record = only(records("--variant", "onecopy", "--messages", "5000", "--size", "4K",
                          "--mechanism", mechanism))
    wall, message = only(record["calls"])["wall_ns"], record["app"]["message_latency_ns"]
    assert wall["sum"] <= message["sum"]
    assert wall["p50"] <= message["p50"] * 17 // 16


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_counters_are_read_at_both_ends_of_a_send(mechanism, untouched):
    """Every machine has the software event cpu-clock, which counts the time of the sends."""
    record = only(records("--variant", "onecopy", "--messages", "2000", "--mechanism", mechanism,
                          "--call-counters", "cpu-clock"))
    call = only(record["calls"])
    counters = call["counters"]
    assert counters["sends"] + counters["left_out"] == call["wall_ns"]["count"]
    assert counters["sends"] > 0
    event = only(counters["events"])
    assert event["event"] == "cpu-clock"
    assert 0 < event["sum"]
    # Reading the counter takes time, so the sum is a little higher than the clock's. The time in which a send slept is
    # not counted.
    if not counters["left_out"]:
        assert event["sum"] >= call["wall_ns"]["sum"]


@pytest.mark.skipif(len(MECHANISMS) < 2, reason=f"one mechanism here: {MECHANISMS[0]}")
@pytest.mark.parametrize("variant", VARIANTS)
def test_mechanisms_agree(variant, untouched):
    """The same load has the same counts by each mechanism. test_crosscheck.py compares the times."""
    rows = {mechanism: only(only(records("--variant", variant, "--size", "64", "--messages", "1000",
                                    "--mechanism", mechanism))["calls"]) for mechanism in MECHANISMS}
    counts = {tuple(c[k] for k in ("syscall", "zerocopy", "sends", "syscalls", "bytes"))
              for c in rows.values()}
    assert len(counts) == 1
