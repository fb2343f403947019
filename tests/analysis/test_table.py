# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that a row of the tidy table has the values of its record."""

import re
import subprocess
import sys

import polars as pl
import pytest
from conftest import ROOT, analysis, changed, record_of, samples, write

from analysis import table
from analysis.columns import COLUMNS, NAMES


def rows(*records):
    problems = []
    frame = table.build([record_of(r, n) for n, r in enumerate(records, 1)], problems)
    assert not problems
    return frame.to_dicts()


def by_variant(variant):
    return next(r for r in samples() if (r["load"] or {}).get("variant") == variant)


def test_names_are_unique_and_described():
    assert len(set(NAMES)) == len(NAMES)
    assert all(column.description for column in COLUMNS)


def test_a_stream():
    record = by_variant("twocopy")
    row = rows(record)[0]
    app = record["app"]
    assert row["message_bytes"] == row["fields"] * row["field_size_bytes"] == 16384
    assert row["throughput_bps"] == app["throughput_bps"]
    assert row["sender_cpu_s"] == pytest.approx(app["user_s"] + app["system_s"])
    assert row["sender_cpu_s_per_gib"] == pytest.approx(
        row["sender_cpu_s"] / app["received_bytes"] * 2**30)
    assert row["message_p99_ns"] == app["message_latency_ns"]["p99"]
    assert row["send_span"] == record["calls"][0]["wall_ns"]["span"]
    assert row["complete"] is True and row["error"] is None
    assert row["fallback_rate"] is None and row["zc_requests"] is None
    assert row["sender_cycles"] is None and row["sender_ipc"] is None
    assert row["sender_context_switches"] is not None


def test_options_of_memory_are_as_on_the_command_line():
    record = by_variant("twocopy")
    load = {**record["load"], "align_bytes": 64, "huge_pages": True, "file_dir": "/a b"}
    usual, asked = rows(record, {**record, "load": load})
    assert usual["memory_options"] is None
    assert asked["memory_options"] == "--align 64 --huge-pages --file-dir '/a b'"


def test_zerocopy_and_its_causes():
    record = by_variant("zerocopy")
    row = rows(record)[0]
    assert row["zc_requests"] == record["zerocopy"]["requests"]
    assert row["fallback_rate"] == record["zerocopy"]["fallback_rate"] == 1
    cause = record["zerocopy"]["causes"][0]
    assert row["fallback_causes"] == f"{cause['cause']}@{cause['device']}:{cause['count']}"


def test_io_uring_s_own_operations_count_too():
    record = by_variant("uring_zc")
    row = rows(record)[0]
    assert row["zc_requests"] == record["zerocopy"]["io_uring"]["requests"] > 0
    assert row["fallback_rate"] == record["zerocopy"]["io_uring"]["fallback_rate"]
    assert row["zc_unflagged"] is None


def test_connections():
    record = next(r for r in samples() if r["serving"])
    row = rows(record)[0]
    assert row["workload"] == "procinfo" and row["variant"] is None
    assert row["answered"] == record["serving"]["answered"]
    assert row["listen_overflows"] == record["tcp"]["listen_overflows"]


def test_a_hybrid_cpu_counts_on_both_its_pmus():
    def counters(*values):
        return [{"event": "cycles", "pmu": f"cpu_{n}", "scope": "sender", "value": value,
                 "unit": "count", "enabled_ns": 1, "running_ns": 1, "status": "counted"}
                for n, value in enumerate(values)]
    record = by_variant("twocopy")
    assert rows(changed(record, counters=counters(10, 5)))[0]["sender_cycles"] == 15
    assert rows(changed(record, counters=counters(10, None)))[0]["sender_cycles"] is None


def test_failed_and_interrupted_runs_are_incomplete():
    record = by_variant("twocopy")
    failed = changed(record, app__error="the receiver has gone")
    stopped = changed(record, warnings=[{"code": "interrupted", "text": "x"}])
    first, second = rows(failed, stopped)
    assert (first["complete"], first["error"]) == (False, "the receiver has gone")
    assert (second["complete"], second["error"]) == (False, None)


def test_a_planned_run_without_a_result_is_a_row():
    record = by_variant("twocopy")
    nothing = {key: record[key] for key in ("tool", "started", "run", "host", "load")}
    row, = rows({"schema": "sendpath.failure/1", **nothing, "complete": False,
                 "outcome": "skipped", "error": "select holds at most 1000"})
    assert (row["complete"], row["outcome"], row["error"]) == (
        False, "skipped", "select holds at most 1000")
    assert row["message_bytes"] == 16384 and row["throughput_bps"] is None


def test_the_second_record_of_a_repeated_run_counts(folder):
    record = by_variant("twocopy")
    nothing = {key: record[key] for key in ("tool", "started", "run", "host", "load")}
    failed = changed({"schema": "sendpath.failure/1", **nothing, "complete": False,
                      "outcome": "failed", "error": "gone"}, run__id="first")
    other = changed(failed, run__repeat=2, run__id="second")
    loaded = table.load([write(folder / "runs.jsonl", [failed, other, record])])
    assert loaded.frame.select("repeat", "outcome").rows() == [(2, "failed"), (1, None)]
    assert loaded.notes() == []


def test_the_last_record_of_a_disturbed_run_counts(folder):
    record = by_variant("twocopy")
    made = [{**record, "run": {**record["run"], "id": f"{n}", "seed": seed},
             "noise": {"disturbed": why}}
            for n, (seed, why) in enumerate(((7, "busy"), (7, "busy"), (7, None), (8, "busy"), (None, "busy")))]
    loaded = table.load([str(write(folder / "runs.jsonl", made))])
    assert loaded.frame["run_id"].to_list() == ["2", "3", "4"] and not loaded.problems


def test_memory():
    record = {**by_variant("twocopy"), "memory": {
        "scope": "system", "source": "uncore_imc", "is_estimate": False, "read_bytes": 1000.4,
        "write_bytes": 500, "bytes": 1500.4, "bytes_per_byte": 1.5, "io_in_bytes": None}}
    row, = rows(record)
    assert (row["memory_read_bytes"], row["memory_bytes_per_byte"]) == (1000, 1.5)
    assert row["memory_is_estimate"] is False and row["memory_io_in_bytes"] is None


def test_a_value_of_the_wrong_kind_leaves_the_record_out(folder):
    bad = changed(by_variant("twocopy"), app__throughput_bps="fast")
    loaded = table.load([write(folder / "runs.jsonl", [by_variant("zerocopy"), bad])])
    assert loaded.frame.height == 1
    assert [(p.line, p.what) for p in loaded.problems] == [
        (2, "app.throughput_bps: expected float | null, got str")]


def test_parquet_is_read_back_unchanged(folder):
    frame = table.load([write(folder / "runs.jsonl", samples())]).frame
    table.write_parquet(frame, str(folder / "t.parquet"))
    assert table.load([str(folder / "t.parquet")]).frame.equals(frame)


def test_folders_of_several_hosts_are_one_data_set_and_copies_count_once(folder):
    record = by_variant("twocopy")
    for name in ("one", "two"):
        (folder / name).mkdir()
    write(folder / "one/runs.jsonl", [changed(record, host__kernel="6.1")])
    write(folder / "two/runs.jsonl", [changed(record, host__kernel="6.12")] * 2)
    loaded = table.load([str(folder / "one"), str(folder / "two")])
    assert loaded.frame["kernel"].to_list() == ["6.1", "6.12"]
    assert loaded.frame["source"].to_list() == [str(folder / "one"), str(folder / "two")]
    assert loaded.notes() == [f"{folder}/two/runs.jsonl: 1 left out, 1 record used: line 2: "
                              "the same run as another record"]


def test_a_summary_has_the_levels_of_intervals(folder):
    record = by_variant("zerocopy")
    runs = [changed(record, run__id=str(n), run__repeat=n, app__throughput_bps=1e9 + n * 1e7)
            for n in range(1, 6)]
    done = analysis("table", write(folder / "runs.jsonl", runs), "--summary")
    assert done.stderr == "" and done.returncode == 0
    head, line, note = done.stdout.splitlines()
    assert re.split(r" {2,}", head) == ["configuration", "Gbit/s", "interval (93.75 %)", "repeats", "outliers", "copied"]
    assert re.split(r" {2,}", line) == ["zerocopy", "1.03", "1.01 to 1.05", "5", "-", "100 %"]
    assert note.startswith("Medians of repeats")
    more = [changed(one, run__id=f"b{one['run']['id']}", load__variant="twocopy") for one in runs]
    more += [changed(runs[0], run__id=f"c{n}", run__repeat=5 + n, app__throughput_bps=1e9) for n in range(1, 4)]
    both = analysis("table", write(folder / "both.jsonl", [*runs, *more]), "--summary")
    assert both.stdout.splitlines()[0].split()[2:5] == ["interval", "level", "repeats"]
    assert max(map(len, both.stdout.splitlines()[:-1])) <= 80
    few = analysis("table", write(folder / "few.jsonl", runs[:4]), "--summary", "--column",
                   "send_p50_ns")
    assert few.stdout.splitlines()[1].split()[2:4] == ["-", "4"]
    for column, why in ("variant", "not a column of numbers"), ("message_bytes", "it is the same in all repeats"):
        wrong = analysis("table", folder / "few.jsonl", "--summary", "--column", column)
        assert wrong.returncode == 2 and f"{column}: {why}" in wrong.stderr


def test_the_command_writes_the_requested_files(folder):
    runs = write(folder / "runs.jsonl", samples())
    done = analysis("table", runs, "--csv", folder / "t.csv", "--parquet", folder / "t.parquet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert pl.read_csv(folder / "t.csv").height == len(samples())
    assert analysis("table", folder / "t.parquet").stdout == (folder / "t.csv").read_text()
    shown = subprocess.run(["script", "-qec", f"{sys.executable} -m analysis table {runs}",
                            "/dev/null"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.replace("\r\n", "\n") == analysis("table", runs, "--summary").stdout
