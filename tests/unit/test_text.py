# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The text report of run records, also of those that anybody may have written.

What it says is in tests/fixtures/text, a file for each kind of report: tests/fixtures/record.py --text
writes them anew.
"""

import copy
import json
import math
import pathlib
import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "analysis"), str(ROOT / "tests/fixtures")]

import texts  # noqa: E402 (not in the path before)
from derive import hist as filled  # noqa: E402
from tables.causes import CAUSES  # noqa: E402
from text import causes, lay_out, record, table, totals, units, verdict  # noqa: E402
from text.cells import Cells  # noqa: E402
from text.hist import Hist  # noqa: E402
from text.report import HISTOGRAMS, REPORT, SUMMARY, report  # noqa: E402
from text.spread import Spread, median, median_interval  # noqa: E402

RECORDS = [texts.record(path.stem) for path in sorted(texts.RAW.glob("*.json"))]
ODD = [None, {}, [], [None], "x", True, math.nan, -math.inf]


def cells_of(*records):
    cells = Cells()
    for one in records:
        cells.add(one)
    return cells


@pytest.mark.parametrize("name", texts.TEXTS)
def test_texts_are_as_kept(name):
    assert texts.text_of(name) == (texts.KEPT / f"{name}.txt").read_text(encoding="ascii")


def test_each_kept_text_has_its_records():
    assert {path.stem for path in texts.KEPT.iterdir()} == set(texts.TEXTS)


def test_of_nothing_there_is_nothing():
    assert lay_out(report(Cells()), False) == ""


def test_a_report_leaves_records_alone():
    before = copy.deepcopy(RECORDS)
    report(cells_of(*RECORDS), HISTOGRAMS)
    assert repr(RECORDS) == repr(before)


def test_it_needs_the_standard_library_alone():
    done = subprocess.run([sys.executable, "-I", "-B", "-S", "-c", f"""import sys
sys.path.insert(0, {str(ROOT / "analysis")!r})
import text.report, text.totals
print(*sys.modules)"""], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    assert "numpy" not in done.stdout and "dataclasses" not in done.stdout


def places(part, path=()):
    """Paths to all that is in a list or object; of histograms, to one bucket."""
    inner = part.items() if isinstance(part, dict) else enumerate(part[:1] if "buckets" in path else part)
    for key, value in inner:
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


PLACES = [list(places(one)) for one in RECORDS]


def damaged(number, data):
    """A record of RECORDS, with damage in up to three places."""
    one = json.loads(json.dumps(RECORDS[number]))
    for *path, key in data.draw(st.lists(st.sampled_from(PLACES[number]), max_size=3)):
        part = one
        try:
            for inner in path:
                part = part[inner]
            how = data.draw(st.integers(0, 3))
            if how == 0:
                del part[key]
            elif how == 1 and isinstance(part, list):
                part.insert(key, part[key])
            else:
                part[key] = data.draw(ANYTHING)
        except (LookupError, TypeError):
            pass  # it is not there any more
    return one


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) |
    st.sampled_from(["\x1b[31m", "\0", "\ud800", "x" * 300, "procinfo", 1e308, 10 ** 30, -1, 0.5]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6)


@settings(deadline=None)  # others may use the CPUs
@given(st.lists(st.integers(0, len(RECORDS) - 1), min_size=1, max_size=3), st.booleans(),
       st.sampled_from([REPORT, HISTOGRAMS, SUMMARY]), st.data())
def test_any_damage_leaves_a_text_that_can_be_printed(numbers, alike, extent, data):
    records = [damaged(number, data) for number in (numbers[:1] * 3 if alike else numbers)]
    text = lay_out(report(cells_of(*records), extent), colour=False)
    assert text.endswith("\n")
    assert all(character == "\n" or " " <= character <= "~" for character in text)
    for line in text.splitlines():
        words = line.lstrip(" ")
        room = 80 - (len(line) - len(words))
        assert len(words) <= room or room < 0 or " " not in words[:room + 1]  # no place to break it


@settings(deadline=None)
@given(st.sampled_from([i for i, one in enumerate(RECORDS) if one["load"]]), st.integers(1, 3), st.data())
def test_a_slim_record_has_the_same_summary(number, count, data):
    kept = {"load": RECORDS[number]["load"], "plan": {"tier": RECORDS[number]["plan"]["tier"]}}
    # Of a sweep, the summary does not say what disturbed its runs.
    records = [{**damaged(number, data), **kept, "noise": None, "warnings": None, "observed": None}
               for _ in range(count)]
    before = repr(records)
    slim = cells_of(*map(totals.slim, records))
    assert repr(records) == before
    assert report(slim, SUMMARY) == report(cells_of(*records), SUMMARY)


def test_cells_come_in_the_plans_order():
    records = [{"run": {"cell": name}} for name in ("c", "a", "b", "a")]
    cells = cells_of(*records)
    cells.sort(["a", "b", "c"])
    assert [one["run"]["cell"] for cell in cells for one in cell.records] == ["a", "a", "b", "c"]


def test_slim_histograms_take_little_memory():
    buckets = [[1 << i % 30, 2 << i % 30, 1 + i] for i in range(200)]
    one = {"run": {"cell": "c"}, "calls": [{"wall_ns": {"count": 200, "buckets": buckets}}]}
    kept = totals.slim(one)["calls"][0]["wall_ns"]
    assert sys.getsizeof(kept["buckets"]) < 4096
    assert Hist(kept).buckets == Hist(one["calls"][0]["wall_ns"]).buckets


# Reading records


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_what_has_another_type_is_not_there(odd):
    one = {"v": odd, "list": [odd]}
    assert record.number(one, "v") is None and record.value(one, "v") == record.count(one, "v") == 0
    assert record.array(one, "v") == (odd if isinstance(odd, list) else [])
    assert not list(record.rows(one, "v")) and not record.members(one, "v")
    assert record.flag(one, "v") == (odd is True)
    assert record.string(one, "v") == ("x" if odd == "x" else "")
    assert not Hist(odd).count


def test_absent_is_not_zero():
    one = {"a": {"b": None, "c": 0}}
    assert [record.number(one, path) for path in ("a/b", "a/d", "a/c", "a/c/d")] == [None, None, 0, None]


@pytest.mark.parametrize("number, count", [(3, 3), (2.9, 2), (-1, 0), (-1e300, 0), (1e300, 2 ** 64 - 1),
                                           (2 ** 64, 2 ** 64 - 1)])
def test_counts_are_kept_in_their_range(number, count):
    assert record.count(number) == count


def test_strings_can_be_printed():
    one = {"v": "eth\x1b[2J\n", "w": "\xff\ud800", "x": "a\\\0b"}
    assert [record.string(one, key) for key in "vwx"] == [
        r"eth\x1b[2J\x0a", r"\xc3\xbf\xef\xbf\xbd", "a\\"]
    assert record.safe_text("\1\1\1", 8) == r"\x01"


def test_counters_are_found_by_side_and_pmu():
    one = {"counters": [{"event": "cycles", "pmu": pmu, "scope": scope, "value": value}
                        for pmu, scope, value in (("cpu_core", "sender", 1), ("cpu_atom", "sender", 2),
                                                  ("cpu_core", "receiver", None))]}
    assert record.counter(one, "sender", "cycles", "cpu_atom") == 2
    assert record.counter(one, "sender", "cycles") == 1
    assert record.counter(one, "receiver", "cycles") is None
    assert record.counter(one, "sender", "branches") is None


SOUND = {"schema": "s", "tool": {}, "host": {}, "load": {}, "run": {"cell": "c", "repeat": 1}, "app": None}


@pytest.mark.parametrize("other, why", [
    ({}, None), ({"app": {}}, None),
    ({"run": {"cell": "c", "repeat": math.nan}}, "/run/repeat is not of type int"),
    ({"run": {"cell": "c", "repeat": True}}, "/run/repeat is not of type int"),
    ({"app": []}, "/app is not of type object"),
    ({"app": {"a": [math.inf]}}, "a number is not finite"),
    ({"schema": None}, "/schema is not of type string")])
def test_what_is_odd_is_named(other, why):
    assert record.fault({**SOUND, **other}) == why


# Numbers, tables, lines


def test_a_histogram_survives_the_record():
    values = [i * i * 37 for i in range(1000)] + [2 << filled.MAX_BITS]
    before = {"sum": sum(values), "min": 0, "max": max(values), "buckets": {}}
    for one in values:
        index = str(filled.bucket_of(one, filled.FINE))
        before["buckets"][index] = before["buckets"].get(index, 0) + 1
    derived = filled.Hist(before)
    after = Hist(derived.json("message"))
    assert (after.count, after.sum, after.max) == (1001, before["sum"], before["max"])
    assert sorted(after.buckets.items()) == derived.buckets
    assert [after.percentile(point) for point in (500, 999, 1000)] == [
        derived.percentile(point) for point in (500, 999, 1000)]


def test_medians_and_their_intervals():
    assert (median([1, 2, 3]), median([1, 2, 3, 4]), median([])) == (2, 2.5, 0)
    assert median_interval([1, 2, 3, 4]) is None
    assert median_interval([1, 2, 3, 4, 5]) == (1, 5)
    low, high = median_interval(list(range(20)))
    assert 5 <= low < 6 and 13 < high <= 14


@pytest.mark.parametrize("text, expected", [
    (units.whole(1234567.0), "1,234,567"), (units.whole(2.5), "2"), (units.whole(-1e20), "-1e+20"),
    (units.decimal(-1234.5, 2), "-1,234.50"), (units.figure(1.234, 3), "1.23"),
    (units.figure(1234.5, 3), "1,234"), (units.figure(999.5, 3), "1,000"), (units.size(16384), "16K"),
    (units.size(99999), "99999"), (units.time(3912.0), "3.91 us"), (units.time(412e6), "412 ms"),
    (units.time(99.0), "99 ns"), (units.counted(1.0, "send"), "1 send"),
    (units.counted(0.0, "send"), "0 sends"), (units.percent(999999.0, 1e6), "99.9 %"),
    (units.percent(1.0, 1e6), "0.1 %"), (units.percent(1.0, 1.0), "100 %"), (units.percent(0.0, 0.0), "-")])
def test_numbers_as_people_write_them(text, expected):
    assert text == expected


def test_a_table_aligns_its_columns_and_continues_below():
    assert table.lines([["name", "value"], ["a", "12345678"], ["alone"]]) == [
        "name      value", "a      12345678", "alone"]
    wide = table.lines([["key", "x" * 40, "y" * 40], ["k", "1", "2"]])
    assert [line.split() for line in wide] == [["key", "x" * 40], ["k", "1"], [], ["key", "y" * 40],
                                               ["k", "2"]]
    assert table.lines([["x" * 99]]) == ["x" * table.CELL]


def test_lines_are_broken_between_words_and_styled_on_a_terminal():
    text = "\1" + "word " * 20 + "\nwarning: w\nLOST: l\n  label          " + "text " * 20 + "\n" + "x" * 99 + "\n"
    first, second, *_, last = lay_out(text, False).splitlines()
    assert first == " ".join(["word"] * 16) and second == "  " + "word " * 4 and last == "x" * 99
    assert "\n                 text" in lay_out(text, False)
    assert lay_out(text, True).count("\033[0m\n") == 3
    assert lay_out("warning: w\n", True) == "\033[33mwarning: w\033[0m\n"


# Verdicts

NAMED = {cause.name: cause for cause in CAUSES}
LOOPBACK = causes.Row(NAMED["loopback"], "lo", 7.0, 1.0, "", 1000.0)
LESS, MORE = Spread(0.25, 0.4, 0.5, 5), Spread(2, 2.5, 4, 5)
NEARLY, ALIKE = Spread(1.01, 1.02, 1.04, 5), Spread(0.9, 1.2, 1.3, 5)


def row(name, device="eth0", sends=1000.0, stack=""):
    return causes.Row(NAMED[name], device, sends=sends, stack=stack)


def facts(**others):
    """A thousand sends that went well, but for that."""
    return verdict.Facts(**{"requests": 1000.0, "completions": 1000.0, "to": " to 10.0.0.2", **others})


def say(**others):
    return verdict.verdict(facts(**others))


def copied(count, *rows, **others):
    return say(copied=count, reported=count, causes=rows, **others)


@pytest.mark.parametrize("text, expected", [
    (copied(1000.0, LOOPBACK), "100 % of 1,000 zero-copy sends to 10.0.0.2 were copied: loopback, lo. Zero-"
     "copy cannot help here: send without it, or try another path: analyze advise --peer."),
    (say(), "none of 1,000 zero-copy sends to 10.0.0.2 was copied: zero-copy works here."),
    (say(skipped_looks=3.0), "none of 1,000 zero-copy sends to 10.0.0.2 was copied, as far as was seen. "
     "More may have been copied: the kernel skipped 3 runs of the programs that see copies."),
    (copied(370.0, row("packet_tap", sends=300.0), row("qdisc", sends=70.0)), "37 % of 1,000 zero-copy sends"
     " to 10.0.0.2 were copied, most of them (300): tcpdump or another packet tap, eth0. Find the listener "
     "(ss -0pl) and end it."),
    (say(requests=99.0, completions=99.0), "no verdict: 99 zero-copy sends completed, too few to tell"),
    (say(requests=0.0), ""),
    (say(completions=0.0, ignored=1000.0, empty=200.0), "80 % of 1,000 requests were ignored, and the data "
     "copied: the socket lacks SO_ZEROCOPY. 20 % of 1,000 requests were ignored: zero length."),
    (say(completions=0.0, ignored=1000.0, empty=1000.0), "100 % of 1,000 requests were ignored: zero "
     "length."),
    (say(completions=800.0, refused=200.0, refusal="optmem"), "20 % of 1,000 requests were refused: the "
     "socket has as many notifications unread or under way as optmem allows. Read the error queue more "
     "often, or raise net.core.optmem_max. None of 800 zero-copy sends to 10.0.0.2 was copied: zero-copy "
     "works here."),
    # That few were completed is for want of what the refusal names.
    (say(requests=2000.0, refused=1920.0, refusal="optmem", completions=80.0), "96 % of 2,000 requests were "
     "refused: the socket has as many notifications unread or under way as optmem allows. Read the error "
     "queue more often, or raise net.core.optmem_max. No verdict: 80 zero-copy sends completed, too few to "
     "tell"),
])
def test_verdicts_as_they_are_read(text, expected):
    assert text == expected


@pytest.mark.parametrize("text, part", [
    (say(silent=-1.0), "unflagged copies are not visible here"),
    (say(skipped_looks=-1.0), "this kernel does not count"),
    (say(lost_copies=1.0), "no room for traces of 1 packet"),
    # However few they are.
    (copied(1000.0, LOOPBACK, lost=1.0), "Caveat: 1 send was not followed to the end"),
    (say(lost=1.0, lost_else=2.0), "Caveat: 3 sends were not followed to the end"),
    (say(unexplained=400.0), "none of 1,000 zero-copy sends to 10.0.0.2 was seen to be copied, but 400 of "
     "them reached no NIC"),
    (copied(600.0, LOOPBACK, unexplained=400.0), "60 % of 1,000"),
    (copied(600.0, LOOPBACK, unexplained=400.0), " 400 of them reached no NIC"),
    (copied(1000.0, row("unclassified")), "a copy that was not seen being made, eth0."),
    (copied(1000.0, row("unclassified", stack="skb_copy_ubufs < f")), "The functions of the stack tell"),
    (say(requests=1e6, completions=1e6, copied=999999.0), "99.9 % of"),
    (say(requests=1e6, completions=1e6, copied=1.0), "0.1 % of"),
    (say(lost=11.0), "no verdict: of 1,000 zero-copy sends 11 could not"),
    (say(outstanding=101.0, completions=899.0), "no verdict: of 1,000 zero-copy sends 101 have no"),
    (say(completions=-1.0, copied=-1.0), "no verdict: how many of the 1,000"),
    (say(completions=0.0, refused=1000.0, refusal="memlock"), "100 % of 1,000 requests were refused: the "
     "user has as many pages pinned as RLIMIT_MEMLOCK allows."),
    (say(requests=1.0, refused=1.0, refusal="memlock"), "100 % of 1 request was refused: "),
    (copied(1000.0, row("packet_tap"), row("software_checksum", "veth0")), "would still copy them. Find the "
     "listener (ss -0pl) and end it. ethtool -K veth0 tx on, if"),
    (copied(1000.0, row("packet_tap"), row("software_checksum", sends=999.0)), "were copied: tcpdump or "
     "another packet tap, eth0, and other causes. Find the listener"),
    (say(other="twocopy", speed=Spread(middle=2.5, count=1)), " --repeat 5 compares it with twocopy."),
    (say(other="twocopy", speed=MORE, cpu=MORE, noise="others"), "zero-copy works here. No ranking: others; "
     "--wait-quiet waits for quiet."),
])
def test_verdicts_have_what_matters(text, part):
    assert part in text
    assert "works" not in text or "--wait-quiet" in text or "--repeat 5" in text or "Caveat" in text


@pytest.mark.parametrize("first, second", [("local_delivery", "packet_tap"),
                                           ("packet_tap", "local_delivery")])
def test_of_two_causes_the_one_with_a_remedy_is_first(first, second):
    assert copied(1000.0, row(first), row(second)).endswith(
        ", for more than one cause: tcpdump or another packet tap, eth0; delivery on this machine, eth0. "
        "Without the first, the second alone would still copy them. Zero-copy cannot help between sockets of "
        "one machine: send without it.")


@pytest.mark.parametrize("speed, cpu, part", [
    (LESS, MORE, " Against twocopy: 0.40 times the throughput (0.25-0.50), 2.50 times the CPU time per byte "
     "(2.00-4.00). Use twocopy instead."),
    (ALIKE, MORE, "CPU time per byte (2.00-4.00). Use twocopy instead."),
    (MORE, LESS, " (0.25-0.50). It pays here."),
    (ALIKE, LESS, " Against twocopy: no difference above 3 % in throughput was found (0.90-1.30), 0.40 times"
     " the CPU time per byte (0.25-0.50). It pays here."),
    (NEARLY, NEARLY, " no difference above 3 % in throughput was found (1.01-1.04)"),
    (ALIKE, ALIKE, " no difference above 3 % in CPU time per byte was found (0.90-1.30)."),
    (MORE, MORE, " (2.00-4.00). One is paid for with the other."),
    (MORE, Spread(middle=1), " CPU time per byte is not known. It pays here.")])
def test_repeats_compare_by_their_intervals(speed, cpu, part):
    assert part in say(other="twocopy", speed=speed, cpu=cpu)


def test_the_remedy_names_the_device_safely():
    one = {"zerocopy": {"causes": [{"cause": "no_scatter_gather", "device": "eth\x1b[2J", "count": 1000}]}}
    (cell,) = cells_of(one)
    text = say(copied=1000.0, silent=1000.0, causes=causes.gather(cell))
    assert r"ethtool -K eth\x1b[2J sg on" in text and "The error queue reported 0." in text


@pytest.mark.parametrize("others, expected", [
    ({}, "no send was copied: zero-copy works here"),
    ({"silent": -1.0}, "no send was seen to be copied"),
    ({"copied": 1000.0, "causes": [LOOPBACK]}, "100 % copied: loopback, lo. Zero-copy cannot help here: send "
     "without it, or try another path: analyze advise --peer."),
    ({"copied": 10.0}, "some copied; why was not seen"),
    ({"copied": 10.0, "completions": 3.0}, "no verdict: too few completions, or copies are not known"),
    ({"refused": 1000.0}, "all requests were refused or ignored"),
    ({"requests": 0.0}, "no send asked for zero-copy")])
def test_findings_have_no_numbers(others, expected):
    assert verdict.finding(facts(**others)) == expected
