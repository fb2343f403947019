# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lines of --interval: the difference of two readings, and how it is written."""

import collections
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "analysis"))

from derive import hist, interval  # noqa: E402
from tables.calls import CALLS  # noqa: E402

SLOTS = {name: 2 * number for number, (_, name, *_) in enumerate(CALLS)}
URING = 2 * len(CALLS) - 1


def call(sends=0, size=1000, ns=1000, failed=0, interrupted=0):
    wall = {"sum": sends * ns, "min": ns, "max": ns,
            "buckets": {str(hist.bucket_of(ns, hist.FINE)): sends} if sends else {}}
    return {"sizes": {"10": {"sends": sends, "bytes": sends * size}} if sends else {},
            "failed": failed, "interrupted": interrupted, "wall": wall}


def raw(calls, at=1.0, first=True, last=False, unflagged=True, uring=True, **totals):
    return {"schema": "sendpath.interval/1", "at": at, "seconds": 1, "first": first, "last": last,
            "sees_unflagged": unflagged, "knows_uring": uring,
            "maps": {"totals": collections.defaultdict(int, totals),
                     "calls": {str(slot): one for slot, one in calls.items()}}}


def columns(answer):
    return answer["line"].replace(" %", "%").split()


def only(**totals):
    return columns(interval.Lines().answer(raw({}, **totals)))


def test_what_came_between():
    lines, sendmsg = interval.Lines(), SLOTS["sendmsg"] + 1
    lines.answer(raw({sendmsg: call(100)}, completions=100, flagged=100))
    both = call(150)
    both["wall"]["buckets"] = {str(hist.bucket_of(1000, hist.FINE)): 100,
                               str(hist.bucket_of(20000, hist.FINE)): 50}
    both["wall"]["max"] = 20000
    found = lines.answer(raw({sendmsg: both, SLOTS["write"]: call(failed=7)}, at=1.5, first=False,
                             completions=150, flagged=100, flag_added=10))
    assert columns(found) == ["1.5", "57", "0.80", "20.00", "20.00", "7", "50", "20%"]


def test_a_line_and_its_header():
    lines = interval.Lines()
    found = lines.answer(raw({SLOTS["write"]: call(1134, failed=3, interrupted=1),
                              SLOTS["sendto"] + 1: call(100)}, at=2.5, completions=100, flagged=50))
    assert found["line"] == ("   2.5       1,237       3.95      1.00       1.00      2         100    "
                             "50 %")
    assert len(found["header"]) == len(found["line"]) <= 80


def test_nothing_happened():
    assert only() == ["1.0", "0", "0.00", "-", "-", "0", "0", "-"]


def test_large_numbers():
    found = interval.Lines().answer(raw({0: call(1, size=12345678900, ns=1 << 21)}, at=12345.67))
    assert columns(found)[0] == "12,345.7" and columns(found)[3] == "2,097.15"


def test_both_kinds_of_zero_copy_count():
    found = interval.Lines().answer(raw({URING: call(3), SLOTS["sendto"] + 1: call(4)}, completions=4,
                                        uring_completions=3, uring_copied=1))
    assert columns(found)[6:] == ["7", "14.3%"]


@pytest.mark.parametrize("unflagged, copied", [(True, "100%"), (False, "40%")])
def test_copies_without_a_flag_count_where_they_are_seen(unflagged, copied):
    line = raw({}, unflagged=unflagged)
    line["maps"]["totals"].update(completions=10, flagged=4, unflagged=6)
    assert columns(interval.Lines().answer(line))[7] == copied


@pytest.mark.parametrize("uring, copied", [(False, "-"), (True, "0%")])
def test_copies_that_io_uring_does_not_report_are_not_none(uring, copied):
    assert only(uring=uring, uring_completions=10, uring_unknown=10)[7] == copied


def test_shares_stay_shares():
    """A flag is taken back after the line that counted it."""
    lines = interval.Lines()
    lines.answer(raw({}, completions=10, flagged=10))
    assert columns(lines.answer(raw({}, first=False, completions=20, flagged=13, flag_retracted=6)))[
        7] == "0%"
    assert columns(lines.answer(raw({}, first=False, completions=21, flagged=23, flag_retracted=6)))[
        7] == "100%"


def test_a_last_fraction_without_a_send_has_no_line():
    lines = interval.Lines()
    last = raw({0: call(5)}, at=1.2, first=False, last=True)
    assert lines.answer(raw({0: call(5)})) and lines.answer(last) == {"line": None}
    assert interval.Lines().answer(last)["line"]
    assert lines.answer({**last, "at": 1.6})["line"]


def test_lines_and_records_by_one_process():
    kept = json.loads((ROOT / "tests/fixtures/raw/zerocopy_load.json").read_text(encoding="ascii"))
    line = {**raw({}), "maps": kept["raw"]["maps"]}
    done = subprocess.run([sys.executable, "-I", "-B", "-S", ROOT / "analysis/derive/__main__.py"],
                          input="\n".join(map(json.dumps, (line, kept["raw"], line))), check=True,
                          capture_output=True, text=True)
    first, record, second = map(json.loads, done.stdout.splitlines())
    assert record == kept["record"] and first == second
    assert columns(first)[1] == columns(first)[6] == str(kept["record"]["zerocopy"]["requests"])
