# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the table has no column for is taken as the records pass by."""

import polars as pl
import pytest
from conftest import changed, samples

from analysis.details import Collector
from analysis.records import Record


def watched(*records):
    """The details of these, the problems, and what was handed on."""
    problems = []
    collector = Collector(problems)
    passed = list(collector.watch(Record("here", "file", n, r) for n, r in enumerate(records, 1)))
    return collector.details(), problems, passed


def stream():
    return next(r for r in samples() if (r["load"] or {}).get("variant") == "twocopy")


def test_histograms_keep_every_message():
    record = stream()
    details, problems, passed = watched(record)
    assert not problems and passed[0].data is record
    times = record["app"]["message_latency_ns"]
    assert details.times["count"].sum() == times["count"]
    assert set(details.times["span"]) == {"message"}
    assert details.times["high"].to_list() == [high for _, high, _ in times["buckets"]]


def test_a_run_without_a_histogram_leaves_no_row():
    details, problems, _ = watched(changed(stream(), app__message_latency_ns=None), stream())
    assert not problems and set(details.times["run_id"]) == {stream()["run"]["id"]}


@pytest.mark.parametrize("damage", [
    {"buckets": 3}, {"buckets": [[1, 2]]}, {"buckets": [[1, 2, "3"]]}, {"span": 7}])
def test_a_damaged_histogram_is_told_and_the_record_goes_on(damage):
    record = stream()
    record["app"]["message_latency_ns"].update(damage)
    details, problems, passed = watched(record)
    assert len(problems) == len(passed) == 1 and details.times.is_empty()


def test_stages_are_means_of_all_sends():
    record = stream()
    call = record["calls"][0]
    divided = [(10, {"copy": {"sum": 1000}, "wait": {"sum": 50}}),
               (30, {"copy": {"sum": 3000}, "wait": None})]
    record["calls"] = [{**call, "sends": sends, "stages": stages} for sends, stages in divided]
    details, problems, _ = watched(record)
    assert not problems
    assert dict(details.stages.select("stage", "ns").iter_rows()) == {"copy": 100.0, "wait": 1.25}


def test_hooks_and_warnings_are_counted_by_run():
    record = changed(stream(), warnings=[{"code": "a", "text": "b"}] * 2)
    details, _, _ = watched(record, record)
    assert details.warnings.rows() == [("a", "b", 2)]
    sending = details.hooks.row(by_predicate=pl.col("name") == "send", named=True)
    assert sending["runs"] == 2 and sending["status"] == "attached"
