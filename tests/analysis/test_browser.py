# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The pages in a browser, Debian's chromium: every figure has marks, still and interactive, the
console has nothing to say, and a tooltip has what was measured."""

import os
import re
import shutil

import pytest
from conftest import analysis, samples, write
from playwright.sync_api import sync_playwright

import planted
from analysis.report.build import build
from analysis.report.write import write as write_report

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt-get install chromium"),
    # One browser for all of them.
    pytest.mark.xdist_group("browser")]
# Of each report: its figures, and the fewest marks in one, which is a bar or a point a variant.
FIGURES = {"planted": 9, "samples": 7, "copies": 8, "servers": 1, "records": 9}
FEWEST_MARKS = {"planted": 10, "samples": 1, "copies": 10, "servers": 10, "records": 4}
# Bars that all say the same are one.
COLLAPSED = "copied after all"
# Reports as of the grids; sizes has the same figures as copies.
GRIDS = {"copies": planted.sends, "servers": planted.servers, "records": planted.records}
WINDOWS = [(width, scheme) for width in (390, 1400) for scheme in ("light", "dark")]
# Marks of data that have a place on the screen and a colour of their own.
MARKS = """(figure) => [...figure.querySelectorAll(
    ".mark-line path, .mark-symbol path, .mark-rect path")].filter(mark => {
  const box = mark.getBoundingClientRect(), style = getComputedStyle(mark);
  const seen = paint => !["none", "transparent", "rgb(255, 255, 255)"].includes(paint);
  return !mark.closest(".role-legend") && box.width + box.height > 0
         && (seen(style.fill) || seen(style.stroke));
}).length"""
# Of a picture that the browser could draw, the same of what it is made of.
MARKS_OF_STILL = f"""async (image) => {{
  await image.decode();
  const copy = document.createElement("div");
  copy.innerHTML = atob(image.src.split(",")[1]);
  document.body.append(copy);
  const found = ({MARKS})(copy);
  copy.remove();
  return found;
}}"""


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield started
        started.close()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A report with every figure, and one of the program's own records, without counters."""
    folder = tmp_path_factory.mktemp("browser")
    data = planted.data(planted.sends(repeats=5) + planted.servers(repeats=5))
    write_report(build(data, "planted", [], ["DIR"]), folder / "planted", ["html"])
    for grid, rows in GRIDS.items():
        report = build(planted.data(rows(repeats=5)), grid, [], ["DIR"])
        write_report(report, folder / grid, ["html"])
    source = write(folder / "runs.jsonl", samples())
    result = analysis("report", source, "--out", folder / "samples", "--figures", "html")
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture
def opened(browser):
    """Opens a page; at the end its console must have been silent."""
    pages, said = [], []

    def do(path):
        page = browser.new_page()
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(str(error)))
        pages.append(page)
        page.goto(path.as_uri())
        return page

    yield do
    for page in pages:
        page.close()
    assert not said


@pytest.mark.parametrize("name", ["planted", "samples", *GRIDS])
def test_every_figure_of_a_report_has_marks(opened, folders, name):
    page = opened(folders / name / "report.html")
    figures = page.query_selector_all("figure")
    assert len(figures) == FIGURES[name]
    for width, scheme in WINDOWS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        for figure in figures:
            fewest = 1 if COLLAPSED in figure.inner_text() else FEWEST_MARKS[name]
            still, live, button = map(figure.query_selector, ("img", ".interactive", "button"))
            assert still.is_visible()
            assert still.evaluate(MARKS_OF_STILL) >= fewest, figure.inner_text()
            button.click()
            live.wait_for_selector("svg")
            assert live.evaluate(MARKS) >= fewest, figure.inner_text()
            # Wide pictures scroll in their own place, the page does not.
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert not still.is_visible()
            button.click()
            assert not live.is_visible()


@pytest.mark.parametrize("name", ["throughput", "latency", "servers"])
def test_a_page_of_a_figure_has_marks(opened, folders, name):
    page = opened(folders / "planted" / "figures" / f"{name}.html")
    page.wait_for_selector("#figure svg")
    assert page.query_selector("#figure").evaluate(MARKS) >= FEWEST_MARKS["planted"]


def tooltip(page, mark):
    """What is shown over a mark, name -> value."""
    # By events: the bar of a short interval lies below its point.
    for event in ("pointerover", "pointermove", "mouseover", "mousemove"):
        mark.dispatch_event(event)
    shown = page.wait_for_selector("#vg-tooltip-element.visible")
    return {row.query_selector(".key").inner_text(): row.query_selector(".value").inner_text()
            for row in shown.query_selector_all("tr")}


@pytest.mark.parametrize("mark", [".mark-symbol", ".mark-rule"])
def test_a_tooltip_has_the_true_size_and_rounded_values(opened, folders, mark):
    page = opened(folders / "planted" / "figures" / "throughput.html")
    page.wait_for_selector("#figure svg")
    # A variant each, side by side at the first size.
    found = page.query_selector_all(f"{mark}.role-mark path, {mark}.role-mark line")[:3]
    for row in [tooltip(page, one) for one in found]:
        assert row["message size (bytes)"] == "256" and row["repeats"] == "5", row
        value = row["throughput (Gbit/s)"]
        assert re.fullmatch(r"\d\.\d{2,3} \(\d\.\d{2,3} to \d\.\d{2,3}\)", value), row
