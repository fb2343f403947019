# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the pages: each is complete in one file, makes no requests, and no text of a record is markup."""

import html
import html.parser
import json
import os
import re
import sys
import xml.etree.ElementTree as xml

import polars as pl
import pytest
from conftest import analysis, changed, program, samples, write
from hypothesis import given
from hypothesis import strategies as st

import goldens
import made
import planted
from analysis.figures.base import Data
from analysis.notes import progress
from analysis.report.build import build
from analysis.report.questions import common
from analysis.report.write import html as to_html
from analysis.report.write import markdown, markdown_text

VOID = {"meta", "img", "br", "link", "hr", "input"}
EVIL = "</script><img src=x onerror=alert(1)>|[a](http://evil.example)\x1b[31m\n# head `x`"


class Page(html.parser.HTMLParser):
    """Checks that elements nest, and keeps the addresses and scripts that a browser would fetch or run."""

    def __init__(self, page):
        super().__init__()
        self.open, self.references, self.handlers, self.images, self.ids = [], [], [], [], []
        self.feed(page)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.references += [v for k, v in attributes if k in ("src", "href", "action", "data")]
        self.handlers += [k for k, _ in attributes if k.startswith("on")]
        self.ids += [values["id"]] if "id" in values else []
        if tag == "img":
            self.images.append(values)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag


def words_of(rows, title="T", sources=("DIR",)):
    """Returns a report without pictures, because drawing takes most of the time."""
    return build(planted.data(rows), title, [], list(sources), draws=False)


@pytest.fixture(scope="module")
def report():
    return goldens.whole_report()


@pytest.fixture(scope="module")
def page(report):
    return to_html(report)


def test_html_is_well_formed_and_bounded(page):
    parsed = Page(page)
    assert len(page) < 6_000_000
    assert len(set(parsed.ids)) == len(parsed.ids)


def test_html_fetches_nothing(page):
    parsed = Page(page)
    assert all(r.startswith(("data:image/svg+xml;base64,", "#")) for r in parsed.references)
    assert "default-src 'none'" in html.unescape(page)
    style = page[page.index("<style>"):page.index("</style>")]
    assert "url(" not in style and "@import" not in style
    specs = re.search(r'id="specs">(.*?)</script>', page, re.S)[1]
    assert "http" not in json.dumps(json.loads(specs))


def test_every_figure_has_alt_text_and_is_there_once(report, page):
    images = Page(page).images
    assert len(images) == 2 * len(report.all_pictures)
    assert all(len(image["alt"]) > 60 for image in images)
    assert [p.number for p in report.all_pictures] == list(range(1, len(report.all_pictures) + 1))
    assert {p.name for p in report.all_pictures} >= {
        "ratio", "heat", "throughput", "latency", "cpu", "cycles", "cache-misses", "memory", "kernel-time",
        "ratio-servers", "heat-servers", "servers"}


def evil_report():
    rows = [{**row, "kernel": EVIL, "host": EVIL, "cpu_model": EVIL, "error": EVIL, "command": EVIL,
             "fallback_causes": f"{EVIL.replace(';', '')}@{EVIL}:3" if row["zc_requests"] else None}
            for row in made.frame(planted.sends(repeats=1)).to_dicts()]
    return build(planted.data(rows), EVIL, [EVIL], [EVIL])


def test_text_of_records_is_no_markup(only_figures):
    only_figures("ratio", "throughput", "kernel-time")
    report = evil_report()
    assert len(report.all_pictures) == 3
    parsed = Page(to_html(report))
    assert not parsed.handlers
    assert all(r.startswith(("data:image/svg+xml;base64,", "#")) for r in parsed.references)
    text_ = re.sub(r"(?ms)^```$.*?^```$", "", markdown(report))  # without fenced text
    assert "```" not in text_ and "# How to run it again" in text_
    assert not re.search(r"(?<!\\)(<img|\]\(http)", text_) and "\x1b" not in text_
    for picture in report.all_pictures:
        root = xml.fromstring(picture.svgs[0])
        assert not [e for e in root.iter() if e.tag.endswith(("script", "}image", "}a"))]


@given(st.text())
def test_markdown_text_is_one_line_without_markup(value):
    line = markdown_text(value)
    assert "\n" not in line and "\r" not in line
    assert not re.search(r"(?<!\\)(\\\\)*[<>|`*\[\]#]", line)


def test_commands_are_the_records_own():
    rows = [{**row, "command": f"analyze sweep --out 'a {n % 3}'"}
            for n, row in enumerate(planted.sends(repeats=1))]
    commands = words_of(rows, sources=["a dir"]).commands
    assert commands == (*(f"sudo ./analyze sweep --out 'a {n}'" for n in range(3)),
                        "./analyze report 'a dir'")
    rows = [{**row, "command": f"analyze {n}"} for n, row in enumerate(planted.sends(repeats=1))]
    commands = words_of(rows, sources=["FILE"]).commands
    assert len(commands) == 22 and commands[20] == f"# and {len(rows) - 20} more"
    assert words_of(planted.sends(repeats=1), sources=["FILE"]).commands == ("./analyze report FILE",)


def test_command_line(folder, only_figures):
    source = write(folder / "runs.jsonl", samples()[:1])
    result = program("report", source, "--out", folder / "out", "--figures", "svg")
    assert result.returncode == 0, result.stderr
    assert "report.html" in result.stdout
    made_files = {str(p.relative_to(folder / "out")) for p in (folder / "out").rglob("*")}
    assert {"report.html", "report.md", "figures/throughput.svg"} <= made_files
    assert not any(name.endswith((".html", ".part")) for name in made_files - {"report.html"})
    Page((folder / "out/report.html").read_text())
    # The report's own files in the folder are not read as records.
    only_figures("throughput")
    again = analysis("report", folder, "--figures", "png")
    assert again.returncode == 0 and not again.stderr
    assert (folder / "report/report.md").exists() and (folder / "report/figures/throughput.png").exists()


def test_progress_is_shown_on_a_terminal_and_erased(only_figures, capsys, monkeypatch):
    only_figures("throughput", "ratio")
    for is_terminal, shown in (False, ""), (True, "".join(f"\r{text}\033[K" for text in (
            "answering the questions", "drawing figure 1 of 2", "drawing figure 2 of 2", ""))):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
        with progress() as show:
            build(planted.data(planted.sends(repeats=1)), None, [], ["DIR"], show=show)
        assert capsys.readouterr().err == shown


def test_wrong_usage_is_one_line(folder, only_figures):
    only_figures()
    source = write(folder / "runs.jsonl", samples())
    for arguments, status, said in [
            (["report", source, "--figures", "gif"], 2, "--figures gif"),
            (["report", folder / "none"], 2, "none"),
            (["report"], 2, "PATH"),
            (["report", source, "--out", source], 1, "cannot be made")]:
        result = analysis(*arguments)
        assert result.returncode == status, result.stderr
        assert len(result.stderr.splitlines()) == 1 and said in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(folder):
    source = write(folder / "runs.jsonl", samples())
    (folder / "out").mkdir(mode=0o500)
    result = analysis("report", source, "--out", folder / "out")
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1


def test_an_empty_table_is_refused(folder):
    (folder / "runs.jsonl").write_text("")
    result = analysis("report", folder)
    assert result.returncode == 1 and "Traceback" not in result.stderr


def test_nothing_of_a_report_depends_on_order():
    rows = planted.sends()
    frame = made.frame(rows)
    one = build(Data(frame), "T", [], ["D"], draws=False)
    other = build(Data(frame.sample(fraction=1, shuffle=True, seed=1)), "T", [], ["D"], draws=False)
    assert one.rows == other.rows


def test_losses_are_at_the_top_and_answers_have_a_caveat(folder, only_figures):
    only_figures()
    records = samples()
    records[2] = changed(records[2], lost__completions=22)
    assert records[2]["load"]["variant"] == "zerocopy"
    source = write(folder / "runs.jsonl", records)
    result = analysis("report", source, "--out", folder / "out", "--figures", "svg")
    assert result.returncode == 0, result.stderr
    said = ": 22 completions could not be followed in 1 of 5 runs: counts leave them out"
    assert max(map(len, result.stdout.splitlines()[:-1])) <= 80  # the last line has the folder of the pages
    for text_, lost in ((result.stdout.replace("\n  ", " "), "dropped events"),
                        ((folder / "out/report.md").read_text(), "**Dropped events**"),
                        ((folder / "out/report.html").read_text(), "<strong>Dropped events</strong>")):
        assert lost + said in text_
    assert "(a) 1 of 5 runs had dropped events" in markdown_of(folder)


def markdown_of(folder):
    return (folder / "out/report.md").read_text().replace("\\", "")


def test_nothing_was_lost():
    assert not words_of(planted.sends(repeats=1)).lost


@pytest.mark.parametrize("kind", ["calls", "completions", "flags", "groups", "stacks"])
def test_every_kind_of_loss_is_reported_with_its_number(kind):
    rows = planted.sends(repeats=1)
    rows[0][f"lost_{kind}"], rows[1][f"lost_{kind}"] = 1200, 34
    lost = words_of(rows).lost
    assert re.match(rf"1,234 .* in 2 of {len(rows)} runs: ", lost), lost


def test_the_first_screen_has_questions_answers_and_one_figure(report, page):
    """Questions, answers and the first figure come before any other figure, table or warning."""
    pages = html.unescape(page), markdown(report).replace("\\", "")
    assert report.first.name == "ratio" and report.title == "Title"
    for text_ in pages:
        places = [text_.index(row.answer.question) for row in report.rows]
        assert places == sorted(places) and places[-1] < text_.index("All numbers") < text_.index("Machines")
        assert all(row.answer.answer in text_ and row.answer.why in text_ for row in report.rows)
    assert pages[0].index('id="figure-1"') < pages[0].index("</main>") and "x.jsonl: 1 left out" in pages[0]


@pytest.mark.parametrize("rows, title", [
    (planted.sends, "Zero-copy, one-copy and two-copy over loopback"),
    (lambda: [row for row in planted.sends() if row["variant"] == "twocopy"], "Two-copy sends over loopback"),
    (planted.servers, "Three server models at 10 to 100 connections"),
    (planted.records, "Zero-copy and two-copy over loopback, messages of 1 to 32 records")])
def test_the_title_names_the_compared_ways(rows, title):
    assert words_of(rows(), None).title == title


def test_open_questions_name_the_next_command():
    report = words_of(planted.sends(counters=False), None)
    assert [one.next for one in report.open] and all(one.next for one in report.open)
    assert all(one.answer in html.unescape(to_html(report)) for one in report.open)


@pytest.mark.parametrize("made_by, again, decides", [
    ("sweep --size 4K --out 's w' --order-seed 3", "--size 4K --threads 1,2 --out DIR",
     "--size 4K --out 's w' --order-seed 3 --decide"),
    ("--size 4K --json 'p q' --threads 8 --details", "--size 4K --threads 1,2 --out DIR",
     "--size 4K --threads 8 --decide --out DIR")])
def test_next_commands_are_sweeps_that_a_shell_accepts(made_by, again, decides):
    runs = pl.DataFrame({"command": [f"analyze {made_by}"], "variant": ["twocopy"], "server_model": [None]})
    assert common.again(runs, "--threads 1,2") == f"sudo ./analyze sweep {again}"
    assert common.decides(runs, []) == f"sudo ./analyze sweep {decides}"


def test_caveats_are_marks_and_their_words_are_there_once():
    rows = [{**row, "warnings": "paced", "rate_per_thread": 2000, "disturbed": "busy" if n % 9 == 0 else None}
            for n, row in enumerate(planted.sends())]
    report = words_of(rows, None)
    words = [said for _, said in report.caveats]
    assert len(set(words)) == len(words) == 3 and all(row.marks for row in report.rows)
    page = html.unescape(to_html(report))
    assert all(page.count(said) == 1 for said in words)
    assert any("paced 300 of 300 runs" in said for said in words) and any("due at 2,000" in said for said in words)


def test_warnings_of_a_kind_are_one_row_with_their_range():
    rows = [{**row, "warnings": "others;receiver_waited" if n < 40 else "", "others_share": n / 100,
             "receiver_waited_share": 0.5} for n, row in enumerate(planted.sends())]
    table = next(t for t in words_of(rows, None).conditions if t.caption == "Warnings")
    assert sorted(table.rows) == [
        ("other programs took 0 to 39 % of the CPUs' time", "40 of 300"),
        ("the receiver waited for a CPU in 50 % of its runnable time", "40 of 300")]


def test_a_table_suffices(folder, only_figures):
    only_figures("throughput")
    source = write(folder / "runs.jsonl", samples())
    assert analysis("table", source, "--parquet", folder / "t.parquet").returncode == 0
    result = analysis("report", folder / "t.parquet", "--out", folder / "out", "--figures", "svg")
    assert result.returncode == 0, result.stderr
