# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the lines of --interval: the difference of two readings, and its text."""

import collections
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analysis.derive import hist, interval  # noqa: E402
from analysis.front import live  # noqa: E402
from analysis.tables.calls import CALLS  # noqa: E402

SLOTS = {name: 2 * number for number, (_, name, *_) in enumerate(CALLS)}
URING = 2 * len(CALLS) - 1


def call(sends=0, size=1000, ns=1000, failed=0, interrupted=0):
    wall = {"sum": sends * ns, "min": ns, "max": ns,
            "buckets": {str(hist.bucket_of(ns, hist.FINE)): sends} if sends else {}}
    return {"sizes": {"10": {"sends": sends, "bytes": sends * size}} if sends else {},
            "failed": failed, "interrupted": interrupted, "wall": wall, "errors": {}}


def raw(calls, at=1.0, last=False, unflagged=True, uring=True, **totals):
    return {"schema": "sendpath.interval/1", "at": at, "seconds": 1, "last": last,
            "sees_unflagged": unflagged, "knows_uring": uring,
            "maps": {"totals": collections.defaultdict(int, totals),
                     "calls": {str(slot): one for slot, one in calls.items()}}}


def columns(line):
    return line.replace(" %", "%").split()


def only(**totals):
    return columns(interval.Lines().line(raw({}, **totals)))


def test_what_came_between():
    lines, sendmsg = interval.Lines(), SLOTS["sendmsg"] + 1
    lines.line(raw({sendmsg: call(100)}, completions=100, flagged=100))
    both = call(150)
    both["wall"]["buckets"] = {str(hist.bucket_of(1000, hist.FINE)): 100,
                               str(hist.bucket_of(20000, hist.FINE)): 50}
    both["wall"]["max"] = 20000
    found = lines.line(raw({sendmsg: both, SLOTS["write"]: call(failed=7)}, at=1.5,
                             completions=150, flagged=100, flag_added=10))
    assert columns(found) == ["1.5", "57", "0.80", "20.00", "20.00", "7", "50", "20%"]


def test_a_line_and_its_header():
    lines = interval.Lines()
    found = lines.line(raw({SLOTS["write"]: call(1134, failed=3, interrupted=1),
                              SLOTS["sendto"] + 1: call(100)}, at=2.5, completions=100, flagged=50))
    assert found == ("   2.5       1,237       3.95      1.00       1.00      2         100    "
                             "50 %")
    assert len(interval.HEADER) == len(found) <= 80


def test_nothing_happened():
    assert only() == ["1.0", "0", "0.00", "-", "-", "0", "0", "-"]


def test_large_numbers():
    found = interval.Lines().line(raw({0: call(1, size=12345678900, ns=1 << 21)}, at=12345.67))
    assert columns(found)[0] == "12,345.7" and columns(found)[3] == "2,097.15"


def test_both_kinds_of_zero_copy_count():
    found = interval.Lines().line(raw({URING: call(3), SLOTS["sendto"] + 1: call(4)}, completions=4,
                                        uring_completions=3, uring_copied=1))
    assert columns(found)[6:] == ["7", "14.3%"]


@pytest.mark.parametrize("unflagged, copied", [(True, "100%"), (False, "40%")])
def test_copies_without_a_flag_count_where_they_are_seen(unflagged, copied):
    line = raw({}, unflagged=unflagged)
    line["maps"]["totals"].update(completions=10, flagged=4, unflagged=6)
    assert columns(interval.Lines().line(line))[7] == copied


@pytest.mark.parametrize("uring, copied", [(False, "-"), (True, "0%")])
def test_copies_that_io_uring_does_not_report_are_not_none(uring, copied):
    assert only(uring=uring, uring_completions=10, uring_unknown=10)[7] == copied


def test_shares_stay_shares():
    """The kernel takes a flag back after a line has counted it. The shares must stay between 0 and 100 %."""
    lines = interval.Lines()
    lines.line(raw({}, completions=10, flagged=10))
    assert columns(lines.line(raw({}, completions=20, flagged=13, flag_retracted=6)))[
        7] == "0%"
    assert columns(lines.line(raw({}, completions=21, flagged=23, flag_retracted=6)))[
        7] == "100%"


def test_a_last_fraction_without_a_send_has_no_line():
    lines = interval.Lines()
    last = raw({0: call(5)}, at=1.2, last=True)
    assert lines.line(raw({0: call(5)})) and lines.line(last) is None
    assert interval.Lines().line(last)
    assert lines.line({**last, "at": 1.6})


class Paper:
    """A stream whose reader is ready only while `reads` is true."""

    def __init__(self):
        self.text, self.reads = "", True

    def takes_text(self):
        return self.reads

    def write(self, text):
        self.text += text


def test_lines_that_are_left_out_are_in_the_next():
    paper = Paper()
    lines = live.Live(paper)
    lines.begin("twocopy #1")
    lines.add(raw({0: call(5)}))
    paper.reads = False
    lines.add(raw({0: call(7)}, at=2.0))
    paper.reads = True
    lines.add(raw({0: call(12)}, at=3.0))
    paper.reads = False
    lines.add(raw({0: call(20)}, at=4.0, last=True))  # the last line waits for the reader
    lines.end()
    header, label, *rows, end = paper.text.split("\n")[:-1]
    assert (header, label, end) == (interval.HEADER, "twocopy #1:", "")
    assert [columns(row)[:2] for row in rows] == [["1.0", "5"], ["3.0", "7"], ["4.0", "8"]]


def test_a_header_stands_over_each_screen_of_lines():
    paper = Paper()
    lines = live.Live(paper)
    for window in range(2):
        lines.begin("")
        for second in range(1, 22):
            lines.add(raw({0: call(second)}, at=float(second)))
    assert paper.text.count(interval.HEADER) == 3 and len(paper.text.splitlines()) == 45
