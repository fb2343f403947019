# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Draws the measurements of advise: the ratio of zero-copy to each other way, by message size."""

import altair as alt
import polars as pl

from analysis import words
from analysis.advice import LEVEL, Advice, Answer
from analysis.figures import lines, style
from analysis.figures.base import BESIDE, Drawn, Figure, NotDrawn
from analysis.tables.advice import CALLS, METRICS

TITLE = "Zero-copy against the others by message size"
BETTER = {"cpu": "below 1", "throughput": "above 1"}
NAMES = {name: f"{name} ({call})" for name, call in CALLS.items()}


def copied_text(advice: Advice) -> str:
    """Returns, in words, the copied share of the path's zero-copy sends. Each figure about zero-copy includes it."""
    if advice.path is None or advice.path.copied is None:
        return "zero-copy sends: it is not known how many were copied"
    return f"zero-copy sends: {words.percent(advice.path.copied)} copied"


def _cells(answers: list[Answer]) -> pl.DataFrame:
    return pl.DataFrame([
        {"x": r.size, "name": a.against, "median": r.effect, "low": r.interval[0], "high": r.interval[1],
         "n": r.n, "text": r.words}
        for a in answers for r in a.ratios]).sort("x", "name")


def _changes(answers: list[Answer]) -> list[tuple[int, int]]:
    """Returns the pairs of sizes between which zero-copy becomes better."""
    return sorted({(a.worse, a.better) for a in answers if a.kind == "from" and a.worse})


def _metric_panel(metric: str, answers: list[Answer], sizes: list[int], width: int) -> alt.LayerChart:
    names = {name: label for name, label in NAMES.items() if any(a.against == name for a in answers)}
    chart = lines.draw_lines(
        _cells(answers), names, "zero-copy against", style.size_axis(sizes),
        f"ratio; {BETTER[metric]} zero-copy is better", [""], width, height=280, level=1.0)
    shades = [alt.Chart(pl.DataFrame({"from": [low], "to": [high]})).mark_rect(
        color=style.FRAME, opacity=0.35).encode(x=style.size_axis(sizes, "from"), x2="to:Q")
        for low, high in _changes(answers)]
    return alt.layer(*shades, chart, title=alt.TitleParams(
        METRICS[metric], fontSize=12, anchor="middle", offset=6))


def draw_advice(advice: Advice, width: int) -> Drawn | NotDrawn:
    measured = {metric: [a for a in advice.answers if a.metric == metric and a.ratios] for metric in METRICS}
    measured = {metric: answers for metric, answers in measured.items() if answers}
    if not measured:
        return NotDrawn(TITLE, "no size was measured")
    every = [a for answers in measured.values() for a in answers]
    sizes = sorted({r.size for a in every for r in a.ratios})
    blocks = sorted({r.n for a in every for r in a.ratios})
    legend = (f"{copied_text(advice)}; points: {'' if len(blocks) == 1 else f'{blocks[0]} to '}"
              f"{blocks[-1]} blocks; bars: their {LEVEL} intervals")
    notes = ("shaded: between these two sizes the answer changes",) if _changes(every) else ()
    better = [f"{METRICS[metric]} ({BETTER[metric]} zero-copy is better)" for metric in measured]
    description = (
        f"Ratio of zero-copy to {words.listed(list(NAMES.values()))} in {words.listed(better)}, at "
        f"{words.listed([style.size_text(size) for size in sizes])} bytes a message; {legend}.")
    beside = 2 if width > BESIDE and len(measured) > 1 else 1
    panels = (_metric_panel(metric, answers, sizes, width // beside) for metric, answers in measured.items())
    chart = alt.concat(*panels, columns=beside, spacing=24)
    return Drawn(style.themed(chart, TITLE, ["; ".join((legend, *notes))], description, width), TITLE,
                 description, notes)


def figure(name: str, advice: Advice) -> Figure:
    return Figure(name, lambda _, width: draw_advice(advice, width))
