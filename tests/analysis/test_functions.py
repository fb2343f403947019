# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests flame graphs: a function is as wide as its share of the samples, and above its caller."""

import json
import pathlib

import pytest
from conftest import analysis
from hypothesis import given, strategies as st

import planted
from analysis.figures import functions, save
from analysis.figures.base import WIDE, Drawn, NotDrawn
from analysis.figures.functions import Node

ROOT = pathlib.Path(__file__).resolve().parents[2]


def profiled(stacks=None, times=2):
    rows = [row for row in planted.sends(repeats=1) if row["threads"] == planted.THREADS[0]
            and row["message_bytes"] == planted.SIZES[0]]
    return planted.data(rows, stacks=planted.stacks(rows, stacks, times))


def rows_in(panel, spec):
    """Returns the rows of a panel; altair may move data to the top level of a description."""
    places = panel["layer"][0], panel, spec
    data = next(place["data"] for place in places if "data" in place)
    return spec["datasets"][data["name"]] if "name" in data else data["values"]


def rectangles(drawn, panel):
    spec = save.spec(drawn.chart)
    return {row["function"]: row for row in rows_in(spec["vconcat"][panel], spec)}


def test_widths_are_shares_and_colours_are_stages():
    drawn = functions.draw_functions(profiled(), WIDE)
    assert isinstance(drawn, Drawn)
    found = rectangles(drawn, 0)
    assert found["_copy_from_iter"]["end"] - found["_copy_from_iter"]["begin"] == pytest.approx(0.6)
    assert found["_copy_from_iter"]["stage"] == "copying user data"
    assert found["tcp_sendmsg"]["stage"] == functions.SEVERAL
    assert found["tcp_sendmsg"]["percent"] == pytest.approx(100)
    found = rectangles(drawn, 1)
    assert found["skb_copy_ubufs"]["percent"] == pytest.approx(75)
    assert b"skb_copy_ubufs" in save.svg(save.spec(drawn.chart))


def test_a_difference_is_in_points_of_the_reference():
    found = rectangles(functions.draw_compared(profiled(), WIDE), 0)
    assert found["tcp_write_xmit"]["difference"] == pytest.approx(75 - 40)
    assert found["skb_zerocopy_iter_stream"]["before"] == 0
    assert "__sys_sendmsg" not in found, "variants differ in how they come to tcp_sendmsg"


@pytest.mark.parametrize("stacks", [{}, {"twocopy": (("tcp_write_xmit", "transmit", 1),)}])
def test_few_samples_are_not_drawn(stacks):
    for draw in functions.draw_functions, functions.draw_compared:
        assert isinstance(draw(profiled(stacks, 1), WIDE), NotDrawn)


def test_a_single_variant_is_not_compared():
    data = profiled({"twocopy": planted.SAMPLED["twocopy"]})
    assert isinstance(functions.draw_functions(data, WIDE), Drawn) and isinstance(functions.draw_compared(data, WIDE), NotDrawn)


@given(st.lists(st.tuples(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), st.integers(1, 50)),
                min_size=1, max_size=30))
def test_any_callee_lies_above_its_caller(stacks):
    tree = Node()
    for path, samples in stacks:
        tree.add(path, "copy", samples)
    assert tree.samples == sum(samples for _, samples in stacks)
    rows = {row["path"]: row for row in tree.rows(tree.samples)}
    ends = {}
    for path, row in rows.items():
        caller = rows.get(path[:-1], {"begin": 0.0, "end": 1.0, "depth": -1})
        assert row["depth"] == caller["depth"] + 1
        assert caller["begin"] - 1e-9 <= row["begin"] and row["end"] <= caller["end"] + 1e-9
        assert row["begin"] >= ends.get(path[:-1], 0.0) - 1e-9
        ends[path[:-1]] = row["end"]


@pytest.mark.parametrize("samples, stacks", [(100, 1), (0.25, 400)])
def test_time_off_the_cpu_has_its_own_colour(samples, stacks):
    off = ("sk_stream_wait_memory;schedule", "blocked", samples)
    drawn = functions.draw_functions(profiled({"twocopy": (*planted.SAMPLED["twocopy"], *(off,) * stacks)}), WIDE)
    found = rectangles(drawn, 0)
    assert found["schedule"]["percent"] == pytest.approx(50) and found["schedule"]["stage"] == "blocked, off the CPU"
    picture = save.svg(save.spec(drawn.chart)).decode()
    assert "200 samples; 50 % of the time off the CPU" in picture and functions.OFF["blocked"] in picture


def test_two_sets_are_compared_variant_by_variant():
    moved = {"twocopy": (("_copy_from_iter", "copy", 90), ("tcp_write_xmit", "transmit", 10)),
             "zerocopy": planted.SAMPLED["zerocopy"]}
    drawn = functions.draw_sets(profiled(), profiled(moved), WIDE)
    found = rectangles(drawn, 0)
    assert found["tcp_write_xmit"]["difference"] == pytest.approx(10 - 40)
    assert found["_copy_from_iter"]["before"] == pytest.approx(60)
    assert all(row["difference"] == pytest.approx(0) for row in rectangles(drawn, 1).values())
    assert b"vegaEmbed" in save.html(drawn.title, *[save.spec(drawn.chart)] * 2)
    assert isinstance(functions.draw_sets(profiled(), profiled({"onecopy": ()}), WIDE), NotDrawn)


@pytest.mark.parametrize("name,status", [("x.html", 0), ("x.svg", 0), ("x.txt", 2)])
def test_compare_writes_the_picture(name, status, tmp_path):
    records = [json.loads(line) for line in (ROOT / "tests/analysis/samples.jsonl").read_text().splitlines()]
    stacks = [{"syscall": "sendto", "zerocopy": False, "context": "send", "stage": "copy", "samples": 200,
               "functions": ["tcp_sendmsg", "tcp_sendmsg_locked"]}]
    for side in "ab":
        (tmp_path / side).write_text("".join(json.dumps(
            {**record, "profile": {"event": "cpu-clock", "hz": 997, "samples": 200, "lost": 0, "stacks": stacks}})
            + "\n" for record in records))
    done = analysis("compare", tmp_path / "a", tmp_path / "b", "--flame", tmp_path / name)
    assert done.returncode == status, done.stderr
    assert (tmp_path / name).exists() == (status == 0)
    assert status == 0 or "give a name that ends in .html, .svg or .png" in done.stderr
