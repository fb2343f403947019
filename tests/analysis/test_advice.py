# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the report on files of advise --json: a section for each advice, its figure and ratios, and one line for a
damaged file."""

import json
import re

import altair as alt
import pytest
from conftest import analysis, changed, samples, write

import planted
from analysis.advice import Read, parse
from analysis.figures import advice as figure
from analysis.figures.base import WIDE, Data, NotDrawn
from analysis.figures.save import spec
from analysis.model import BadRecord
from analysis.report.build import build
from analysis.report.write import html as to_html
from analysis.report.write import markdown
from analysis.table import empty
from goldens import ADVICE, COPIED, KINDS, ON_LOOPBACK, PROGRAM, SAYS, of_advice, ratios, undrawn
from test_report import EVIL, Page

NOTHING = Data(empty())


def read(data, file="advice.json"):
    return Read(file, parse(json.dumps(data).encode()))


def test_a_page_has_the_advice_its_evidence_and_all_ratios():
    report = of_advice(ADVICE)
    Page(to_html(report))
    assert len(report.rows[0].answer.tables[0].rows) == 9
    assert [row[2:5] for row in report.rows[0].answer.tables[0].rows[:2]] == [
        ("4K", "2.50 (2.40 to 2.70)", "worse"), ("64K", "0.600 (0.500 to 0.800)", "better")]


def layers(node, mark):
    """Returns all parts of a chart's description that draw this kind of mark."""
    if isinstance(node, list):
        return [found for item in node for found in layers(item, mark)]
    if not isinstance(node, dict):
        return []
    own = node.get("mark")
    here = [node] if own and (own if isinstance(own, str) else own["type"]) == mark else []
    return here + [found for item in node.values() for found in layers(item, mark)]


def test_the_figure_has_a_panel_a_metric_a_line_at_one_and_the_bracket_shaded():
    drawn = figure.draw_advice(read(ADVICE).advice, WIDE)
    described = spec(drawn.chart)
    alt.Root.validate(described)
    cpu, throughput = described["concat"]
    for panel, better in ((cpu, "below 1 zero-copy is better"),
                          (throughput, "above 1 zero-copy is better")):
        point, = layers(panel, "point")
        assert better in point["encoding"]["y"]["title"] and better in drawn.description
        assert point["encoding"]["x"]["scale"]["base"] == 2
        rule, = (mark for mark in layers(panel, "rule"))
        assert rule["encoding"]["y"]["datum"] == 1
        assert layers(panel, "errorbar")
    values = described["datasets"]
    shade, = layers(described, "rect")
    assert layers(cpu, "rect") == [shade]
    assert values[shade["data"]["name"]] == [{"from": 4096, "to": 65536}]
    shown = {(row["name"], row["at"]): (row["median"], row["low"], row["high"], row["n"])
             for rows in values.values() for row in rows if row.get("n") and row["median"] > 2}
    assert shown == {(name, 4096): (2.5, 2.4, 2.7, 11) for name in ("twocopy", "onecopy")}


def test_the_line_at_one_is_in_a_figure_whose_ratios_are_all_below():
    data = {**ADVICE, "answers": [ratios("twocopy", "cpu", "always", None, 4096, (0.3, 0.2, 0.2))]}
    point, = layers(spec(figure.draw_advice(read(data).advice, WIDE).chart), "point")
    assert point["encoding"]["y"]["scale"]["domain"][1] >= 1


@pytest.mark.parametrize("kind", KINDS)
def test_only_an_answer_with_two_bounds_has_a_bracket(kind):
    data = {**ADVICE, "answers": [ratios("twocopy", "cpu", kind, *KINDS[kind])]}
    assert not layers(spec(figure.draw_advice(read(data).advice, WIDE).chart), "rect")


def test_the_page_of_a_copied_path_has_no_figure():
    report = of_advice(ON_LOOPBACK)
    assert not report.pictures and isinstance(figure.draw_advice(read(ON_LOOPBACK).advice, WIDE), NotDrawn)
    assert not report.rows[0].answer.tables


def test_the_page_of_a_program_has_its_sends_by_size():
    with undrawn():
        report = of_advice({**ADVICE, "program": PROGRAM}, {**ON_LOOPBACK, "path": None, "program": PROGRAM})
    assert [table.rows for table in report.rows[1].answer.tables] == [
        (("64 to 127", "7", "64", "0"), ("4,096 to 8,191", "7", "4,096", "0"))]
    assert len(report.pictures) == 1


def test_two_paths_are_two_rows_beside_records(only_figures):
    only_figures("throughput")
    runs = planted.data(planted.sends(repeats=5))
    with undrawn():
        alone = build(runs, None, [], ["F"])
    both = build(runs, None, [], ["F"], [read(ADVICE, "a"), read(ON_LOOPBACK, "b"), read(ADVICE, "c")])
    assert both.title == alone.title == "Zero-copy, one-copy and two-copy over loopback"
    assert [row.answer.answer for row in both.rows[:3]] == [SAYS, COPIED, SAYS]
    assert [row.answer for row in both.rows[3:]] == [row.answer for row in alone.rows]
    assert [p.name for p in both.all_pictures] == ["advice-1", "advice-3",
                                                   *(p.name for p in alone.all_pictures)]
    assert [p.number for p in both.all_pictures] == list(range(1, len(both.all_pictures) + 1))
    ids = Page(to_html(both)).ids
    assert len(set(ids)) == len(ids)


def test_text_of_advice_is_no_markup():
    data = {**ADVICE, "recommendation": EVIL, "path": {
        **ADVICE["path"], "words": EVIL, "device": EVIL, "warnings": [EVIL]}}
    of_program = {**data, "answers": [], "program": {"what": EVIL, "seconds": 1, "classes": []}}
    report = build(NOTHING, None, [EVIL], [EVIL], [read(data, EVIL), read(of_program, EVIL)])
    parsed = Page(to_html(report))
    assert not parsed.handlers
    assert all(r.startswith(("data:image/svg+xml;base64,", "#")) for r in parsed.references)
    text = re.sub(r"(?ms)^```$.*?^```$", "", markdown(report))
    assert not re.search(r"(?<!\\)(<img|\]\(http)", text) and "\x1b" not in text


RATIO = "answers[0].ratios[0]"
BAD = [
    (lambda a: {**a, "schema": "sendpath.advise/4"}, "sendpath.advise/4, and this program reads "),
    (lambda a: {key: a[key] for key in a if key != "answers"}, "missing required field answers"),
    (lambda a: changed(a, path=3), "path: expected object | null, got int"),
    (lambda a: changed(a, path__words=None), "path.words: expected str, got null"),
    (lambda a: {**a, "answers": [{**a["answers"][0], "kind": "else"}]}, "answers[0].kind: invalid"),
    (lambda a: {**a, "answers": [{**a["answers"][0], "better": None}]}, "kind from without better"),
    *((lambda a, key=key, value=value: {**a, "answers": [{**a["answers"][0], "ratios": [
        {**a["answers"][0]["ratios"][0], key: value}]}]}, said)
      for key, value, said in (("interval", [0, 3.0], f"{RATIO}.interval[0]: expected float"),
                               ("interval", [3.0, 4.0], f"{RATIO}: effect is not within interval"),
                               ("size", 0, f"{RATIO}.size: expected int >= 1"),
                               ("verdict", "2", f"{RATIO}.verdict: invalid enum value '2'")))]


@pytest.mark.parametrize("damage, said", BAD)
def test_invalid_advice_is_refused_with_the_reason(damage, said):
    with pytest.raises(BadRecord, match=re.escape(said)):
        read(damage(ADVICE))


@pytest.mark.parametrize("content, said", [
    (json.dumps(ADVICE)[:1500].encode(), "no advice in it: truncated"),
    (json.dumps(ADVICE).encode() + b"{", "no advice in it: not JSON"),
    (json.dumps(ADVICE).encode() + b" " * (1 << 20), "no advice in it: longer than"),
    (json.dumps(BAD[0][0](ADVICE)).encode(), "no advice in it: sendpath.advise/4"),
    (b'{"schema": "other/1"}', "not a run record (schema 'other/1')")])
def test_damaged_and_foreign_files_are_one_line(folder, content, said):
    (folder / "bad.json").write_bytes(content)
    done = analysis("report", folder / "bad.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr and "bad.json" in done.stderr


def test_command_line(folder, only_figures):
    """Reads folders with advice and records, a file that is named twice, and a damaged file; uses all good files."""
    only_figures("throughput")
    (folder / "paths").mkdir()
    (folder / "paths/one.json").write_text(json.dumps(ADVICE, indent=1))
    (folder / "paths/two.json").write_text(json.dumps(ON_LOOPBACK))
    (folder / "paths/bad.json").write_text(json.dumps(ADVICE)[:1000])
    runs = write(folder / "runs.jsonl", samples())
    alone = analysis("report", folder / "paths/one.json", folder / "paths", "--out", folder / "a",
                     "--figures", "png")
    assert alone.returncode == 0 and len(alone.stderr.splitlines()) == 1, alone.stderr
    assert "bad.json: no advice in it: truncated" in alone.stderr
    assert alone.stdout.count(SAYS) == alone.stdout.count(COPIED) == 1
    assert {p.name for p in (folder / "a/figures").iterdir()} == {"advice-1.svg", "advice-1.png"}
    assert "Left out: " in (folder / "a/report.md").read_text()
    both = analysis("report", folder / "paths/two.json", runs, "--out", folder / "b", "--figures", "svg")
    assert both.returncode == 0 and not both.stderr, both.stderr
    page = (folder / "b/report.md").read_text()
    assert page.index(COPIED.replace("_", "\\_")) < page.index("one-copy overtake")
    assert "./analyze report" in page and (folder / "b/figures/throughput.svg").exists()
    table = analysis("table", folder / "paths")
    assert table.returncode == 1 and "no runs" in table.stderr
