# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The pages: everything in one file, nothing fetched, and no text of a record is markup."""

import html
import html.parser
import json
import os
import re
import xml.etree.ElementTree as xml

import pytest
from conftest import analysis, changed, samples, write
from hypothesis import given
from hypothesis import strategies as st

import made
import planted
from analysis.figures.base import Data
from analysis.report import text
from analysis.report.build import build
from analysis.report.questions import QUESTIONS
from analysis.report.write import html as to_html
from analysis.report.write import markdown, markdown_text

VOID = {"meta", "img", "br", "link", "hr", "input"}
EVIL = "</script><img src=x onerror=alert(1)>|[a](http://evil.example)\x1b[31m\n# head `x`"


class Page(html.parser.HTMLParser):
    """Checks that elements nest, and keeps what a browser would fetch or run."""

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


@pytest.fixture(scope="module")
def report():
    return build(planted.all_data(), "Title", ["x.jsonl: 1 left out"], ["DIR"])


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


def test_every_figure_has_alt_text_and_stands_once(report, page):
    images = Page(page).images
    assert len(images) == len(report.pictures) == 11
    assert all(len(image["alt"]) > 60 for image in images)
    assert [p.number for p in report.pictures] == list(range(1, 12))


def test_every_question_and_what_is_not_shown(report, page):
    pages = page.replace("&#39;", "'"), markdown(report)
    for section in report.sections:
        for text_ in pages:
            assert section.question.title in text_
        assert section.answer.not_shown
    assert all("What these data do not show" in text_ for text_ in pages)
    assert "x.jsonl: 1 left out" in pages[0] and "x.jsonl: 1 left out" in pages[1]


def test_questions_without_data_are_one_line_at_the_end():
    data = planted.data(planted.servers(repeats=5))
    report = build(data, "T", [], ["DIR"])
    assert [s.question.name for s in report.sections] == ["servers", "slow-answers"]
    for page in (html.unescape(to_html(report)), markdown(report)):
        line, = (line for line in page.splitlines() if "These data do not answer:" in line)
        assert all(q.title in line for q in QUESTIONS if q.name not in ("servers", "slow-answers"))
        assert not any(s.question.title in line for s in report.sections)


def test_a_question_without_an_answer_stays_for_its_figure():
    rows = [row for row in planted.sends(repeats=5) if row["variant"] == "twocopy"]
    report = build(planted.data(rows), "T", [], ["DIR"])
    assert "memory" in {p.name for p in report.pictures}


def test_short_answers_have_ratios_and_what_they_rest_on():
    rows = planted.sends(repeats=6)
    for row in rows[:7]:
        row["warnings"] = "busy;paced"
    rows[0].update(lost_calls=3, rate_per_thread=2000)
    report = build(planted.data(rows), "T", [], ["DIR"])
    short = {s.question.name: s.answer.short for s in report.sections}
    for name in ("one-copy", "zero-copy"):
        assert re.search(r": 0\.\d+ times \(0\.\d+ to 0\.\d+\) at \d+K? bytes with \d threads? "
                         r".*to \d\.\d+ times \(.*\) at \d+K? bytes with", short[name]), short[name]
    pacing, losses, noise = report.beside
    assert f"in 7 of {len(rows)} runs" in pacing and "due at 2,000 a second" in pacing
    assert "LOST" in losses
    assert re.search(r"is ±\d\.\d+ % \(median of \d+ configurations\) and ±\d\.\d+ % at worst; "
                     rf"0 runs of {len(rows)}", noise), noise
    page = markdown(report)
    assert page.index("## In short") < page.index("Pacing:") < page.index("## At which size")


def test_what_no_run_recorded_of_pacing_and_losses_is_not_known():
    def told(rows):
        return build(planted.data(rows), "T", [], ["DIR"]).beside[:2]

    rows = planted.servers(repeats=5)
    assert all("not known" in line for line in told(rows))
    for row in rows[1:]:
        row.update(congestion="reno", lost_calls=0)
    assert told(rows) == (
        "Pacing: none, every run sent as fast as it could; not known for 1 other run.",
        "Losses: none was recorded; not known for 1 other run.")


def test_markdown_lines_with_zero_copy_figures_say_what_was_copied(report):
    for line in markdown(report).splitlines():
        # Titles, captions and heads of tables have no figure of it; a command none at all.
        if re.search(r"zerocopy.*\d\.\d", line) and not line.startswith(
                    ("sudo", "!", "What zerocopy costs; ")):
            assert "100 % copied" in line, line


def test_left_out_figures_have_their_reason():
    report = build(planted.data(planted.sends(counters=False)), "T", [], ["DIR"])
    titles = {f.title for f in report.left_out}
    assert titles == {"Cache misses by message size", "Memory traffic per transmitted byte",
                      "Server models by connections", "Messages of records by their number",
                      "Kernel functions of sends", "Kernel functions of sends, compared"}
    page = to_html(report)
    assert all(f.reason in html.unescape(page) for f in report.left_out)


def evil_report():
    rows = [{**row, "kernel": EVIL, "host": EVIL, "cpu_model": EVIL, "error": EVIL, "command": EVIL,
             "fallback_causes": f"{EVIL.replace(';', '')}@{EVIL}:3" if row["zc_requests"] else None}
            for row in made.frame(planted.sends(repeats=1)).to_dicts()]
    return build(planted.data(rows), EVIL, [EVIL], [EVIL])


def test_text_of_records_is_no_markup():
    report = evil_report()
    parsed = Page(to_html(report))
    assert not parsed.handlers
    assert all(r.startswith(("data:image/svg+xml;base64,", "#")) for r in parsed.references)
    text_ = re.sub(r"(?ms)^```$.*?^```$", "", markdown(report))  # what is fenced is as it is typed
    assert "```" not in text_ and "# How to run it again" in text_
    assert not re.search(r"(?<!\\)(<img|\]\(http)", text_) and "\x1b" not in text_
    for picture in report.pictures:
        root = xml.fromstring(picture.svg)
        assert not [e for e in root.iter() if e.tag.endswith(("script", "}image", "}a"))]


@given(st.text())
def test_markdown_text_is_one_line_without_markup(value):
    line = markdown_text(value)
    assert "\n" not in line and "\r" not in line
    assert not re.search(r"(?<!\\)(\\\\)*[<>|`*\[\]#]", line)


@pytest.mark.parametrize("value,said", [
    (0.0123456, "0.0123"), (12.34, "12.3"), (12345, "12,300"), (0, "0"), (999.6, "1,000"),
    (9.996, "10.0")])
def test_numbers_have_three_digits(value, said):
    assert text.number(value) == said


def test_commands_are_the_records_own():
    rows = [{**row, "command": f"analyze sweep --out 'a {n % 3}'"}
            for n, row in enumerate(planted.sends())]
    commands = build(planted.data(rows), "T", [], ["a dir"]).commands
    assert commands == (*(f"sudo ./analyze sweep --out 'a {n}'" for n in range(3)),
                        "./analyze report 'a dir'")
    rows = [{**row, "command": f"analyze {n}"} for n, row in enumerate(planted.sends())]
    commands = build(planted.data(rows), "T", [], ["FILE"]).commands
    assert len(commands) == 22 and commands[20] == f"# and {len(rows) - 20} more"
    assert build(planted.data(planted.sends()), "T", [], ["FILE"]).commands == (
        "./analyze report FILE",)


def test_command_line(folder):
    source = write(folder / "runs.jsonl", samples())
    result = analysis("report", source, "--out", folder / "out", "--figures", "png")
    assert result.returncode == 0, result.stderr
    assert "report.html" in result.stdout
    made_files = {str(p.relative_to(folder / "out")) for p in (folder / "out").rglob("*")}
    assert {"report.html", "report.md", "figures/throughput.svg",
            "figures/throughput.png"} <= made_files
    assert not any(name.endswith((".html", ".part")) for name in made_files - {"report.html"})
    Page((folder / "out/report.html").read_text())
    # What stands in the folder of a report is not taken for records.
    again = analysis("report", folder, "--figures", "svg")
    assert again.returncode == 0 and not again.stderr
    assert (folder / "report/report.md").exists()


def test_a_table_alone_will_do_but_for_histograms(folder):
    source = write(folder / "runs.jsonl", samples())
    assert analysis("table", source, "--parquet", folder / "t.parquet").returncode == 0
    result = analysis("report", folder / "t.parquet", "--out", folder / "out", "--figures", "svg")
    assert result.returncode == 0, result.stderr
    assert "run records are needed" in (folder / "out/report.md").read_text()


def test_wrong_usage_is_one_line(folder):
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


def test_a_histogram_that_is_none_is_told_and_the_other_runs_are_used(folder):
    records = samples()
    records[0]["app"]["message_latency_ns"]["buckets"] = [["a", 2, 3]]
    source = write(folder / "runs.jsonl", records)
    result = analysis("report", source, "--out", folder / "out", "--figures", "svg")
    assert result.returncode == 0
    assert "line 1: app.message_latency_ns.buckets[0][0]: expected float" in result.stderr
    assert "Traceback" not in result.stderr


def test_nothing_of_a_report_depends_on_order():
    rows = planted.sends()
    frame = made.frame(rows)
    one = build(Data(frame), "T", [], ["D"])
    other = build(Data(frame.sample(fraction=1, shuffle=True, seed=1)), "T", [], ["D"])
    assert [s.answer for s in one.sections] == [s.answer for s in other.sections]


def test_losses_stand_at_the_top_and_answers_have_a_caveat(folder):
    records = samples()
    records[2] = changed(records[2], lost__completions=22)
    assert records[2]["load"]["variant"] == "zerocopy"
    source = write(folder / "runs.jsonl", records)
    result = analysis("report", source, "--out", folder / "out", "--figures", "svg")
    assert result.returncode == 0, result.stderr
    said = ": 22 completions could not be followed in 1 of 5 runs: counts leave them out"
    for text_, lost in ((result.stdout, "LOST"),
                        ((folder / "out/report.md").read_text(), "**LOST**"),
                        ((folder / "out/report.html").read_text(), "<strong>LOST</strong>")):
        assert 0 <= text_.find(lost + said) < (text_ + "In short").index("In short")
    answers = dict(zip(*[iter(result.stdout.split("\n\n")[1].splitlines())] * 2))
    for question, answer in answers.items():
        caveat = "server" not in question and "one-copy" not in question
        assert ("Caveat: 1 of the" in answer) == caveat, question


@pytest.mark.parametrize("kind", ["calls", "completions", "flags", "groups", "stacks"])
def test_every_kind_of_loss_is_told_with_its_number(kind):
    rows = planted.sends(repeats=1)
    assert not build(planted.data(rows), "T", [], ["DIR"]).lost
    rows[0][f"lost_{kind}"], rows[1][f"lost_{kind}"] = 1200, 34
    lost = build(planted.data(rows), "T", [], ["DIR"]).lost
    assert re.match(rf"1,234 .* in 2 of {len(rows)} runs: ", lost), lost
