# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the table has no column for is taken as the records pass by."""

import polars as pl
import pytest
from conftest import changed, record_of, samples

from analysis.details import Collector
from analysis.model import BadRecord


def watched(*records):
    """The details of these, and what was handed on."""
    collector, given = Collector(), [record_of(r, n) for n, r in enumerate(records, 1)]
    passed = list(collector.watch(given))
    assert passed == given
    return collector.details()


def stream():
    return next(r for r in samples() if (r["load"] or {}).get("variant") == "twocopy")


def test_histograms_keep_every_message():
    record = stream()
    details = watched(record)
    times = record["app"]["message_latency_ns"]
    assert details.times["count"].sum() == times["count"]
    assert set(details.times["span"]) == {"message"}
    assert details.times["high"].to_list() == [high for _, high, _ in times["buckets"]]


def test_a_run_without_a_histogram_leaves_no_row():
    details = watched(changed(stream(), app__message_latency_ns=None), stream())
    assert set(details.times["run_id"]) == {stream()["run"]["id"]}


@pytest.mark.parametrize("damage", [
    {"buckets": 3}, {"buckets": [[1, 2]]}, {"buckets": [[1, 2, "3"]]}, {"span": 7}])
def test_a_damaged_histogram_is_told_with_its_key(damage):
    record = stream()
    record["app"]["message_latency_ns"].update(damage)
    with pytest.raises(BadRecord, match=rf"^app\.message_latency_ns\.{next(iter(damage))}"):
        record_of(record)


def test_stages_are_means_of_all_sends():
    record = stream()
    call = record["calls"][0]
    divided = [(10, {"copy": {"sum": 1000}, "wait": {"sum": 50}}),
               (30, {"copy": {"sum": 3000}, "wait": None})]
    record["calls"] = [{**call, "sends": sends, "stages": stages} for sends, stages in divided]
    details = watched(record)
    assert dict(details.stages.select("stage", "ns").iter_rows()) == {"copy": 100.0, "wait": 1.25}


def test_hooks_and_warnings_are_counted_by_run():
    record = changed(stream(), warnings=[{"code": "a", "text": "b"}] * 2)
    details = watched(record, record)
    assert details.warnings.rows() == [("a", "b", 2)]
    sending = details.hooks.row(by_predicate=pl.col("name") == "send", named=True)
    assert sending["runs"] == 2 and sending["status"] == "attached"
