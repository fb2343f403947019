# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Draws matrices of hosts, sender by receiver: copied zero-copy sends, kernel time, throughput."""

import altair as alt
import polars as pl

from analysis import hosts, words
from analysis.figures import style
from analysis.figures.base import Data, Drawn, Figure, NotDrawn

TITLE = "Hosts beside one another"
MOST_HOSTS = 24
# Tiles are light on paper and on a dark page, so that dark words on them are readable.
LIGHT, DEEP, WORDS, EDGE = "#eef6fb", style.SKY.color, "#111111", style.ORANGE.color
PANELS = {metric: f"{text} ({'%' if metric == hosts.COPIED else 'ratio'})" for metric, text in hosts.WORDS.items()}
CELL = 34


def shown(names: list[str], outliers: set[str]) -> list[str]:
    """Returns the hosts in the picture. If there are too many hosts, outliers are preferred."""
    return sorted(sorted(names, key=lambda name: name not in outliers)[:MOST_HOSTS])


def _tiles(found: pl.DataFrame, panel: str) -> pl.DataFrame:
    """Returns a row per tile: sender, receiver, runs, text, deep (the tile's shade, 0 to 1), and
    apart: whether the sender is an outlier."""
    value = pl.col(panel)
    share = panel == hosts.COPIED
    # The deepest shade shows a share of 100 %, or a ratio of at least 2 or at most 1/2.
    deep = value if share else value.log(2).abs().clip(0, 1)
    return found.filter(value.is_not_null()).select(
        pl.col("host").alias("sender"), "receiver", "runs", "apart", deep.alias("deep"),
        (value * 100 if share else value).map_elements(words.number, return_dtype=pl.String).alias("text"))


def _matrix(found: pl.DataFrame, panel: str, columns: list[str]) -> alt.LayerChart:
    rows = _tiles(found, panel)
    base = alt.Chart(rows).encode(
        y=alt.Y("sender:N", sort=None, title="sender", axis=alt.Axis(labelLimit=120),
                scale=alt.Scale(domain=sorted(rows["sender"].unique()))),
        x=alt.X("receiver:N", sort=None, title="receiver", scale=alt.Scale(domain=columns),
                axis=alt.Axis(labelAngle=-60, labelLimit=120)))
    tiles = base.mark_rect().encode(
        stroke=alt.when("datum.apart").then(alt.value(EDGE)).otherwise(alt.value(style.FRAME)),
        strokeWidth=alt.when("datum.apart").then(alt.value(3)).otherwise(alt.value(1)),
        color=alt.Color("deep:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[LIGHT, DEEP])),
        tooltip=["sender:N", "receiver:N", alt.Tooltip("text:N", title=PANELS[panel]),
                 alt.Tooltip("runs:Q", format=",d")])
    text = base.mark_text(color=WORDS, fontSize=10).encode(text="text:N")
    return alt.layer(tiles, text, title=alt.TitleParams(PANELS[panel], fontSize=12)).properties(
        width=alt.Step(CELL), height=alt.Step(CELL * 0.6))


def draw_hosts(data: Data, width: int) -> Drawn | NotDrawn:
    every = data.fleet.hosts
    if len(every) < 2:
        return NotDrawn(TITLE, "these runs are not of several hosts")
    outliers = hosts.find_outliers(data.fleet)
    names = shown(every, {one.host for one in outliers})
    found = hosts.rates(data.fleet).filter(pl.col("host").is_in(names))
    panels = [panel for panel in PANELS if found[panel].count()]
    if not panels:
        return NotDrawn(TITLE, "no run counted copies, kernel time or throughput")
    columns = sorted(found["receiver"].unique())[:2 * MOST_HOSTS]
    found = found.filter(pl.col("receiver").is_in(columns))
    notes = ("ratios: to the median of the hosts with the same configuration",)
    if outliers:
        notes = (*notes, "outlined: outliers")
    if len(names) < len(every):
        notes = (*notes, f"{len(every) - len(names)} of {len(every)} hosts are left out of the picture")
    description = (f"A matrix of {len(names)} hosts, sender by receiver: "
                   f"{words.listed([PANELS[panel] for panel in panels])}; {'; '.join(notes)}.")
    apart = {panel: [one.host for one in outliers if one.metric == panel] for panel in panels}
    chart = alt.concat(*(_matrix(found.with_columns(pl.col("host").is_in(apart[panel]).alias("apart")), panel, columns)
                         for panel in panels), columns=max(1, width // (CELL * len(columns) + 160)), spacing=24)
    return Drawn(style.themed(chart, TITLE, ["; ".join(notes)], description, width), TITLE, description, notes)


FIGURE = Figure("hosts", draw_hosts)
