# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Draws the chart of most figures: medians over an axis, with a line per name, in panels."""

import math
import re

import altair as alt
import polars as pl

from analysis.figures import labels, style
from analysis.tables.variants import in_order

# People cannot compare more panels by eye.
MOST_PANELS = 12
# The least width of a readable panel in pixels, the part of it for the axis, and the width of a letter of its title.
PANEL, AXIS, LETTER = 240, 62, 7
# The distance between names at the same size, in powers of two.
APART = 0.055


def in_panels(layers: alt.LayerChart, data: pl.DataFrame, panels: list[str], width: int,
              least: int = PANEL) -> alt.TopLevelMixin:
    """Draws the layers for each of these panels (data's column panel), as wide as possible. Changes the layers."""
    # As many columns as have a readable width, in rows of about the same length.
    columns = max(1, min(len(panels), width // least))
    columns = math.ceil(len(panels) / math.ceil(len(panels) / columns))
    layers.width = (width - AXIS) // columns - (columns > 1) * 22
    if len(panels) == 1:
        layers.data = data
        return layers
    # A title that is wider than its panel gets a line for each part.
    header = alt.Header(labelOrient="top")
    if LETTER * max(map(len, panels)) > layers.width:
        header.labelExpr = "split(datum.label, /[,;] /)"
    drawn = layers.facet(data=data, columns=columns, facet=alt.Facet(
        "panel:N", title=None, sort=panels, header=header))
    # An incomplete row would get axes below missing panels.
    return drawn.resolve_axis(x="independent") if len(panels) % columns else drawn


def draw_lines(cells: pl.DataFrame, names: dict[str, str], legend: str, x_axis: alt.X, y_title: str,
         panels: list[str], width: int, height: int = 200, apart: float = APART,
         level: float | None = None) -> alt.TopLevelMixin:
    """Draws lines through the medians, points, and bars for the intervals.

    cells: the columns x, name, panel and those of cells(), and perhaps dip: whether to mark a dip. names: the label of
    each name. panels: the panels' titles in order. width: the width of a row of panels. apart: the distance between
    names at the same x, in powers of two. level: the value at which to draw a horizontal line, or None.
    """
    places = {name: 2 ** (apart * (i - (len(names) - 1) / 2)) for i, name in enumerate(names)}
    cells = cells.with_columns(
        pl.col("x").alias("at"),
        (pl.col("x") * pl.col("name").replace_strict(places, return_dtype=pl.Float64)).alias("x"),
        pl.col("name").replace_strict(names, return_dtype=pl.String).alias("label"))
    tooltip = [alt.Tooltip("label:N", title=legend),
               alt.Tooltip("at:Q", title=x_axis.to_dict().get("title", "x"), format=",d"),
               alt.Tooltip("text:N", title=y_title), alt.Tooltip("n:Q", title="repeats")]
    by = style.encodings("label", legend, names)
    values = pl.concat([cells[column].drop_nulls() for column in ("median", "low", "high")])
    ends = [values.min(), values.max(), *([] if level is None else [level])]

    def y_axis(field="median"):
        return style.value_axis(y_title, min(ends), max(ends), field)
    base = alt.Chart().encode(x=x_axis)
    line = base.mark_line(strokeWidth=1.6).encode(y=y_axis(), color=by["color"], strokeDash=by["strokeDash"])
    bars = base.transform_filter("isValid(datum.low)").mark_errorbar(
        ticks={"width": 5}, rule={"strokeWidth": 1.4}).encode(
        # The default tooltip would show the ends of the bar, and x with its offset.
        y=y_axis("low"), y2="high:Q", color=by["color"], tooltip=tooltip)
    points = base.mark_point(size=46, filled=True, opacity=1).encode(
        y=y_axis(), color=by["color"], shape=by["shape"], tooltip=tooltip)
    # Bars without any interval would cause a warning in the browser's console.
    shown = [line, bars, points] if cells["low"].count() else [line, points]
    if "dip" in cells.columns and cells["dip"].any():
        at_dips = base.transform_filter("datum.dip").encode(y=y_axis())
        shown += [at_dips.mark_point(size=260, filled=False, stroke=style.INK, strokeWidth=1.5),
                  at_dips.mark_text(dy=20, color=style.INK, text="dip")]
    if level is not None:
        shown.insert(0, alt.Chart().mark_rule(color=style.DOMAIN).encode(y=alt.datum(level)))
    layers = alt.layer(*shown)
    layers.height = height
    return in_panels(layers, cells, panels, width)


def _natural(row: tuple) -> list:
    """Returns a key that sorts numbers within texts by their value."""
    return [[(not part.isdigit(), int(part) if part.isdigit() else 0, part)
             for part in re.split(r"(\d+)", str(value))] for value in row]


def _panel_titles(runs: pl.DataFrame) -> dict[str, str]:
    """Returns each panel's title, with the copied shares if these differ between panels."""
    titles = {panel: panel for panel in runs["panel"].unique()}
    for variant in in_order(runs["variant"].drop_nulls().unique().to_list()):
        mine = runs.filter((pl.col("variant") == variant) & (pl.col("zc_requests") > 0))
        copied = {panel: labels.copied_label(part) or "not copied" for (panel,), part in mine.group_by("panel")}
        if len(set(copied.values())) > 1:
            titles = {panel: f"{title}; {variant} {copied[panel]}" if panel in copied else title
                      for panel, title in titles.items()}
    return titles


def panels_of(cells: pl.DataFrame, texts: list[pl.Expr], by: list[str],
              runs: pl.DataFrame) -> tuple[pl.DataFrame, list[str], tuple[str, ...]]:
    """Returns the cells with a column panel, the panels in the order of the columns `by`, and notes for the reader.

    texts: expressions whose non-empty values are joined to a panel's title. runs: the runs of the cells.
    """
    title = pl.concat_str([pl.when(text == "").then(None).otherwise(text) for text in texts],
                          separator=", ", ignore_nulls=True).alias("panel")
    titles = _panel_titles(runs.with_columns(title))
    named = cells.with_columns(title).with_columns(pl.col("panel").replace(titles))
    rows = sorted(named.select([*by, "panel"]).unique().rows(), key=_natural)
    panels = list(dict.fromkeys(row[-1] for row in rows))
    if len(panels) <= MOST_PANELS:
        return named, panels, ()
    kept = panels[:MOST_PANELS]
    return (named.filter(pl.col("panel").is_in(kept)), kept,
            (f"{len(panels) - MOST_PANELS} of {len(panels)} panels are left out of the picture",))
