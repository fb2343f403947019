# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests which runs a sweep and a comparison add to their plan. The loads have planted differences."""

import json
import os
import pathlib
import random
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analysis.front import sweep  # noqa: E402
from analysis.front.channel import Gone  # noqa: E402
from analysis.front.runs import Grid  # noqa: E402

RAW = json.loads((ROOT / "tests/fixtures/raw/copying_load.json").read_text())["raw"]
# Removes blocks that only make the lines longer.
RAW.update(maps={**RAW["maps"], "calls": {}}, counters=[])
BUSY, QUIET = "cpu 90 0 0 10 0 0 0 0", "cpu 0 0 0 100 0 0 0 0"
# (variant, size): how many times faster than twocopy the variant is.
TRUTH = {("onecopy", 1024): 2.0, ("onecopy", 65536): 1.06, ("onecopy", 1 << 20): 1.0}


class Engine:
    """A simulated engine. busy, fails: functions that return whether a run is disturbed or fails, from its number, its
    repeat, and how often it was made before. host, speed: the machine's name and relative speed.
    """

    def __init__(self, noise=0.02, busy=lambda *_: False, end_after=None, fails=lambda *_: False, host="vm", speed=1):
        self.random, self.noise, self.busy, self.made = random.Random(3), noise, busy, []
        self.end_after, self.fails, self.host, self.speed = end_after, fails, host, speed
        self.requests = []
        self.cells = [{"cell": f"{variant},{size}", "group": size, "label": "", "seconds": 0.1,
                       "load": [variant, str(size)]} for size in (1024, 65536, 1 << 20)
                      for variant in ("twocopy", "onecopy")]

    def begin(self, repeat, **options):
        return {"cells": self.cells, "command_runs": False, "observes": False, "interval": False, "sweep": True, "decides": True,
                "host": self.host, "kernel": RAW["host"]["kernel"], "version": "1", "command": ["sweep"],
                "options": {**dict.fromkeys(sweep._MEASURING), "shard": None, "order_seed": "5",
                            "grid": None, "retry": False, "decide": False, "budget": None,
                            "json": None, "folded": None, "fail_on": None, "out": None, "details": False,
                            "repeat": repeat, **options}}

    def send(self, request):
        self.requests.append(request)

    def receive(self, _tick=None):
        if len(self.made) == self.end_after:
            return {"schema": "sendpath.interrupted/1"}
        number, repeat = self.requests[-1]["run"], self.requests[-1]["repeat"]
        variant, size = self.cells[number]["load"]
        raw = {**RAW, **{block: dict(RAW[block]) for block in ("run", "load", "host", "noise", "app")}}
        raw["run"].update(cell=self.cells[number]["cell"], repeat=repeat, seed=5, id=f"run {len(self.made)}")
        raw["load"].update(variant=variant, message_bytes=int(size))
        raw["host"]["name"] = self.host
        made = self.made.count((number, repeat))
        raw["noise"].update(hz=100, opened={**raw["noise"]["opened"], "stat": "cpu 0 0 0 0 0 0 0 0"}, closed={
            **raw["noise"]["closed"], "stat": BUSY if self.busy(number, repeat, made) else QUIET})
        raw["app"]["throughput_bps"] = (self.speed * 1e9 * TRUTH.get((variant, int(size)), 1) *
                                        self.random.lognormvariate(0, self.noise))
        raw["app"]["user_s"] = raw["app"]["system_s"] = 5e7 / raw["app"]["throughput_bps"]
        raw["app"]["receiver"] = {"user_s": 0.0, "system_s": 0.0}
        if self.fails(number, repeat, made):
            raw.update(error="no memory", exit_status=1, window=False)
        self.made.append((number, repeat))
        return raw


@pytest.fixture(name="swept")
def fixture_swept(tmp_path, capfd, monkeypatch):
    """Returns a function that sweeps with an engine, and returns the output and the folder's comparisons. Its attribute
    status is the exit status."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # fsync takes longer than all else

    def swept(engine, repeat=9, **options):
        made = sweep.Sweep(engine, engine.begin(repeat, out=str(tmp_path / "out"), **options), print)
        made.make()
        swept.status = made.finish()
        if made.folder.runs is not None:
            os.close(made.folder.runs)
        path = tmp_path / "out/comparisons.json"
        return capfd.readouterr().out, json.loads(path.read_text())["comparisons"] if path.exists() else []
    return swept


def verdicts(comparisons, metric="throughput"):
    return {one["of"]: one["verdict"] for one in comparisons if one["metric"] == metric}


def test_a_plan_is_made_and_no_more(swept):
    engine = Engine()
    text, found = swept(engine, 7)
    assert len(engine.made) == 6 * 7 == len(set(engine.made))
    assert verdicts(found)["onecopy,1024"] == "better" and "6 comparisons (throughput and CPU time per byte): " in text


def test_what_was_disturbed_is_made_again_at_the_end(swept):
    engine = Engine(busy=lambda number, repeat, made: repeat == 2 and made == 0)
    text, found = swept(engine, 7)
    assert sorted(engine.made[42:]) == [(number, 2) for number in range(6)]
    assert {one["n"] for one in found} == {7} and "busy machine" not in text
    assert not any(one["discarded"] for one in found)


def test_disturbed_runs_are_repeated_a_limited_number_of_times(swept):
    engine = Engine(busy=lambda number, repeat, made: repeat == 2)
    text, found = swept(engine, 7)
    assert len(engine.made) == 42 + sweep.AGAIN_MAX * 6
    assert {one["n"] for one in found} == {6} and {len(one["discarded"]) for one in found} == {1}
    assert "6 runs on a busy machine in no comparison: the same command with --retry" in text
    again = Engine()
    text, found = swept(again, 7, retry=True)
    assert sorted(again.made) == [(number, 2) for number in range(6)] and {one["n"] for one in found} == {7}
    assert "42 of 42 runs measured" in text and "busy machine" not in text


@pytest.mark.parametrize("options", [{"budget": "0"}, {"budget": "0ms", "decide": True}])
def test_a_budget_of_nothing_is_for_the_plan_alone(swept, options):
    engine = Engine(noise=0.3, busy=lambda number, repeat, made: repeat == 2)
    swept(engine, 7, **options)
    assert len(engine.made) == 42


def test_more_repeats_grow_the_plan(swept):
    swept(Engine(), 5)
    engine = Engine()
    text, found = swept(engine, 7)
    assert {repeat for _, repeat in engine.made} == {6, 7} and len(engine.made) == 12
    assert "42 of 42 runs measured" in text and {one["n"] for one in found} == {7}
    assert "its --repeat is 7, not 5: more is taken, less is not" in swept(Engine(), 5)[0]


def test_decide_repeats_what_is_inconclusive_alone_until_it_is_decided(swept):
    engine = Engine(noise=0.03)
    text, found = swept(engine, 9, decide=True, budget="1000")
    assert set(verdicts(found).values()) | set(verdicts(found, "cpu").values()) <= {"better", "worse", "same"}
    assert verdicts(found) == {"onecopy,1024": "better", "onecopy,65536": "better", "onecopy,1048576": "same"}
    most = {engine.cells[number]["cell"]: max(repeat for one, repeat in engine.made if one == number)
            for number in range(6)}
    assert most["onecopy,1024"] == most["twocopy,1024"] == 9 < most["onecopy,65536"] < most["onecopy,1048576"]
    assert "inconclusive: " not in text


def test_decide_goes_on_where_it_was_interrupted(swept):
    engine = Engine(noise=0.03, end_after=70)
    swept(engine, 9, decide=True, budget="1000")
    more = Engine(noise=0.03)
    text, found = swept(more, 9, decide=True, budget="1000")
    assert not set(engine.made) & set(more.made) and "inconclusive: " not in text
    assert verdicts(found)["onecopy,1048576"] == "same"


@pytest.fixture(name="compared")
def fixture_compared(tmp_path):
    """Returns a function that makes the default repeats with an engine, checks the exit status, and returns the
    comparisons and all records."""
    def compared(engine, status=0):
        file = tmp_path / "records"
        grid = Grid(engine, engine.begin(7, json=str(file)), print)
        assert grid.make() == status and grid.finish() == status
        found = [json.loads(line) for line in file.read_text().splitlines()]
        assert [bool(record.get("comparisons")) for record in found] == [False] * (len(found) - 1) + [True]
        return found[-1]["comparisons"], found
    return compared


def test_default_repeats_make_disturbed_runs_again(compared):
    engine = Engine(busy=lambda number, repeat, made: repeat in (2, 7) and made == 0)
    found, records = compared(engine)
    assert sorted(engine.made[42:]) == [(number, repeat) for number in range(6) for repeat in (2, 7)]
    assert {one["n"] for one in found} == {7} and not any(one["discarded"] for one in found)
    assert len(records) == 54  # records of disturbed runs are written, too


def test_repeated_runs_are_at_most_half_of_the_plan(compared):
    engine = Engine(busy=lambda number, repeat, made: repeat in (2, 7))
    found, _ = compared(engine)
    assert len(engine.made) == 42 + 21
    assert {one["n"] for one in found} == {5} and {len(one["discarded"]) for one in found} == {2}


def test_blocks_after_the_first_have_a_random_order(compared):
    engine = Engine()
    compared(engine)
    blocks = [[number for number, repeat in engine.made if repeat == block] for block in range(1, 8)]
    assert blocks[0] == list(range(6)) and all(sorted(block) == blocks[0] for block in blocks)
    assert len(set(map(tuple, blocks))) > 2 and [repeat for _, repeat in engine.made] == sorted(
        repeat for _, repeat in engine.made)


def test_the_last_record_has_the_comparisons_though_the_last_run_fails(compared):
    found, records = compared(Engine(fails=lambda number, repeat, made: (number, repeat) == (1, 7)), 1)
    assert len(records) < 42 and {one["n"] for one in found} == {6, 7}


def test_the_last_record_has_the_comparisons_though_it_is_interrupted(compared):
    found, records = compared(Engine(end_after=30))
    assert len(records) == 30 and {one["n"] for one in found} == {5}


def test_each_record_is_written_though_the_engine_ends(tmp_path):
    """A single configuration has no comparisons, so each record is written when its run ends."""
    class Ends(Engine):
        def receive(self, tick=None):
            if len(self.made) == 3:
                raise Gone
            lines_before.append(file.read_text().count("\n") if file.exists() else 0)
            return super().receive(tick)
    for cells, before in (6, [0, 1, 1]), (1, [0, 1, 2]):
        file, lines_before, engine = tmp_path / f"{cells}", [], Ends()
        engine.cells = engine.cells[:cells]
        with pytest.raises(Gone):
            Grid(engine, engine.begin(7, json=str(file)), print).make()
        assert lines_before == before and file.read_text().count("\n") == 3


def test_equal_configurations_are_one(compared):
    engine = Engine()
    engine.cells += engine.cells
    found, _ = compared(engine)
    assert len(engine.made) == 42 and {one["n"] for one in found} == {7}


def test_a_requested_number_of_repeats_is_made(tmp_path):
    engine = Engine(busy=lambda *_: True)
    begin = engine.begin(2, json=str(tmp_path / "records"))
    assert Grid(engine, {**begin, "decides": False}, print).make() == 0
    assert engine.made == [(number, repeat) for repeat in (1, 2) for number in range(6)]


def test_runs_of_two_machines_are_no_pair(swept):
    swept(Engine(busy=lambda number, *_: number % 2), budget="0")
    text, found = swept(Engine(host="other", speed=1.5), retry=True)
    assert {one["n"] for one in found} == {0} and all(one["discarded"] for one in found)
    assert "has 54 runs of another machine or kernel" in text


@pytest.mark.parametrize("options, ends", [({}, False), ({"decide": True}, False), ({"budget": "0"}, True),
                                           ({"budget": "0", "decide": True}, True)])
def test_only_the_last_run_is_announced_as_such(swept, options, ends):
    """The last planned run is disturbed and repeated, unless the budget is 0. Only with that budget may a run be
    announced as the last."""
    engine = Engine(busy=lambda number, repeat, made: made == 0 and len(engine.made) == 53)
    swept(engine, **options)
    *others, last = [request["last"] for request in engine.requests]
    assert not any(others) and last is ends


def test_a_repeat_of_a_disturbed_run_that_fails_fails_the_sweep(swept):
    swept(Engine(busy=lambda number, repeat, made: (number, repeat) == (1, 2)), 3, budget="0")
    text, _ = swept(Engine(fails=lambda *_: True), 3, retry=True, budget="0")
    assert swept.status == 1 and "18 of 18 runs measured" in text and "not done" not in text
    text, _ = swept(Engine(), 3)
    assert swept.status == 0 and "18 of 18 runs measured" in text


def test_decide_does_not_repeat_what_fails(swept):
    engine = Engine(noise=0.03, fails=lambda number, repeat, made: number == 3 and repeat > 9)
    text, _ = swept(engine, decide=True, budget="1000")
    made = [repeat for number, repeat in engine.made if number == 3]
    assert sorted(made) == list(range(1, 15)) and swept.status == 1
    assert "failed: onecopy,65536, 5 of 14 runs: no memory" in text and " 5 failed, 0 skipped" in text
    assert "the same command with --retry and a larger --budget goes on" in text
    again = Engine(noise=0.03)
    swept(again, decide=True, budget="1000")
    assert not again.made and swept.status == 1
    text, _ = swept(again, decide=True, budget="1000", retry=True)
    assert swept.status == 0 and "inconclusive: " not in text


def test_decide_after_a_plan_leaves_no_hole(swept, tmp_path, monkeypatch):
    """The noise is so high that configurations are decided after different numbers of repeats."""
    monkeypatch.setitem(TRUTH, ("onecopy", 65536), 1.1)
    swept(Engine(noise=0.06))
    text, found = swept(Engine(noise=0.06), decide=True, budget="1000")
    assert "inconclusive: " not in text
    made = {}
    for line in (tmp_path / "out/runs.jsonl").read_text().splitlines():
        run = json.loads(line)["run"]
        made.setdefault(run["cell"], set()).add(run["repeat"])
    assert all(repeats == set(range(1, len(repeats) + 1)) for repeats in made.values())
