# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the tables of top: their sums, and the screens and lines that show them."""

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analysis.derive.interval import Groups  # noqa: E402
from analysis.front import top  # noqa: E402
from analysis.tables.options import SORTS  # noqa: E402
from analysis.text.layout import BOLD  # noqa: E402
from analysis.text.top import BY_NAME, HINT, LETTERS, View, block, screen  # noqa: E402

BY_PROCESS = View(True, False, 32, "gbit")


def group(tgid, comm, sends, size=1000, device="lo", path="", **more):
    """Returns a group, in the form of the engine's lines; each send takes 2 us."""
    return [{"tgid": tgid, "netns": 4026531840, "ifindex": 1, "cgroup": path},
            {"sends": sends, "bytes": sends * size, "timed": sends, "ns": 2000 * sends, "pid": tgid, "comm": comm,
             "device": device, **more}, path]


def line(*groups, rest=None, at=1.0, unflagged=True, uring=True):
    return {"at": at, "seconds": 1.0, "last": False, "sees_unflagged": unflagged, "knows_uring": uring,
            "groups": {"groups": list(groups), "rest": [{}, rest or {}, ""]}}


def table(*groups, cgroups=False, **more):
    found = Groups(True, cgroups)
    found.add(line(*groups, **more))
    return found.take()


ZEROCOPY = {"requests": 1500, "zerocopy_bytes": 1500 * 65536, "refused": 3, "completions": 1490, "copied": 149}
ORDINARY = (group(4711, "nginx", 71234, 16384, "eth0"), group(812, "qemu-system-x86", 1500, 65536, "eth1", **ZEROCOPY),
            group(4194304, "curl", 2))


def test_one_screen():
    found = screen(table(*ORDINARY), BY_PROCESS, 80, 24)
    assert found == """\
72,736 sends/s, 10.1 Gbit/s by 3 processes; 10 % of zero-copy sends copied
most Gbit/s first; every 1 s, 1.0 s so far

\1process             pid sends/s Gbit/s us/send zero-copy copied refused/s device
nginx              4711  71,234   9.34    2.00       0 %      -         0 eth0
qemu-system-x86     812   1,500  0.786    2.00     100 %   10 %      3.00 eth1
curl            4194304    2.00 <0.001    2.00       0 %      -         0 lo
""".splitlines() + [""] * 16 + ["Sort by a column: s g u z c r. p: pause. q: quit."]


@pytest.mark.parametrize("width, height", [(1, 1), (20, 3), (40, 10), (80, 5), (80, 24), (132, 50)])
def test_a_screen_has_the_size_of_the_terminal(width, height):
    many = [group(number, "x" * 15, number, path="/system.slice/" + "y" * 70) for number in range(1, 400)]
    for view in BY_PROCESS, View(False, True, 32, "us"), View(True, True, 256, "refused"):
        for shown in None, table(), table(*many, cgroups=True, rest={"sends": 5}):
            found = screen(shown, view, width, height)
            assert len(found) == height and max(len(row) for row in found if not row.startswith(BOLD)) <= width
            assert all(len(row) <= width + 1 for row in found)


def test_forty_columns_keep_the_names_and_the_column_that_sorts():
    found = screen(table(*ORDINARY), BY_PROCESS._replace(sort="refused"), 40, 10)
    assert found[3:6] == ["\1process             pid Gbit/s refused/s", "qemu-system-x86     812  0.786      3.00",
                          "nginx              4711   9.34         0"]
    assert found[-1] == "sort: sguzcr  p: pause  q: quit"


def test_without_sends():
    assert screen(None, BY_PROCESS, 80, 24)[0] == "Measuring: the first table comes after the first interval."
    found = screen(table(), BY_PROCESS, 80, 24)
    assert found[0] == "No TCP sends" and not any(found[2:-1])
    assert block(table(), BY_PROCESS) == ["1.0 s: no TCP sends", ""]


def test_names_of_others_do_not_steer_the_terminal():
    evil = [group(1, "\x1b[31m\n\xc3\xa9", 5, device="\x1b]0;x\x07", path="/a\x1b[2J/\x7f\xc2\x9b")]
    for view in BY_PROCESS, View(False, True, 32, "gbit"), View(True, True, 32, "gbit"):
        shown = table(*evil, cgroups=view.cgroups)
        text = "".join(screen(shown, view, 132, 24)) + "".join(block(shown, view))
        assert text.replace(BOLD, "").isascii() and text.replace(BOLD, "").isprintable()
    assert r"\x1b[31m\x0a\xc3\xa9" in "".join(screen(table(*evil), BY_PROCESS, 132, 24))


def test_long_names_are_cut_where_they_say_least():
    path = "/kubepods.slice/kubepods-burstable.slice/" + "x" * 40 + "/cri-containerd-abc.scope"
    shown = table(group(1, "\x01" * 15, 1, path=path), cgroups=True)
    row = block(shown, View(True, True, 32, "gbit"))[2]
    assert row.startswith("\\x01\\x01\\x..") and "/cri-containerd-abc.scope " in row and len(row) <= 80


def test_rows_without_a_place_are_one_row():
    groups = [group(number, "p", number) for number in range(1, 11)]
    view = BY_PROCESS._replace(rows=4)
    found = block(table(*groups), view)
    assert [row.split()[:3] for row in found[2:-1]] == [
        ["p", "10", "10.0"], ["p", "9", "9.00"], ["p", "8", "8.00"], ["p", "7", "7.00"], ["6", "more", "-"]]
    assert found[-2].split()[3] == "21.0" and " by 10 processes" in found[0]
    shown = table(*groups, rest={"sends": 5, "bytes": 40})
    assert block(shown, view)[-2].split()[:3] == ["others", "-", "26.0"]
    assert " by at least 10 processes" in block(shown, view)[0]
    assert block(table(rest={"sends": 7}), BY_PROCESS)[2].split()[:3] == ["others", "-", "7.00"]
    assert len(screen(shown, BY_PROCESS, 80, 10)) == 10 and "others" in screen(shown, BY_PROCESS, 80, 10)[-3]


@pytest.mark.parametrize("sort, first", [
    ("sends", "nginx"), ("gbit", "nginx"), ("us", "slow"), ("zero-copy", "qemu-system-x86"),
    ("copied", "qemu-system-x86"), ("refused", "qemu-system-x86")])
def test_each_column_sorts(sort, first):
    shown = table(*ORDINARY, group(5, "slow", 1, ns=9000))
    assert block(shown, BY_PROCESS._replace(sort=sort))[2].split()[0] == first


def test_options_and_keys_are_the_columns():
    assert tuple(BY_NAME) == SORTS and len(LETTERS) == len(SORTS) and not set(LETTERS) & {"p", "q"}
    assert all(BY_NAME[name].head[0].lower() == letter for letter, name in LETTERS.items()) and len(HINT) <= 80


def test_a_process_that_sends_by_several_devices_is_one_row():
    shown = table(group(7, "nginx", 10, device="lo"), group(7, "nginx", 100, device="eth0"), group(8, "nginx", 1))
    rows = block(shown, BY_PROCESS)
    assert len(rows) == 5 and rows[2].split()[1:3] == ["7", "110"] and rows[2].endswith(" eth0,lo")


def test_a_control_group_is_one_row():
    found = Groups(False, True)
    found.add(line(group(7, "nginx", 10, path="/a"), group(8, "curl", 100, path="/a"), group(8, "curl", 5, path="/b")))
    rows = block(found.take(), View(False, True, 32, "gbit"))
    assert rows[0] == "1.0 s: 115 sends/s, 0.001 Gbit/s by 2 control groups"
    assert [row.split()[:2] for row in rows[2:4]] == [["/a", "110"], ["/b", "5.00"]]


def test_lines_without_a_table_are_in_the_next():
    found = Groups(True, False)
    found.add(line(group(7, "nginx", 10)))
    found.add(line(group(7, "nginx", 20), group(8, "curl", 4), at=3.0))
    shown = found.take()
    assert (shown.at, shown.seconds) == (3.0, 3.0) and [row.sums["sends"] for row in shown.rows] == [30, 4]
    found.add(line(at=4.0))
    assert found.take()[:4] == (4.0, 1.0, 1.0, [])


class Engine:
    """An engine whose window ends at once."""

    def __init__(self, answer):
        self.answer = answer

    def send(self, message):
        assert message == {"run": 0, "repeat": 1, "last": True}

    def receive(self, tick):
        return self.answer


@pytest.mark.parametrize("lost, complaints", [
    (0, []), (7, ["dropped events: 7 calls and 0 completions could not be followed: the tables lack them"])])
def test_what_was_lost_is_reported_at_the_end(lost, complaints):
    raw = json.loads((ROOT / "tests/fixtures/raw/io_uring.json").read_text(encoding="ascii"))["raw"]
    raw["maps"]["totals"]["lost_threads"] = lost
    complained = []
    options = {"by": 1, "top": 10, "sort": "sends"}
    assert top.Top(Engine(raw), {"options": options}, complained.append).make() == 0 and complained == complaints


def test_a_signal_before_the_window_is_no_error():
    complained = []
    options = {"by": 1, "top": 10, "sort": "sends"}
    engine = Engine({"schema": "sendpath.interrupted/1"})
    assert top.Top(engine, {"options": options}, complained.append).make() == 0 and complained == []


def copied(counts, unflagged=True, uring=True):
    return table(group(1, "p", 10, requests=10, **counts), unflagged=unflagged, uring=uring).rows[0].copied


@pytest.mark.parametrize("counts, how, share", [
    ({}, {}, None),
    ({"completions": 10, "copied": 4, "unflagged": 6}, {}, 1),
    ({"completions": 10, "copied": 4, "unflagged": 6}, {"unflagged": False}, 0.4),
    # The kernel took back a flag that an earlier line had counted.
    ({"completions": 10, "copied": 4, "unflagged": 2**64 - 3}, {}, 0.1),
    ({"completions": 10, "unflagged": 2**64 - 3}, {}, 0),
    ({"completions": 10, "copied": 11}, {}, 1),
    ({"completions": 10, "unknown": 2}, {"uring": False}, None),
    ({"completions": 10, "unknown": 2}, {"uring": True}, 0)])
def test_the_share_of_copied_sends(counts, how, share):
    assert copied(counts, **how) == share
