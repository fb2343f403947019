# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the data that have no column in the table, and are collected while records are read."""

import polars as pl
import pytest
from conftest import changed, record_of, samples

from analysis import stages
from analysis.details import Collector
from analysis.model import BadRecord


def watched(*records):
    """Returns the Details of these records; all records must be passed on unchanged."""
    collector, given = Collector(), [record_of(r, n) for n, r in enumerate(records, 1)]
    passed = list(collector.watch(given))
    assert passed == given
    return collector.details()


def stream():
    return next(r for r in samples() if (r["load"] or {}).get("variant") == "twocopy")


@pytest.mark.parametrize("damage", [
    {"buckets": 3}, {"buckets": [[1, 2]]}, {"buckets": [[1, 2, "3"]]}, {"span": 7}])
def test_a_damaged_histogram_is_reported_with_its_key(damage):
    record = stream()
    record["app"]["message_latency_ns"].update(damage)
    with pytest.raises(BadRecord, match=rf"^app\.message_latency_ns\.{next(iter(damage))}"):
        record_of(record)


def part(name, ns):
    return {"stage": name, "on_cpu": True, "counters": [], 
            "ns": None if ns is None else {"sum": ns, "count": 1}}


def divided(record, *calls):
    """Returns the record with these calls, whose sends are divided: (syscall, sends, bytes, ns by stage)."""
    (call, *_) = record["calls"]
    return {**record, "calls": [
        {**call, "syscall": syscall, "sends": sends, "stages": {
            "span": "tcp_sendmsg", "one_in": 1, "sends": sends, "bytes": size,
            "parts": [part(*one) for one in ns.items()]}} for syscall, sends, size, ns in calls]}


def test_stages_are_means_of_all_sends():
    details = watched(divided(stream(), ("sendto", 10, 500, {"copy": 1000, "wait": 50}),
                              ("write", 30, 1500, {"copy": 3000, "wait": None})))
    found = stages.per_send(details.stages)
    assert {row[1:] for row in found.iter_rows()} == {("copy", 100.0, 50.0), ("wait", 1.25, 50.0)}


def test_a_run_that_is_there_twice_counts_once():
    record = divided(stream(), ("sendto", 10, 500, {"copy": 1000}))
    once, twice = watched(record), watched(record, record)
    assert stages.per_send(twice.stages).equals(stages.per_send(once.stages))
    assert twice.hooks.equals(once.hooks) and twice.unmeasured.equals(once.unmeasured)


def test_folded_stacks_have_all_time_and_cannot_be_broken():
    record = divided(stream(), ("send;to\n 1", 10, 500, {"copy": 1000, "blocked": 70, "pin": 0}))
    record["load"]["variant"], record["load"]["message_bytes"] = "two;copy", 64
    details = watched(record)
    runs = pl.DataFrame({"run_id": [record["run"]["id"]], "variant": ["two;copy"],
                         "message_bytes": [64]})
    assert stages.folded(details.stages, runs) == [
        "two_copy 64;send_to_ 1;copying user data 1000",
        "two_copy 64;send_to_ 1;off the CPU;blocked, off the CPU 70"]


def test_hooks_and_warnings_are_counted_by_run():
    record = changed(stream(), warnings=[{"code": "a", "text": "b"}] * 2)
    details = watched(record, {**record, "run": {**record["run"], "repeat": 2}})
    assert details.warnings.rows() == [("a", "b", 2)]
    sending = details.hooks.row(by_predicate=pl.col("name") == "send", named=True)
    assert sending["runs"] == 2 and sending["status"] == "attached"


def test_equally_frequent_warnings_stay_in_the_order_of_the_record():
    warnings = [{"code": "a", "text": str(number)} for number in range(20)]
    assert watched(changed(stream(), warnings=warnings)).warnings["text"].to_list() == list(map(str, range(20)))
