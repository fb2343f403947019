# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests broken, truncated, older and foreign files: one clear line each, and good records are used."""

import csv
import io
import json
import os
import pathlib
import random
import tempfile
import unicodedata

import polars as pl
import pytest
import goldens
from conftest import analysis, changed, program, samples, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis import result_sets, result_sets_text, records, summary, sweeps, table
from analysis.compare import judge
from analysis.details import Collector
from analysis.faults import Fault
from analysis.figures.base import Data
from analysis.files import replace
from analysis.report.questions import RECORDS, hosts

GOOD = samples()[0]
LINE = json.dumps(GOOD).encode() + b"\n"


def one_line(text):
    return text.count("\n") == 1 and text.startswith("analyze: ") and "Traceback" not in text


@pytest.mark.parametrize("content, words", (
    (b"", "empty"),
    (b"\n\n \n", "empty"),
    (b"\x00" * 100, "empty"),
    (LINE[:2000], "truncated"),
    (b"\xff\xfe\x00garbage", "not text"),
    (b"hello\n", "not JSON"),
    (b"[1, 2]\n", "not a run record"),
    (b"{}\n", "not a run record (no schema)"),
    (b'{"schema": "other/1"}\n', "not a run record (schema 'other/1')"),
    (b'{"schema": 7}\n', "not a run record"),
    (b'{"schema": "sendpath.run/0"}\n', "an older record (sendpath.run/0"),
    (b'{"schema": "sendpath.run/4"}\n', "a newer record (sendpath.run/4"),
    (b'{"schema": "sendpath.run/3"}\n', "not a run record: object missing required field run"),
    (b"[" * 100000 + b"\n", "not a run record"),
    (json.dumps(changed(GOOD, calls=[3])).encode(), "calls[0]: expected object, got int"),
    (json.dumps(changed(GOOD, app=[])).encode(), "app: expected object | null, got array"),
    (json.dumps(changed(GOOD, started="yesterday")).encode(), "started: invalid RFC3339"),
    (LINE.replace(b'"repeat": 1', b'"repeat": NaN'), "not JSON (malformed"),
    (LINE.replace(b'"repeat": 1', b'"repeat": 1' + b"0" * 5000), "run.repeat: integer value out of range"),
    (json.dumps(changed(GOOD, calls=2 * [changed(GOOD["calls"][0], sends=2**62)])).encode(),
     "too large"),
    (LINE.replace(b'"elapsed_s": ', b'"elapsed_s": 1e999, "x": '), "app.elapsed_s: number out of range"),
))
def test_one_line_says_what_is_wrong(tmp_path, content, words):
    file = tmp_path / "bad.jsonl"
    file.write_bytes(content)
    done = analysis("table", file)
    assert (done.returncode, done.stdout) == (1, "")
    assert one_line(done.stderr), done.stderr
    assert words in done.stderr and str(file) in done.stderr


@pytest.mark.parametrize("arguments, status", [(["table", "{bad}"], 1), (["--nonsense"], 2)])
def test_the_program_ends_by_one_line_and_this_status(tmp_path, arguments, status):
    (tmp_path / "bad.jsonl").write_bytes(b"junk\n")
    done = program(*(argument.format(bad=tmp_path / "bad.jsonl") for argument in arguments))
    assert (done.returncode, done.stdout) == (status, "") and one_line(done.stderr), done.stderr


def test_good_records_of_a_damaged_file_are_used_and_the_others_reported(tmp_path):
    file = tmp_path / "runs.jsonl"
    second = json.dumps(changed(GOOD, run__id="another")).encode()
    file.write_bytes(LINE + LINE[:500] + b"\n" + b"junk\n" + second + b"\n" + LINE[:900])
    done = analysis("table", file)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3
    assert one_line(done.stderr)
    assert "3 left out, 2 records used: lines 2, 5: truncated; line 3: not JSON" in done.stderr


def test_other_files_in_a_folder_of_records_are_no_problem(tmp_path):
    write(tmp_path / "runs.jsonl", [GOOD])
    plan = {"version": "1", "schema": "sendpath.plan/1", "cells": [{"load": ["x"]}]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "plan2.json").write_text(json.dumps(plan, indent=2))
    (tmp_path / "notes.txt").write_text("mine\n")
    done = analysis("table", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments, status", (
    (["nowhere.jsonl"], 2), ([], 2), (["{folder}"], 2), (["{folder}/none.parquet"], 1),
    (["{good}", "--csv", "{folder}/no/where.csv"], 2), (["{good}", "--parquet", "{folder}"], 1),
    (["--nonsense", "{good}"], 2)))
def test_wrong_usage_is_one_line(tmp_path, arguments, status):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/none.parquet").write_bytes(b"PAR1 and nothing else")
    good = write(tmp_path / "good.jsonl", [GOOD])
    done = analysis("table", *(argument.format(folder=tmp_path / "empty", good=good)
                               for argument in arguments))
    assert done.returncode == status, done.stderr
    assert one_line(done.stderr), done.stderr


def test_a_foreign_parquet_file(tmp_path):
    table.empty().write_parquet(tmp_path / "other.parquet")
    done = analysis("table", tmp_path / "other.parquet")
    assert done.returncode == 2 and one_line(done.stderr) and "not a table" in done.stderr


def test_a_table_of_an_earlier_version_lacks_columns(tmp_path):
    frame = table.load([write(tmp_path / "runs.jsonl", [GOOD])]).frame.drop("pinned", "peer")
    table.write_parquet(frame, str(tmp_path / "old.parquet"))
    read = table.load([str(tmp_path / "old.parquet")]).frame
    assert read.schema == table.empty().schema and read["pinned"].to_list() == [None]


FULL = ("cannot be written: No space left", "standard output: No space left")


@pytest.mark.parametrize("command, words", (
    (["table", "{runs}"], FULL[1]), (["table", "{runs}", "--summary"], FULL[1]),
    (["table", "{runs}", "--csv", "/dev/full"], FULL[0]),
    (["table", "{runs}", "--parquet", "/dev/full"], FULL[0]),
    (["compare", "{runs}", "{runs}"], FULL[1]), (["compare", "{runs}", "{runs}", "--json", "-"], FULL[1]),
    (["report", "{runs}", "--out", "{folder}"], FULL[1]), (["table", "--help"], FULL[1])))
def test_a_full_disk_is_one_line_and_status_1(tmp_path, only_figures, command, words):
    only_figures()
    runs = write(tmp_path / "runs.jsonl", samples()[:2])
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = analysis(*(word.format(runs=runs, folder=tmp_path / "report") for word in command),
                        stdout=full)
    assert done.returncode == 1 and one_line(done.stderr), done.stderr
    assert words in done.stderr


def test_a_full_disk_for_json_of_a_comparison(tmp_path):
    runs = write(tmp_path / "runs.jsonl", samples()[:2])
    done = analysis("compare", runs, runs, "--json", "/dev/full")
    assert done.returncode == 1 and one_line(done.stderr) and "/dev/full" in done.stderr


def test_an_old_file_stays_until_the_new_one_is_whole(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("old")
    file.chmod(0o640)

    def fail(half):
        half.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace(file, fail)
    assert file.read_text() == "old" and os.listdir(tmp_path) == ["table.csv"]
    replace(file, lambda new: new.write(b"new"))
    assert file.read_text() == "new" and os.listdir(tmp_path) == ["table.csv"]
    assert file.stat().st_mode & 0o777 == 0o640


def test_the_target_of_a_link_of_the_kernel_is_written(tmp_path):
    with open(tmp_path / "out", "w", encoding="utf-8") as out:
        replace(f"/proc/self/fd/{out.fileno()}", lambda file: file.write(b"new"))
        assert os.path.samestat(os.fstat(out.fileno()), os.stat(tmp_path / "out"))
    assert (tmp_path / "out").read_text() == "new"


@pytest.mark.parametrize("options", (["--csv", "{link}"], ["--parquet", "{link}"]))
def test_no_symbolic_link_is_followed(tmp_path, options):
    runs = write(tmp_path / "runs.jsonl", samples()[:2])
    (tmp_path / "other").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    done = analysis("table", runs, *(word.format(link=tmp_path / "link") for word in options))
    assert done.returncode == 1 and one_line(done.stderr) and "symbolic link" in done.stderr
    assert (tmp_path / "other").read_text() == "kept"


@pytest.mark.slow
def test_standard_output_s_own_link_is_followed(tmp_path):
    runs = write(tmp_path / "runs.jsonl", samples()[:2])
    done = program("table", runs, "--csv", "/dev/stdout")
    assert done.returncode == 0 and done.stdout.startswith("source,"), done.stderr


def test_an_open_file_gets_text_after_its_content(tmp_path):
    """Uses /dev/fd/1. /dev/stdout is such a link, too, but a defect could remove it for the whole machine."""
    runs, out = write(tmp_path / "runs.jsonl", samples()[:2]), tmp_path / "out"
    out.write_text("old\n")
    with out.open("a") as file:
        done = program("table", runs, "--csv", "/dev/fd/1", stdout=file)
    assert done.returncode == 0 and out.read_text().startswith("old\nsource,"), done.stderr


@given(text=st.text())
def test_csv_has_nothing_that_a_spreadsheet_would_execute(text):
    frame = pl.concat([table.empty(), pl.DataFrame([{"run_id": text, "cell": "=cmd()", "repeat": -1}],
                                                   schema_overrides=table.POLARS_SCHEMA)], how="diagonal")
    (row,) = csv.DictReader(io.StringIO(table.csv(frame)))
    assert row["cell"] == "'=cmd()" and row["repeat"] == "-1"
    assert not row["run_id"].startswith(tuple("=+-@"))
    # Python and polars may have different versions of Unicode.
    assert not {unicodedata.category(c) for c in row["run_id"]} & {"Cc", "Cf", "Zl", "Zp"}


def test_names_cannot_steer_a_terminal(tmp_path):
    file = tmp_path / "\x1b[2J.jsonl"
    file.write_bytes(b"junk\n")
    done = analysis("table", file)
    assert "\x1b" not in done.stderr and one_line(done.stderr)


# Values that JSON allows but no program writes, such as half a character.
ODD = st.sampled_from([None, "", "\ud800", "=1+1", "\x1b[2J", "x" * 10**5, -1, 2**53 + 1, 2**63, 2**64,
                       10**30, 1e308, -0.0, [], {}, [None, 3], [[]], {"": None}])
JSON = ODD | st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.text(), inner, max_size=3), max_leaves=5)


def paths(data, way=()):
    """Yields every place in a record."""
    children = data.items() if isinstance(data, dict) else enumerate(
        data) if isinstance(data, list) else ()
    for key, value in children:
        yield (*way, key)
        if way[-1:] != ("buckets",) or key == 0:
            yield from paths(value, (*way, key))


PATHS = {n: list(paths(record)) for n, record in enumerate(samples())}


def build(content, folder):
    file = folder / "runs.jsonl"
    file.write_bytes(content)
    collector = Collector()
    loaded = table.load([str(file)], watch=collector.watch)
    collector.details()
    assert loaded.frame.height + len(loaded.problems) > 0
    assert all(isinstance(note, str) and "\n" not in note for note in loaded.notes())
    table.csv(loaded.frame)
    table.write_parquet(loaded.frame, str(folder / "t.parquet"))
    return loaded


def with_value(which, choice, value):
    """Returns a sample record with this value at a random place."""
    record = json.loads(json.dumps(samples()[which]))
    *way, last = choice.choice(PATHS[which])
    place = record
    for key in way:
        place = place[key]
    place[last] = value
    return record


SLOW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@SLOW
@given(which=st.sampled_from(sorted(PATHS)), choice=st.randoms(use_true_random=False), value=JSON)
def test_any_value_in_any_place_is_read_or_left_out(tmp_path, which, choice, value):
    record = with_value(which, choice, value)
    build(json.dumps(record).encode() + b"\n" + LINE.replace(b'"id": "', b'"id": "x'), tmp_path)


@pytest.mark.slow
@settings(SLOW, max_examples=40)
@given(which=st.sampled_from(sorted(PATHS)), choice=st.randoms(use_true_random=False), value=JSON)
def test_any_table_gives_answers(tmp_path, which, choice, value):
    record = with_value(which, choice, value)
    (tmp_path / "runs.jsonl").write_text("".join(
        json.dumps(changed(one, run__id=f"{repeat}")) + "\n"
        for repeat in range(6) for one in [*samples(), record]
        if isinstance(one.get("run"), dict)))
    frame = table.load([str(tmp_path / "runs.jsonl")]).frame
    if frame.is_empty():
        return
    found = result_sets.compare(frame, frame)
    assert not found.of(judge.WORSE)
    result_sets_text.text(found, True, result_sets_text.zerocopy_tables(frame, frame))
    result_sets_text.describe("A", "path", frame)
    json.dumps(result_sets_text.as_json(found))
    for metric in ("throughput_bps", "message_p99_ns", "fallback_rate"):
        summary.medians(frame, metric)
        summary.flagged(frame, metric)
        sweeps.courses(frame, metric)
    for question in (hosts.answer, *goldens.QUESTIONS, *RECORDS):
        question(Data(frame))


@SLOW
@given(cut=st.integers(0, len(LINE)), flips=st.lists(st.tuples(
    st.integers(0, len(LINE) - 2), st.integers(0, 255)), max_size=3))
def test_any_damage_leaves_the_next_record_whole(tmp_path, cut, flips):
    damaged = bytearray(LINE[:cut])
    for place, byte in flips:
        if place < len(damaged):
            damaged[place] = byte
    good = LINE.replace(b'"id": "', b'"id": "another-')
    loaded = build(bytes(damaged) + b"\n" + good, tmp_path)
    assert any(run.startswith("another-") for run in loaded.frame["run_id"])


def test_every_record_is_used_or_a_problem(tmp_path):
    choice, lines = random.Random(1), []
    for n in range(200):
        line = json.dumps(changed(GOOD, run__id=str(n))).encode()
        lines.append(line if choice.random() < 0.5 else line[:choice.randrange(1, len(line))])
    file = tmp_path / "runs.jsonl"
    file.write_bytes(b"\n".join(lines))
    loaded = table.load([str(file)])
    assert loaded.frame.height + len(loaded.problems) == 200
    assert len(loaded.notes()) == 1


def test_a_file_named_twice_is_read_once(tmp_path):
    file = write(tmp_path / "runs.jsonl", [GOOD])
    problems = []
    assert len(list(records.stream([file, str(tmp_path), file], problems))) == 1 and not problems


@pytest.mark.skipif(os.geteuid() != 0, reason="not root: nothing to give up")
def test_an_unreadable_folder_is_reported():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        closed = pathlib.Path(folder) / "closed"
        closed.mkdir(mode=0o700)
        write(closed / "runs.jsonl", [GOOD])
        os.seteuid(65534)
        try:
            with pytest.raises(Fault, match=f"{closed}: Permission denied"):
                records.find_files(folder)
        finally:
            os.seteuid(0)
