# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Figures of metrics over one axis: a line a name, panels of what else differs."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

import altair as alt
import polars as pl

from analysis.figures import labels, lines, style
from analysis.figures.base import Data, Drawn, NotDrawn
from analysis.figures.cells import cells, shared_setting


@dataclass(frozen=True)
class Metric:
    """A column of the table, what its axis is called (unit in brackets), and the unit's factor."""
    column: str
    title: str
    scale: float = 1.0


@dataclass(frozen=True)
class Over:
    """What lies along the axis (a column), what lines are named by, what divides the panels."""
    x: str
    axis: Callable[[list[int]], alt.X]
    values: Callable[[list[int]], str]
    name: str
    legend: str
    runs: Callable[[Data], pl.DataFrame]
    panel_keys: list[str]
    panel_texts: list[pl.Expr]
    columns: int = 2
    width: int = 320
    apart: float = lines.APART
    # Of cells, runs and a metric: which cells are dips.
    dips: Callable[[pl.DataFrame, pl.DataFrame, str], pl.Series] | None = None

    @property
    def keys(self) -> list[str]:
        return [*self.panel_keys, self.x, self.name]


def threads_text() -> pl.Expr:
    """1 thread, 2 threads."""
    return pl.format("{} thread{}", pl.col("threads"),
                     pl.when(pl.col("threads") == 1).then(pl.lit("")).otherwise(pl.lit("s")))


def size_text() -> pl.Expr:
    """1K a message."""
    return pl.col("message_bytes").map_elements(lambda size: f"{style.size_text(size)} a message",
                                                return_dtype=pl.String)


SIZE = Over("message_bytes", style.size_axis,
            lambda sizes: f"{labels.listed([style.size_text(s) for s in sizes])} bytes a message",
            "variant", "send variant", attrgetter("sending"), ["setting", "threads"],
            [threads_text(), pl.col("setting")])
THREADS = Over("threads", lambda counts: style.count_axis(counts, "sending threads"),
               lambda counts: labels.counted(counts, "thread"),
               "variant", "send variant", attrgetter("sending"), ["setting", "message_bytes"],
               [size_text(), pl.col("setting")], columns=4, width=150)
CONNECTIONS = Over("connections", lambda counts: style.count_axis(counts, "connections at once"),
                   lambda counts: labels.counted(counts, "connection"),
                   "server_model", "server model", attrgetter("serving"), ["setting"],
                   [pl.col("setting")])


def _chart(over: Over, found: pl.DataFrame, named: dict[str, str], metric: Metric,
           runs: pl.DataFrame) -> tuple[alt.TopLevelMixin, tuple[str, ...]]:
    # The axis's column stays: the panels may be sorted by it.
    found = found.with_columns(pl.col(over.x).alias("x"), pl.col(over.name).alias("name"))
    if over.dips:
        found = found.with_columns(over.dips(found, runs, metric.column))
    found, panels, notes = lines.panels_of(found, over.panel_texts, over.panel_keys, runs)
    axis = over.axis(found["x"].unique().sort().to_list())
    if over.dips and found["dip"].any():
        notes = (*notes, "rings: dips, from and to which throughput differs significantly")
    return lines.draw(lines.Lines(found, named, over.legend, axis, metric.title, panels,
                                  over.columns, over.width, apart=over.apart)), notes


def _panels_told(over: Over, found: pl.DataFrame, runs: pl.DataFrame) -> str:
    """What the panels are, for the alt text; "" where there is but one."""
    _, panels, _ = lines.panels_of(found, over.panel_texts, over.panel_keys, runs)
    return f", panels: {'; '.join(panels)}" if len(panels) > 1 else ""


def draw_over(data: Data, over: Over, title: str, metrics: list[Metric],
              why_not: str) -> Drawn | NotDrawn:
    """Metrics below each other, those that were measured; why_not where none was."""
    runs = over.runs(data)
    measured = {m: cells(runs, over.keys, m.column, m.scale) for m in metrics}
    measured = {m: found for m, found in measured.items() if not found.is_empty()}
    if not measured:
        return NotDrawn(title, why_not)
    drawn = runs.filter(pl.any_horizontal([pl.col(m.column).is_not_null() for m in measured]))
    named = labels.variants(drawn, over.name) if over.name in ("variant", "server_model") else {
        name: name for name in style.order(drawn[over.name].to_list())}
    charts, notes = zip(*(_chart(over, found, named, m, drawn) for m, found in measured.items()))
    every = pl.concat(measured.values())
    notes = tuple(dict.fromkeys(note for some in notes for note in some))
    subtitle = [shared_setting(drawn), labels.intervals(every), *notes]
    description = (
        f"{labels.listed([m.title for m in measured])} over "
        f"{over.values(every[over.x].unique().sort().to_list())}, for "
        f"{labels.listed(list(named.values()))}{_panels_told(over, every, drawn)}. "
        f"{shared_setting(drawn)}; {labels.intervals(every)}.")
    chart = charts[0] if len(charts) == 1 else alt.concat(
        *charts, columns=1 if _panels_told(over, every, drawn) else 2, spacing=24)
    return Drawn(style.themed(chart, title, subtitle, description), title, description, notes)
