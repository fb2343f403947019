# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the text report of run records, also of records from untrusted files.

tests/fixtures/text has the expected texts, a file for each kind of report; tests/fixtures/record.py --text writes
them.
"""

import copy
import itertools
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tracemalloc

import pytest
from hypothesis import given, strategies as st

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/fixtures")]

import texts  # noqa: E402 (not in the path before)
from analysis.tables import keys  # noqa: E402
from analysis.derive import hist as filled  # noqa: E402
from analysis.front import results  # noqa: E402
from analysis import words  # noqa: E402
from analysis.text import answer, calls, comparison, notes, record, table, timeline, zerocopy  # noqa: E402
from analysis.text.cells import Cells  # noqa: E402
from analysis.text.hist import Hist, shared  # noqa: E402
from analysis.text.layout import lay_out  # noqa: E402
from analysis.text.report import DETAILS, REPORT, SUMMARY, report  # noqa: E402
from analysis.text.spread import median  # noqa: E402

RECORDS = [texts.record(path.stem) for path in sorted(texts.RAW.glob("*.json"))]
ODD = [None, {}, [], [None], "x", True, math.nan, -math.inf]


def cells_of(*records):
    return texts.cells_of(records)


@pytest.mark.parametrize("name", texts.TEXTS)
def test_texts_are_as_kept(name):
    assert texts.text_of(name) == (texts.KEPT / f"{name}.txt").read_text(encoding="ascii")


@pytest.mark.parametrize("name", texts.TEXTS)
def test_a_text_has_no_words_that_readers_did_not_know(name):
    text = (texts.KEPT / f"{name}.txt").read_text(encoding="ascii")
    assert not re.search(r"discarded|disturbed|\blooks?\b|SYN rtx|warning: hook |^.*time of a send.*\.\.|^ +from tcp_send|"
                         r"windows of|[0-9] in flight", text, re.M)


def test_each_kept_text_has_its_records():
    assert {path.stem for path in texts.KEPT.iterdir()} == {*texts.TEXTS, "findings"}


def test_nothing_makes_an_empty_text():
    assert lay_out(report(Cells()), False) == ""


def test_a_report_leaves_records_alone():
    before = copy.deepcopy(RECORDS)
    report(cells_of(*RECORDS), DETAILS)
    assert repr(RECORDS) == repr(before)


def test_it_needs_the_standard_library_alone():
    done = subprocess.run([sys.executable, "-I", "-B", "-S", "-c", f"""import sys
sys.path.insert(0, {str(ROOT)!r})
import analysis.text.report
print(*sys.modules)"""], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    assert "numpy" not in done.stdout and "dataclasses" not in done.stdout


def places(part, path=()):
    """Yields the paths to all parts of a list or object, but only to the first bucket of a histogram."""
    if "buckets" in path:
        part = part[:1]
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


PLACES = [list(places(one)) for one in RECORDS]


def damaged(number, data):
    """Returns a record of RECORDS, damaged in up to three places."""
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
            elif isinstance(part, list) == isinstance(key, int):  # JSON has names only in objects
                part[key] = data.draw(ANYTHING)
        except (LookupError, TypeError):
            pass  # an earlier damage has removed this part
    return one


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) |
    st.sampled_from(["\x1b[31m", "\0", "\ud800", "x" * 300, "procinfo", 1e308, 10 ** 30, -1, 0.5]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6)


def test_a_setting_that_differs_can_be_printed():
    one, other = (json.loads(json.dumps(RECORDS[2])) for _ in range(2))
    one["load"]["socket"]["nodelay"] = "\x1f"
    text = lay_out(report(cells_of(one, other, other)), colour=False)
    assert "nodelay=" in text and "\x1f" not in text


@given(st.lists(st.integers(0, len(RECORDS) - 1), min_size=1, max_size=3), st.booleans(),
       st.sampled_from([REPORT, DETAILS, SUMMARY]), st.data())
def test_any_damage_leaves_a_text_that_can_be_printed(numbers, equal, extent, data):
    records = [damaged(number, data) for number in (numbers[:1] * 3 if equal else numbers)]
    text = lay_out(report(cells_of(*records), extent), colour=False)
    assert text.endswith("\n")
    assert all(character == "\n" or " " <= character <= "~" for character in text)
    for line in text.splitlines():
        words = line.lstrip(" ")
        room = 80 - (len(line) - len(words))
        assert len(words) <= room or room < 0 or " " not in words[:room + 1]  # a longer line has no place to break it


def test_cells_come_in_the_plans_order():
    records = [{"run": {"cell": name}} for name in ("c", "a", "b", "a")]
    cells = cells_of(*records)
    cells.sort(["a", "b", "c"])
    assert [one["run"]["cell"] for cell in cells for one in cell.records] == ["a", "a", "b", "c"]


def repeat(number, rows=200):
    """Returns a repeat that has only its host and keys in common with other repeats."""
    buckets = [[1 << i % 30, 2 << i % 30, 1 + (i + number) % rows] for i in range(rows)]
    return json.loads(json.dumps({"run": {"cell": "c", "repeat": number}, "host": {"a": [1, 2]},
                                  "calls": [{"wall_ns": {"count": rows, "buckets": buckets}}]}))


def test_repeats_are_kept_in_little_memory():
    cells, count = Cells(), 30
    tracemalloc.start()
    for number in range(count):
        cells.add(repeat(number))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < count * 8192
    (cell,) = cells
    assert cell.wall.count == count * 200 and sum(many for _, many in cell.wall.buckets) == count * 200 * 201 // 2
    assert [one["host"] is cell.record["host"] for one in cell.records] == [True] * count


@pytest.mark.parametrize("one, other", [
    ({"a": None}, {"b": 1}), ([1], [1, 2]), ([1], [True]), ([1], [1.0]), ({}, []),
    ({"a": {}}, {"a": None}), ({"a": 1, "b": 2}, {"a": 1}), ({"buckets": []}, {}),
    ({"buckets": []}, {"buckets": [[1, 2, 3]]})])
def test_only_what_is_the_same_is_kept_once(one, other):
    for part, kept in (one, other), (other, one):
        assert repr(shared(part, shared(kept, None))) == repr(shared(part, None))


def test_what_is_the_same_is_kept_once():
    first = shared(repeat(1), None)
    assert shared(repeat(1), first) is first


# Reading records


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_what_has_another_type_is_not_there(odd):
    one = {"v": odd, "list": [odd]}
    assert record.number(one, "v") is None and record.value(one, "v") == record.count(one, "v") == 0
    assert not record.rows(one, "v") and not record.members(one, "v")
    assert record.flag(one, "v") == (odd is True)
    assert record.string(one, "v") == ("x" if odd == "x" else "")
    assert not Hist(odd).count


@pytest.mark.parametrize("buckets", [[], [[1, 1, 0]], None])
def test_a_histogram_without_buckets_was_not_timed(buckets):
    assert not Hist({"count": 3, "sum": 5, "max": 2, "buckets": buckets}).count


def test_absent_is_not_zero():
    one = {"a": {"b": None, "c": 0}}
    assert [record.number(one, path) for path in ("a/b", "a/d", "a/c", "a/c/d")] == [None, None, 0, None]


@pytest.mark.parametrize("number, count", [(3, 3), (2.9, 2), (-1, 0), (-1e300, 0), (1e300, 2 ** 64 - 1),
                                           (2 ** 64, 2 ** 64 - 1)])
def test_counts_are_kept_in_their_range(number, count):
    assert record.count(number) == count


def test_strings_can_be_printed():
    one = {"v": "eth\x1b[2J\n", "w": "\xff\ud800", "x": "a\\\0b", "y": "caf\udce9"}
    assert [record.string(one, key) for key in "vwxy"] == [
        r"eth\x1b[2J\x0a", r"\xc3\xbf\xef\xbf\xbd", "a\\", r"caf\xe9"]


def test_counters_are_found_by_side_and_pmu():
    one = {"counters": [{"event": "cycles", "pmu": pmu, "scope": scope, "value": value}
                        for pmu, scope, value in (("cpu_core", "sender", 1), ("cpu_atom", "sender", 2),
                                                  ("cpu_core", "receiver", 3), ("cpu_atom", "receiver", None))]}
    cell, = cells_of(one)
    assert cell.counter("sender", "cycles", "cpu_atom") == 2
    assert cell.counter("sender", "cycles") == 3
    assert cell.counter("receiver", "cycles") is None
    assert cell.counter("sender", "branches") is None


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
    assert after.buckets == derived.buckets
    assert [after.percentile(point) for point in (500, 999, 1000)] == [
        derived.percentile(point) for point in (500, 999, 1000)]


def test_percentiles_are_the_records_own():
    calls = [call for one in RECORDS for call in one["calls"] or ()]
    for bits, blocks in ((filled.FINE, [call["wall_ns"] for call in calls]), (filled.COARSE, [
            part["ns"] for call in calls if call["stages"] for part in call["stages"]["parts"]])):
        timed = [block for block in blocks if block and block["count"]]
        assert timed
        for block in timed:
            found = Hist(block, sub_bits=bits)
            assert {name: found.percentile(point) for name, point in filled.POINTS}.items() <= block.items()


@pytest.mark.parametrize("order", [texts.LOADS, texts.LOADS[::-1]])
def test_the_reference_is_the_first_of_the_table_of_variants(order):
    cells = cells_of(*texts.repeats(*order))
    cells.name()
    first, other = sorted(cells, key=lambda cell: cell.title)
    assert first.reference is other.reference is first and not first.comparisons
    speed, cpu = (other.comparisons[name] for name in ("throughput", "cpu"))
    assert (speed["verdict"], cpu["verdict"], speed["n"]) == ("worse", "worse", 7)
    assert speed["interval"][1] < 1 / 1.03 and cpu["interval"][0] > 1.03
    assert (speed["of"], speed["against"]) == tuple(
        record.string(cell.record, "run/cell") for cell in (other, first))


def test_a_single_configuration_with_its_number_of_fields_is_not_compared():
    def load(variant, size, fields):
        one = texts.larger("copying_load")
        one["load"].update(variant=variant, message_bytes=size, fields=fields)
        one["run"]["cell"] = f"{variant} {size} {fields}"
        return one
    cells = cells_of(*(load(variant, size, fields) for size in (1024, 4096)
                       for variant, fields in (("twocopy", 8), ("sendfile", 1), ("splice", 8))))
    cells.name()
    shown = [comparison.ratio("throughput")(cell) for cell in cells]
    assert shown == 2 * ["1", None, "1.00"] and [cell.alone for cell in cells] == 2 * [False, True, False]
    other = cells_of(*(load(variant, 1024, fields) for fields in (8, 1) for variant in ("twocopy", "sendfile")))
    other.name()
    assert not any(cell.alone for cell in other)


def test_comparisons_are_as_the_schema_of_records_has_them():
    cells = cells_of(*texts.repeats(*texts.LOADS))
    cells.name()
    (comparisons,) = (key for key in keys.RECORD.keys if key.name == "comparisons")
    assert len(cells.comparisons) == 2
    for one in json.loads(json.dumps(cells.comparisons)):
        assert list(one) == [key.name for key in comparisons.kind.keys]


def test_disturbed_repeats_are_out_of_a_comparison_and_counted():
    why = "other programs took 26 % of the CPUs' time"
    found = list(texts.repeats(*texts.LOADS, count=9))
    for n, disturbed in (0, 0), (3, 0), (8, 1):  # (repeat, load)
        found[2 * n + disturbed]["noise"]["disturbed"] = why
    text = texts.printed(found, SUMMARY)
    flat = " ".join(text.split())
    assert "Zero-copy is slower than two-copy: 0.2" in flat
    assert f"\n3 of 18 runs are in no ratio: {why}\n" in text
    cells = cells_of(*found)
    cells.name()
    assert [cell.comparisons["throughput"]["n"] for cell in cells if cell.comparisons] == [6]


def test_configurations_without_a_comparison_are_named_once():
    found = list(texts.grid("copying_load", "zerocopy_load"))
    third = [copy.deepcopy(one) for one in found if one["zerocopy"]]
    for one in third:
        one["load"]["variant"], one["run"]["cell"] = "onecopy", "onecopy" + one["run"]["cell"]
    for one in found + third:
        one["noise"]["disturbed"] = "others took 26 %"
    text = " ".join(texts.printed(found + third).split())
    assert text.count("not compared with two-copy: the machine was too busy.") == 1
    assert re.search("(One-copy and zero-copy|Zero-copy and one-copy) are not compared", text)


def test_a_quiet_machine_is_awaited_only_for_disturbed_runs_of_undecided_ones():
    def found(disturbed):
        """Returns the answer for a decided size, and an undecided size that has disturbed runs."""
        for size in 1024, 65536:
            for one in texts.repeats(*texts.LOADS, count=12):
                repeat = one["run"]["repeat"]
                one["load"]["message_bytes"] = size
                one["run"]["cell"] += f" {size}"
                if size == 65536:
                    one["app"]["throughput_bps"] = 1e9 * 2 ** (repeat % 2 if one["zerocopy"] else 0.5)
                if size == disturbed and repeat == 1:
                    one["noise"]["disturbed"] = "other programs took 26 % of the CPUs' time"
                yield one
    for disturbed, remedy in (1024, "a longer --duration"), (65536, "--wait-quiet"):
        cells = cells_of(*found(disturbed))
        cells.name()
        open_ = {one["of"].split()[-1] for one in cells.comparisons if one["verdict"] == "inconclusive"}
        assert open_ == {"65536"} and remedy in answer.needed(cells)


def test_a_killed_load_is_incomplete_and_compared_with_nothing():
    alone, several = (texts.printed(texts.killed(*names)[first:]) for names, first in (
        (["zerocopy_load"], 1), (texts.LOADS, 0)))
    assert alone.startswith("Incomplete: the load generator was killed by signal 9 (Killed).\n")
    assert not re.search(r"Do: |0 s each|ratio|[a-z]\.[a-z]+_[a-z]", alone)
    assert several.startswith("Incomplete: 1 of 4 runs failed: the load generator was killed by signal\n")
    cells = cells_of(*texts.killed(*texts.LOADS))
    cells.name()
    assert [(cell.title, len(cell.records)) for cell in cells] == [("twocopy", 2), ("zerocopy", 1)]
    assert [one["n"] for one in cells.comparisons] == [1, 1]


def test_warnings_are_counted_and_the_limits_of_an_answer_stand_beside_it():
    found = texts.named("zerocopy_load")
    found[0]["warnings"] += [{"code": "debug_kernel", "text": "slow"}, {"code": "few_cpus", "text": "few"}]
    found[0]["noise"]["disturbed"] = "others took 26 %"
    head, _, rest = texts.printed(found).partition("\nvariant")
    assert head.count("\nwarning: ") == 2 and "warning: slow\n" in head
    assert "warning: others took 26 %; --wait-quiet waits for a quiet machine\n" in head
    assert "warning: " not in rest and re.search("\n[45] warnings and [0-9]+ things not measured: see --details\n", rest)
    assert texts.printed(found, DETAILS).count("\nwarning: ") == 2 + int(re.search(r"([0-9]) warnings", rest)[1])


@given(st.text(min_size=1))
def test_no_key_is_printed_as_it_is(key):
    assert "_" not in (notes.words_of(f"zerocopy.a{key}") or "") and notes.words_of("a.b_c") == "b c"


class Screen:
    """A terminal with this many lines, which keeps what is written."""

    def __init__(self, lines):
        self.height, self.colour = lambda: lines, lambda: False

    def write(self, text):
        self.text = text


@pytest.mark.parametrize("lines, again", [(24, True), (100, False), (math.inf, False)])
def test_an_answer_that_would_scroll_away_stands_last_too(lines, again):
    cells, screen = cells_of(*texts.grid(*texts.LOADS), *texts.killed("zerocopy_load")), Screen(lines)
    results.print_report(cells, REPORT, screen, "more\n" * 24)
    answer_ = "all zero-copy sends were copied"
    begin, end = screen.text.split("more\n" * 24)
    assert begin.startswith("Incomplete: ") and bool(end) == again
    assert not again or end.startswith("\nIncomplete: ") and answer_ in " ".join(end.split())
    assert answer_ in " ".join(begin.split())


def test_sampled_stages_are_one_table_that_adds_up():
    text = texts.printed(texts.sampled())
    assert text.count("unaccounted") == 1 and "stages of sends" not in text and "off the CPU:" not in text
    rows = re.findall(r"^([A-Z?]) .* ([0-9.]+)  +([0-9.]+) %$", text, re.M)
    whole, = re.findall(r"^on the CPU +([0-9.]+)  100.0 %$", text, re.M)
    assert [letter for letter, *_ in rows] == [*"POTDRSI?"]
    assert sum(float(time) for _, time, _ in rows) == pytest.approx(float(whole), abs=0.05 * len(rows))
    assert sum(float(share) for *_, share in rows) == pytest.approx(100, abs=0.05 * len(rows))
    assert " from at least 620 samples (cpu-clock): shares within 3.9 points (95 %)" in " ".join(text.split())
    few = texts.sampled()
    few[0]["profile"]["stacks"] = [stack | {"samples": 1} for stack in few[0]["profile"]["stacks"]]
    text = texts.printed(few)
    assert "too few to name functions" in text and re.search(r"^\? unaccounted +.* 9[0-9]\.. %$", text, re.M)


@pytest.mark.parametrize("more, again", [(0, False), (1, True)])
def test_an_answer_is_repeated_only_if_it_scrolled_away(more, again):
    cells, screen = cells_of(*texts.named("zerocopy_load")), Screen(24)
    lines = texts.printed(texts.named("zerocopy_load")).splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("All "))
    fill = 23 - (len(lines) - begin)  # lines that fit below the answer, besides a line for the prompt
    results.print_report(cells, REPORT, screen, "more\n" * (fill + more))
    assert (screen.text.count(lines[begin]) == 2) == again


def test_ratios_are_of_pairs_and_have_the_interval_of_six():
    """The ratio is the Hodges-Lehmann estimate; of six pairs, the extremes are the ends of the interval."""
    records = list(texts.repeats(*texts.LOADS, count=6))
    rates = [[one["app"]["throughput_bps"] for one in records[start::2]] for start in (0, 1)]
    logs = [math.log(mine / other) for other, mine in zip(*rates)]
    ratio = statistics.median((a + b) / 2 for a, b in itertools.combinations_with_replacement(logs, 2))
    printed = re.search(r"^zerocopy +\S+ (?:\(\S+\))? +([\d.]+) \(([\d.]+)-([\d.]+)\) ", texts.printed(records), re.M)
    assert list(map(float, printed.groups())) == pytest.approx(
        list(map(math.exp, (ratio, min(logs), max(logs)))), abs=0.0051)


def test_sizes_are_one_family():
    def judged(sizes, count):
        def sized(one, size):
            one["load"]["message_bytes"] = size
            one["run"]["cell"] = f"{one['load']['variant']} {size}"
            return one
        cells = cells_of(*(sized(one, size) for size in sizes
                           for one in texts.repeats(*texts.LOADS, count=count)))
        cells.name()
        return {cell.comparisons["throughput"]["verdict"] for cell in cells if cell.comparisons}
    assert judged([1024], 6) == {"worse"} and judged([1024, 4096], 6) == {"inconclusive"}
    assert judged([1024, 4096], 7) == {"worse"}


def test_medians():
    assert (median([1, 2, 3]), median([1, 2, 3, 4]), median([])) == (2, 2.5, 0)


@pytest.mark.parametrize("text, expected", [
    (words.whole(1234567.0), "1,234,567"), (words.whole(2.5), "2"), (words.whole(-1e20), "-1e+20"),
    (words.decimal(-1234.5, 2), "-1,234.50"), (words.number(1.234, 3), "1.23"),
    (words.number(1234.5, 3), "1,234"), (words.number(999.5, 3), "1,000"), (words.number(9.996), "10.0"), (words.figure(9.996, 3), "10"), (words.number(12345), "12,345"), (words.size(16384), "16K"),
    (words.size(99999), "99999"), (words.time(3912.0), "3.91 us"), (words.time(412e6), "412 ms"),
    (words.time(99.0), "99 ns"), (words.counted(1.0, "send"), "1 send"),
    (words.counted(0.0, "send"), "0 sends"), (words.percent(999999.0, 1e6), "99.99 %"),
    (words.percent(1.0, 1e6), "0.01 %"), (words.percent(0.375), "37.5 %"), (words.percent(None), "-"), (words.percent(1.0, 1.0), "100 %"),
    (words.percent(0.0, 0.0), "-")])
def test_numbers_as_people_write_them(text, expected):
    assert text == expected


def test_durations_are_read_as_c_reads_them():
    assert [words.duration(text) for text in ("10", "0.5", "10s", "200ms", "5us", "2m", "1h", "1.", ".5")] == [
        10, 0.5, 10, 0.2, pytest.approx(5e-6), 120, 3600, 1, 0.5]
    for text in "", "s", "x", "-1", "+1", "1e3", "inf", "nan", "1 s", "1_0", "1d", ".", "1\n", "\u0661":
        with pytest.raises(ValueError):
            words.duration(text)


def test_a_table_aligns_its_columns_and_continues_below():
    assert table.lines([["name", "value"], ["a", "12345678"], ["alone", ""]]) == [
        "name      value", "a      12345678", "alone"]
    wide = table.lines([["key", "x" * 40, "y" * 40], ["k", "1", "2"]])
    assert [line.split() for line in wide] == [["key", "x" * 40], ["k", "1"], [], ["key", "y" * 40],
                                               ["k", "2"]]
    assert table.lines([["x" * 99]]) == ["x" * table.CELL]


def test_lines_are_broken_between_words_and_styled_on_a_terminal():
    text = "\n".join(("\1" + "word " * 20, "warning: w", "dropped events: l", "  label          " + "text " * 20,
                      "x" * 99, ""))
    first, second, *_, last = lay_out(text, False).splitlines()
    assert first == " ".join(["word"] * 16) and second == "  " + "word " * 4 and last == "x" * 99
    assert "\n                 text" in lay_out(text, False)
    assert lay_out(text, True).count("\033[0m\n") == 3
    assert lay_out("warning: w\n", True) == "\033[33mwarning: w\033[0m\n"


@pytest.mark.parametrize("lines, words", [
    (calls.others({"observed": {"others": {"mptcp_sends": 1, "mptcp_bytes": 1}}}), "1 send by MPTCP, 1 byte"),
    (zerocopy.answers(next(iter(cells_of({"zerocopy": {"unflagged": 1, "bytes_unflagged": 1}})))),
     "without a flag, 1 byte"),
    (timeline.lines({"timeline": {"lost": 1, "gaps": 1}}, "t"), "1 event found no room in 1 place;"),
    (notes.remarks(cells_of({"unmeasured": [{"key": "calls", "reason": "a"}], "warnings": [{"text": "w"}]})),
     "1 warning and 1 thing not measured: see --details")])
def test_one_is_not_many(lines, words):
    assert words in "\n".join(lines)
