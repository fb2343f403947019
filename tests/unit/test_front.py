# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the front without an engine: plans, folders, progress, output."""

import errno
import json
import os
import pathlib
import socket
import stat
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analysis.faults import Fault  # noqa: E402
from analysis.front import doctor  # noqa: E402
from analysis.front.channel import Channel, Gone  # noqa: E402
from analysis.front.folder import SEED_MAX, Folder, difference, sound_record  # noqa: E402
from analysis.front.output import LineFile, why  # noqa: E402
from analysis.front.plan import is_mine, order, without_twins  # noqa: E402
from analysis.front import progress  # noqa: E402
from analysis.front.progress import duration_text  # noqa: E402


# The expected orders were computed by another implementation.
@pytest.mark.parametrize("seed,block,expected", [
    (7, 1, [1, 9, 8, 10, 7, 6, 4, 11, 3, 5, 0, 2]), (7, 2, [8, 2, 6, 0, 1, 3, 4, 11, 10, 5, 9, 7]), (4294967291, 3, [4, 6, 5, 9, 10, 8, 2, 1, 3, 0, 7, 11])])
def test_the_order_of_a_seed_stays(seed, block, expected):
    assert order(12, seed, block) == expected


@given(st.integers(1, 300), st.integers(0, SEED_MAX), st.integers(1, 1000))
def test_a_block_has_every_configuration_once(count, seed, block):
    assert sorted(order(count, seed, block)) == list(range(count))


def test_every_configuration_comes_first_equally_often():
    first = [order(9, 7, block)[0] for block in range(1, 9001)]
    for number in range(9):  # 1000, give or take six standard deviations of 29.8
        assert 821 <= first.count(number) <= 1179


@given(st.lists(st.integers(0, 20), min_size=1), st.integers(1, 7))
def test_shards_are_a_partition_that_divides_no_group(groups, shards):
    for group in groups:
        assert sum(is_mine({"group": group}, shard, shards) for shard in range(1, shards + 1)) == 1


def test_the_first_of_a_name_stays():
    cells = [{"cell": name} for name in ("a", "b", "a", "c", "b")]
    assert without_twins(cells) == [(0, cells[0]), (1, cells[1]), (3, cells[3])]


def plan(**more):
    return {"schema": "sendpath.plan/1", "version": "1", "grid": None, "order_seed": 7, "repeat": 5,
            "shards": 1, "measuring": {"stages": False}, "cells": [{"cell": "4K"}], **more}


@pytest.mark.parametrize("older,order_given,words", [
    (plan(), True, None), (plan(order_seed=4000000000), False, None),
    (plan(order_seed=8), True, "its --order-seed is 8, not 7"),
    (plan(repeat=6), False, "its --repeat is 6, not 5"), (plan(grid="e"), False, "its --grid is e, not none"),
    (plan(cells=[]), False, "its loads are others"),
    (plan(measuring={"stages": True}), False, "its options of measuring are others"),
    ({}, False, "its schema is none, not sendpath.plan/1"),
    (plan(schema="\033[2J"), False, "its schema is \\x1b[2J, not sendpath.plan/1"),
    (plan(schema="\ud800"), False, "its schema is \\xef\\xbf\\xbd, not sendpath.plan/1"),
    *((plan(order_seed=odd), False, "not a number from 0 to 4294967295")
      for odd in (-1, SEED_MAX + 1, "7", None, True, [7]))])
def test_how_plans_differ(older, order_given, words):
    found = difference(older, plan(), order_given)
    assert found is None if words is None else words in found


RECORD = {"schema": "sendpath.run/3", "tool": {}, "host": {}, "load": {}, "run": {"cell": "4K", "repeat": 1},
          "calls": None}


def line(value):
    return json.dumps(value).encode() + b"\n"


def test_a_record_of_a_sweep():
    assert sound_record(line(RECORD)) == RECORD


@pytest.mark.parametrize("data,words", [
    (line(RECORD)[:-1], "no record"), (b"[]\n", "no record"), (b"\xff\n", "no record"),
    (line(RECORD)[:-1] + line(RECORD), "no record"), (b"[" * 100000 + b"\n", "no record"),
    (line({**RECORD, "host": None}), "/host is not of type object"),
    (line({**RECORD, "run": {"cell": 7, "repeat": 1}}), "/run/cell is not of type string"),
    (line({**RECORD, "run": {"cell": "4K", "repeat": True}}), "/run/repeat is not of type int"),
    (line({**RECORD, "calls": {}}), "/calls is not of type array"),
    (line({**RECORD, "noise": "busy"}), "/noise is not of type object"),
    (line({**RECORD, "app": {"x": 1e308}}).replace(b"1e+308", b"1e999"), "a number is not finite"),
    (line({**RECORD, "app": {"x": float("nan")}}), "a number is not finite")])
def test_a_line_that_is_no_record_of_a_sweep(data, words):
    with pytest.raises(ValueError, match=words):
        sound_record(data)


@given(st.binary(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["schema", "run", "cell", "repeat", "host", "tool", "load"]), inner)
).map(line))
def test_any_line_is_a_record_or_refused(data):
    try:
        assert isinstance(sound_record(data), dict)
    except ValueError as error:
        assert str(error)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                        st.sampled_from(["schema", "version", "order_seed", "cells", "repeat"]), inner)))
def test_any_plan_is_compared(older):
    if isinstance(older, dict):
        found = difference(older, plan(), True)
        assert found is None or found.isprintable()


def open_folder(path, notes, **more):
    folder = Folder(str(path), notes.append)
    return folder, folder.open(plan(**more), "order_seed" in more, 1, 1)


def test_a_folder_keeps_its_plan_and_its_seed(tmp_path):
    notes = []
    folder, seed = open_folder(tmp_path / "out", notes)
    folder.add(RECORD)
    assert seed == 7
    with pytest.raises(Fault, match="another sweep writes to it now"):
        open_folder(tmp_path / "out", notes, repeat=6)
    assert json.loads((tmp_path / "out/plan.json").read_text())["repeat"] == 5
    os.close(folder.runs)
    folder, seed = open_folder(tmp_path / "out", notes, order_seed=7)
    assert (seed, list(folder.records()), notes) == (7, [RECORD], [])
    with pytest.raises(Fault, match="its --repeat is 5, not 4: more is taken") as refused:
        open_folder(tmp_path / "out", notes, repeat=4)
    assert refused.value.status == 2
    os.close(folder.runs)
    open_folder(tmp_path / "out", notes, repeat=6)
    assert json.loads((tmp_path / "out/plan.json").read_text())["repeat"] == 6
    assert sorted(os.listdir(tmp_path / "out")) == ["plan.json", "runs.jsonl"]


@pytest.mark.parametrize("typed, shards, advised", [
    ("--shard 2/2", 2, "--shard 1/2"), ("--shard=2/2", 2, "--shard=1/2"), ("--shard 2/3", 3, "--shard 2/3")])
def test_a_refused_shard_is_advised_its_own_command(tmp_path, typed, shards, advised):
    Folder(str(tmp_path), print).open(plan(shards=shards, command=f"analyze sweep {typed}"), False, 2, shards)
    with pytest.raises(Fault) as refused:
        Folder(str(tmp_path), print).open(plan(shards=2, cells=[]), False, 1, 2)
    assert str(refused.value).endswith(f"analyze sweep {advised}")


def test_half_a_record_is_put_aside(tmp_path):
    notes = []
    folder, _ = open_folder(tmp_path, notes)
    folder.add(RECORD)
    with open(tmp_path / "runs.jsonl", "ab") as file:
        file.write(b"no record\n" + line(RECORD)[:20])
    assert list(folder.records()) == [RECORD]
    assert len(notes) == 2 and "line 2: no record" in notes[0] and "half a record: put aside" in notes[1]
    assert (tmp_path / "runs.jsonl.half").read_bytes() == line(RECORD)[:20]
    assert (tmp_path / "runs.jsonl").read_bytes().endswith(b"no record\n")


@pytest.mark.parametrize("name", ["out", "out/"])
def test_no_symbolic_link_is_followed_to_a_folder(tmp_path, name):
    (tmp_path / "there").mkdir()
    (tmp_path / "out").symlink_to("there")
    with pytest.raises(Fault, match="it is a symbolic link"):
        Folder(f"{tmp_path}/{name}", print).open(plan(), False, 1, 1)
    assert not os.listdir(tmp_path / "there")


@pytest.mark.parametrize("seconds,text", [
    (-1, "0 s"), (0, "0 s"), (0.5, "1 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"),
    (3600, "1 h 0 min"), (90061, "25 h 1 min")])
def test_times_left_are_round(seconds, text):
    assert duration_text(seconds) == text


def test_json_lines_begin_on_a_line_of_their_own(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"half")
    file = LineFile(str(path))
    file.add(b"{}\n")
    file.add(b"[]\n")
    file.close()
    assert path.read_bytes() == b"half\n{}\n[]\n"


@pytest.mark.parametrize("write", ["add", "replace"])
def test_a_full_disk_leaves_what_was_there(tmp_path, write):
    path = tmp_path / "out"
    path.write_bytes(b"{}\n")
    code = ("import sys; sys.path.insert(0, sys.argv[1])\nfrom analysis.front.output import LineFile\n"
            f"try:\n    LineFile(sys.argv[2]).{write}(b'x' * 100000)\nexcept OSError as e: print(e.errno)")
    for file, size in ((path, 3), (tmp_path / "fresh", None)):
        done = subprocess.run(["bash", "-c", 'ulimit -f 8; exec "$@"', "-", sys.executable, "-c", code,
                               str(ROOT), str(file)], stdout=subprocess.PIPE, check=True)
        assert int(done.stdout) == errno.EFBIG
        assert (file.stat().st_size if file.exists() else None) == size


@pytest.mark.parametrize("mode", [0o777, 0o555])
def test_a_file_gets_other_content(tmp_path, mode):
    path = tmp_path / "out"
    path.write_bytes(b"older and longer\n")
    tmp_path.chmod(mode)
    file = LineFile(str(path))
    file.replace(b"new\n")
    file.close()
    tmp_path.chmod(0o777)
    assert path.read_bytes() == b"new\n" and os.listdir(tmp_path) == ["out"]


def test_an_impossible_output_is_refused(tmp_path):
    (tmp_path / "link").symlink_to("elsewhere")
    os.mkfifo(tmp_path / "fifo")
    for name, words in (("link", "it is a symbolic link"), ("fifo", "nobody reads from it"),
                        ("no/out", "No such file or directory"), ("", "Is a directory")):
        with pytest.raises(OSError) as raised:
            LineFile(str(tmp_path / name) if name else "")
        assert words in why(raised.value)
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode) and not (tmp_path / "elsewhere").exists()


def test_lines_come_in_any_pieces():
    ours, theirs = (end.detach() for end in socket.socketpair())
    channel = Channel(ours)
    os.write(theirs, b'{"a":1}\n{"b"')
    assert channel.receive() == {"a": 1}
    os.write(theirs, b":2}\n[]\n")
    assert channel.receive() == {"b": 2}
    with pytest.raises(ValueError):
        channel.receive()
    channel.send({"end": True})
    assert os.read(theirs, 99) == b'{"end": true}\n'
    os.write(theirs, b'{"half')
    os.close(theirs)
    with pytest.raises(Gone):
        channel.receive()
    with pytest.raises(Gone):
        channel.send({})


@pytest.mark.parametrize("answer,device", [
    ("no", {"loopback": True}), ("no", {"driver": "tun"}), ("no", {"scatter_gather": False}),
    ("no", {"checksum": False}), ("depends", {"driver": "veth"}), ("yes", {})])
def test_zero_copy_of_a_device(answer, device):
    whole = {"driver": "e1000e", "loopback": False, "scatter_gather": True, "checksum": True, **device}
    assert doctor.zerocopy(whole)[0] == answer


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_line_of_progress_does_not_wrap(columns, monkeypatch):
    said = []
    monkeypatch.setattr(os, "isatty", lambda fd: True)
    monkeypatch.setattr(progress, "terminal_size", lambda fd: os.terminal_size((columns, 24)))
    monkeypatch.setattr(progress, "say", said.append)
    bar = progress.Progress(432, 48, 100, 1.5, bar=True, lines=False)
    bar.begin("zerocopy 16K x1 #2")
    (text,) = said
    whole = "[##........] 100/432 of 48 configurations, 8 min 18 s left: zerocopy 16K x1 #2: 0.0 s"
    assert text == f"\r{whole[:columns - 1]}\033[K"
