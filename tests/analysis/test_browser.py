# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the pages in Debian's chromium, narrow and wide, light and dark: every still and interactive figure has marks,
the console stays empty, and a tooltip has the measured values."""

import base64
import os
import re
import shutil

import pytest
from conftest import analysis, samples, write
from playwright.sync_api import sync_playwright

import planted
from analysis.figures import style
from analysis.figures.base import Data
from analysis.report.build import build
from analysis.report.write import write as write_report
from analysis.table import empty
from test_advice import ADVICE, read

CHROMIUM = shutil.which("chromium")
TIMEOUT_MS = 120_000  # other processes may use the CPUs
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt-get install chromium")]
# The number of figures of each report, and the fewest marks in any of them: a bar or a point per variant.
FIGURES = {"samples": 7, "advice": 1, "copies": 9, "sizes": 9, "servers": 3, "records": 3}
FEWEST_MARKS = {"samples": 1, "advice": 9, "copies": 10, "sizes": 10, "servers": 4,
                "records": 4}


def sizes(**options):
    """Returns rows of sizes from 1 KiB on: each message has four times the bytes."""
    return [{**row, "message_bytes": 4 * row["message_bytes"]} for row in planted.sends(**options)]


# The functions that make the data of each grid's report.
GRIDS = {"copies": planted.sends, "sizes": sizes, "servers": planted.servers,
         "records": planted.records}
# A screen and a telephone, each with one of the schemes: colours do not depend on the width.
WINDOWS = [(1400, "light"), (390, "dark")]
# Returns the contrast of two colours by WCAG, from 1 (equal lightness) to 21.
CONTRAST = """(a, b) => {
  const light = color => {
    const [red, green, blue] = color.map(c => c / 255).map(
      c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  };
  return Math.max(light(a), light(b)) / Math.min(light(a), light(b));
}"""
LEAST_CONTRAST = 1.5
# Counts the marks of data that have an area and a colour that differs from the page's.
MARKS = f"""(figure) => {{
  const channels = paint => (paint.match(/\\d+/g) || []).slice(0, 3).map(Number);
  const page = channels(getComputedStyle(document.body).backgroundColor);
  const seen = paint => paint !== "none" && paint !== "transparent"
                        && ({CONTRAST})(channels(paint), page) >= {LEAST_CONTRAST};
  return [...figure.querySelectorAll(".mark-line path, .mark-symbol path, .mark-rect path")].filter(
    mark => {{
      const box = mark.getBoundingClientRect(), style = getComputedStyle(mark);
      return !mark.closest(".role-legend") && box.width + box.height > 0
             && (seen(style.fill) || seen(style.stroke));
    }}).length;
}}"""
# Counts the same marks in a still picture, after the browser has decoded it.
MARKS_OF_STILL = f"""async (image) => {{
  await image.decode();
  const copy = document.createElement("div");
  copy.innerHTML = atob(image.src.split(",")[1]);
  document.body.append(copy);
  const found = ({MARKS})(copy);
  copy.remove();
  return found;
}}"""
# Returns the most frequent colour of a screenshot, and the number of pixels with a hue that differ from it.
PIXELS = f"""async (source) => {{
  const image = new Image();
  image.src = source;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const data = context.getImageData(0, 0, image.width, image.height).data, counts = new Map();
  for (let i = 0; i < data.length; i += 4) {{
    const color = data.slice(i, i + 3).join();
    counts.set(color, (counts.get(color) || 0) + 1);
  }}
  const paper = [...counts].sort((a, b) => b[1] - a[1])[0][0].split(",").map(Number);
  const isDrawn = color => Math.max(...color) - Math.min(...color) > 20
                           && ({CONTRAST})(color, paper) >= {LEAST_CONTRAST};
  const drawn = [...counts].filter(([color]) => isDrawn(color.split(",").map(Number)));
  return {{paper, drawn: drawn.reduce((sum, [, count]) => sum + count, 0)}};
}}"""
PAPER = {"light": style.PAPER, "dark": style.DARK[style.PAPER]}
# A point has more pixels than this. A legend has the colours of marks, but is no mark.
FEWEST_PIXELS = 30
NO_LEGEND = ".role-legend { visibility: hidden; }"
WITHOUT_LEGEND = f"""image => {{
  const [head, drawn] = image.src.split(",");
  image.src = head + "," + btoa(atob(drawn).replace("</svg>", "<style>{NO_LEGEND}</style></svg>"));
  return image.decode();
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
    """Writes a report for each grid, one for advice, and one for sample records, which have no counters."""
    folder = tmp_path_factory.mktemp("browser")
    for grid, rows in GRIDS.items():
        report = build(planted.data(rows(repeats=5)), grid, [], ["DIR"])
        write_report(report, folder / grid, ["svg"])
    advice = build(Data(empty()), None, [], ["FILE"], [read(ADVICE)])
    write_report(advice, folder / "advice", ["svg"])
    source = write(folder / "runs.jsonl", samples())
    result = analysis("report", source, "--out", folder / "samples", "--figures", "svg")
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture
def opened(browser):
    """Returns a function that opens a page. At the end, the consoles of all pages must be empty."""
    pages, said = [], []

    def do(path, **options):
        page = browser.new_page(**options)
        page.set_default_timeout(TIMEOUT_MS)
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(str(error)))
        pages.append(page)
        page.goto(path.as_uri())
        return page

    yield do
    for page in pages:
        page.close()
    assert not said


def assert_drawn(element, scheme, grey):
    """Checks the pixels of an element: marks on a background of the page's colour. grey: marks may have no hue."""
    source = "data:image/png;base64," + base64.b64encode(element.screenshot()).decode()
    found = element.evaluate(f"(_, source) => ({PIXELS})(source)", source)
    assert grey or "#" + bytes(found["paper"]).hex() == PAPER[scheme]
    assert grey or found["drawn"] >= FEWEST_PIXELS


@pytest.mark.parametrize(("width", "scheme"), WINDOWS)
@pytest.mark.parametrize("name", ["samples", "advice", *GRIDS])
def test_every_figure_of_a_report_has_marks(opened, folders, name, width, scheme):
    page = opened(folders / name / "report.html", viewport={"width": width, "height": 900},
                  color_scheme=scheme)
    page.add_style_tag(content=NO_LEGEND)
    figures = page.query_selector_all("figure")
    assert len(figures) == FIGURES[name]
    for figure in figures:
        still, live, button = map(figure.query_selector, (".still", ".interactive", "button"))
        image = next(one for one in still.query_selector_all("img") if one.is_visible())
        fewest = FEWEST_MARKS[name]
        grey = image.get_attribute("alt").startswith("Verdicts")  # inconclusive verdicts are grey
        assert image.evaluate(MARKS_OF_STILL) >= fewest, image.get_attribute("alt")
        image.evaluate(WITHOUT_LEGEND)
        assert_drawn(still, scheme, grey)
        button.click()
        live.wait_for_selector("svg")
        assert live.evaluate(MARKS) >= fewest, image.get_attribute("alt")
        assert_drawn(live, scheme, grey)
        # Wide pictures scroll, the page does not.
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert not still.is_visible()
        button.click()
        assert not live.is_visible() and still.is_visible()


def tooltip(page, mark):
    """Returns the tooltip of a mark: name -> value."""
    # Events are sent to the mark, because the bar of a short interval is below its point.
    for event in ("pointerover", "pointermove", "mouseover", "mousemove"):
        mark.dispatch_event(event)
    shown = page.wait_for_selector("#vg-tooltip-element.visible")
    return {row.query_selector(".key").inner_text(): row.query_selector(".value").inner_text()
            for row in shown.query_selector_all("tr")}


@pytest.mark.parametrize("mark", [".mark-symbol", ".mark-rule"])
def test_a_tooltip_has_the_true_size_and_rounded_values(opened, folders, mark):
    page = opened(folders / "copies" / "report.html", viewport={"width": 1400, "height": 900})
    page.click("button[data-figure=throughput]")
    live = page.wait_for_selector("figure:has(button[data-figure=throughput]) .interactive svg")
    # The first three marks: one for each variant at the smallest size.
    found = live.query_selector_all(f"{mark}.role-mark path, {mark}.role-mark line")[:3]
    for row in [tooltip(page, one) for one in found]:
        assert row["message size (bytes)"] == "256" and row["repeats"] == "5", row
        value = row["throughput (Gbit/s)"]
        assert re.fullmatch(r"\d\.\d{2,3} \(\d\.\d{2,3} to \d\.\d{2,3}\)", value), row


@pytest.mark.parametrize("name", ["copies", "sizes", "servers", "records"])
def test_the_first_screen_has_all_answers_and_the_ratio(opened, folders, name):
    page = opened(folders / name / "report.html", viewport={"width": 1400, "height": 900})
    below = page.evaluate("""[...document.querySelectorAll(".answers tr, .top figure .still")].filter(
        one => one.getBoundingClientRect().bottom > 900).length""")
    assert not below
    folded = page.evaluate("""[...document.querySelectorAll(".answers details")].filter(
        one => one.open || one.querySelector("summary").innerText !== "Why").length""")
    assert not folded and page.query_selector(".answers details")


@pytest.mark.parametrize("name", ["samples", "advice", *GRIDS])
def test_nothing_is_cut_on_a_telephone(opened, folders, name):
    page = opened(folders / name / "report.html", viewport={"width": 390, "height": 844})
    cut = page.evaluate("""[...document.querySelectorAll("body *:not(script):not(style)")].filter(
        one => !one.closest(".wide") && one.getClientRects().length
               && (one.getBoundingClientRect().right > 391 || one.getBoundingClientRect().left < -1)
        ).map(one => one.outerHTML.slice(0, 80))""")
    assert not cut
