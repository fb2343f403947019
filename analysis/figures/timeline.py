# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Draws the events of the median and the slowest send, in lanes over time."""

import altair as alt
import polars as pl

from analysis import stages, words
from analysis.figures import labels, style
from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.cells import shared_setting
from analysis.tables.timeline import LANES

TITLE = "The life of a send"
LANE, ASIDE = 46, 110
INSET = 0.11  # a bar inside another one is smaller, at the top and the bottom, by this share of the lane's height
DEEPEST = 3
POINTS = "#d1495b"  # visible on light and dark pages, and on bars
OTHERS = {"softirq NET_RX": "softirq", "softirq NET_TX": "softirq", "waiting for a CPU": "preempted"}
SEND = "#ececec"
SHAPES = list(dict.fromkeys(look.shape for look in style.LOOKS.values()))
MOST = 3  # the figure shows the sends of this many runs


def _color(name: str) -> str:
    """Returns the colour of an event with a duration: the colour of its stage, of interrupts, or of sends."""
    of = {stage.name: stage.color for stage in stages.STAGES}
    by_words = {stages.words(stage.name): stage.color for stage in stages.STAGES}
    softirq = of["interrupt"] if name.startswith("softirq") else SEND
    return by_words.get(name) or of.get(OTHERS.get(name, ""), softirq)


def _scales(events: pl.DataFrame) -> tuple[alt.Color, alt.Shape]:
    """Returns the scales of colours and shapes, which all panels share."""
    took, met = (events.filter(pl.col("took_ns").is_null() == moment)["what"].unique(maintain_order=True).to_list()
                 for moment in (False, True))
    return (alt.Color("what:N", title="what took time", sort=took, scale=alt.Scale(
                domain=took, range=[_color(name) for name in took])),
            alt.Shape("what:N", title="what happened", sort=met, scale=alt.Scale(
                domain=met, range=[SHAPES[number % len(SHAPES)] for number in range(len(met))])))


def _placed(events: pl.DataFrame) -> pl.DataFrame:
    """Returns the events with their times in microseconds, and with the heights that show how they are nested."""
    rows, open_ends = [], {}
    for row in events.sort("at_ns", maintain_order=True).iter_rows(named=True):
        ends = [end for end in open_ends.get(row["lane"], ()) if end > row["at_ns"]]
        depth = min(len(ends), DEEPEST)
        if row["took_ns"] is not None:
            ends.append(row["at_ns"] + row["took_ns"])
        open_ends[row["lane"]] = ends
        lane = LANES.index(row["lane"])
        rows.append(row | {"from": row["at_ns"] / 1e3, "to": (row["at_ns"] + (row["took_ns"] or 0)) / 1e3,
                           "us": (row["took_ns"] or 0) / 1e3, "top": lane + INSET * (depth + 0.5),
                           "bottom": lane + 1 - INSET * (depth + 0.5), "middle": lane + 0.5})
    return pl.DataFrame(rows, infer_schema_length=None)


def _lanes(events: pl.DataFrame, title: str, color: alt.Color, shape: alt.Shape, width: int) -> alt.TopLevelMixin:
    placed = _placed(events)
    bars, points = placed.filter(pl.col("took_ns").is_not_null()), placed.filter(pl.col("took_ns").is_null())
    x = alt.X("from:Q", title="after the beginning of the send (µs)", axis=alt.Axis(format=",.4~g"))
    y = alt.Scale(domain=[0, len(LANES)], reverse=True, nice=False)
    names = " : ".join(f"datum.value === {number} + 0.5 ? '{lane}'" for number, lane in enumerate(LANES))
    axis = alt.Axis(values=[number + 0.5 for number in range(len(LANES))], labelExpr=f"{names} : ''",
                    grid=False, ticks=False, minExtent=74)
    tooltip = [alt.Tooltip("what:N"), alt.Tooltip("from:Q", title="at, µs", format=",.2f"),
               alt.Tooltip("us:Q", title="took, µs", format=",.2f"), alt.Tooltip("cpu:Q", title="CPU"),
               alt.Tooltip("bytes:Q", format=",d")]
    drawn = [alt.Chart(bars).mark_bar(stroke=style.PAPER, strokeWidth=0.5, clip=True).encode(
        x=x, x2="to:Q", y=alt.Y("top:Q", title=None, scale=y, axis=axis), y2="bottom:Q", tooltip=tooltip, color=color)]
    if points.height:
        drawn.append(alt.Chart(points).mark_point(filled=False, size=60, color=POINTS, clip=True).encode(
            x=x, y=alt.Y("middle:Q", title=None, scale=y, axis=axis), tooltip=tooltip, shape=shape))
    return alt.layer(*drawn).properties(width=width - ASIDE, height=LANE * len(LANES), title=alt.TitleParams(
        title, anchor="start", fontSize=12))


def draw_timeline(data: Data, width: int) -> Drawn | NotDrawn:
    events = data.details.timelines.join(data.runs.select("run_id", "variant"), on="run_id", maintain_order="left")
    # Drop the number of sends of a notification, so that all notifications are one kind of event.
    events = events.with_columns(pl.col("what").str.replace(", of .* sends$", ""))
    if events.is_empty():
        return NotDrawn(TITLE, "no run has the events of single sends: analyze timeline takes them")
    runs = data.runs.filter(pl.col("run_id").is_in(events["run_id"].implode()))
    loads = runs.filter(pl.col("variant").is_not_null())
    named = labels.variants(loads) if loads.height else {}
    panels, texts = [], []
    for key, found in events.group_by("run_id", "which", maintain_order=True):
        if len(panels) == 2 * MOST:
            break
        first = found.row(0, named=True)
        what = f"{named.get(first['variant'], 'observed')}, {key[1]} send: {first['bytes']:,.0f} bytes"
        panels.append(_lanes(found, what, *_scales(events), width))
        texts.append(f"{what}, returned after {first['took_ns'] / 1e3:,.1f} µs")
    shared = shared_setting(runs)
    description = f"Lanes of {words.listed(list(LANES))} over time: {'; '.join(texts)}. {shared}."
    chart = alt.vconcat(*panels).resolve_scale(x="independent")
    return Drawn(style.themed(chart, TITLE, [shared, "bars: what took time, inner bars within outer ones; marks: what "
                                             "happened at a moment"], description, width), TITLE, description)


FIGURE = Figure("timeline", draw_timeline)
