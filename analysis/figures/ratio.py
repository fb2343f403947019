# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Draws comparisons as ratios to the first variant or server model: over the axis, and as a map of verdicts."""

import altair as alt
import polars as pl

from analysis import words
from analysis.compare import judge
from analysis.compare.pairs import Comparison
from analysis.figures import judged, labels, lines, style
from analysis.figures.base import BESIDE, NARROW, Data, Drawn, Figure, NotDrawn
from analysis.figures.cells import shared_setting
from analysis.figures.judged import Kind

# The colours are light on any page, so that dark words on them are readable. SIGNS show the same as the colours.
COLORS = {judge.BETTER: "#88ccee", judge.WORSE: "#e69f00", judge.SAME: "#44aa99",
          judge.INCONCLUSIVE: "#aaaaaa"}
SIGNS = {judge.BETTER: "▲", judge.WORSE: "▼", judge.SAME: "=", judge.INCONCLUSIVE: ""}
WORDS = "#111111"
LEAST = 30  # the least width of a ratio in pixels
JUDGED = alt.Tooltip("text:N", title="ratio"), alt.Tooltip("verdict:N"), alt.Tooltip("n:Q", title="pairs")
NO_PAIRS = "no runs of two variants or server models in one repeat"


def _points(kind: Kind, data: Data) -> tuple[list[Comparison], pl.DataFrame]:
    found = kind.compare(data)
    return found, pl.DataFrame([
        {**{key: c.configuration[key] for key in kind.over.configuration}, "x": kind.x(c.configuration), "name": c.a,
         "median": c.judgment.value, "low": c.judgment.low, "high": c.judgment.high, "n": c.judgment.n,
         "verdict": c.verdict, "text": words.interval(c.judgment)}
        for c in found], schema_overrides={"low": pl.Float64, "high": pl.Float64, "setting": pl.String})


def _crossings(kind: Kind, found: list[Comparison], named: dict[str, str]) -> pl.DataFrame:
    rows = [{**cell, "x": one.size, "label": named[a],
             "text": f"{'faster' if one.direction > 0 else 'slower'} from {kind.about(one.size)}"}
            for a, cell, one in judged.crossovers(kind, found)]
    return pl.DataFrame(rows, schema_overrides={"setting": pl.String})


def _scale(points: pl.DataFrame) -> tuple[list[float], list[float]]:
    """Returns the ends of the axis, and its ticks."""
    ends = pl.concat([points[column].drop_nulls() for column in ("median", "low", "high")])
    low, high = min(ends.min(), 0.8) / 1.1, max(ends.max(), 1.25) * 1.1
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]
    return [low, high], [tick for tick in ticks if low <= tick <= high]


def draw_ratio(kind: Kind, data: Data, width: int) -> Drawn | NotDrawn:
    title = f"Ratio of {kind.what}"
    found, points = _points(kind, data)
    if not found:
        return NotDrawn(title, NO_PAIRS)
    runs, other = kind.over.runs(data), found[0].b
    title = f"{title} to {other}"
    named = {name: label for name, label in labels.variants(runs, kind.over.name).items() if name != other}
    points, panels, notes = lines.panels_of(points, kind.over.panel_texts, kind.over.panel_keys, runs)
    points = points.with_columns(pl.col("name").replace_strict(named, return_dtype=pl.String).alias("label"))
    crossed = _crossings(kind, found, named)
    if crossed.height:
        crossed, _, _ = lines.panels_of(crossed, kind.over.panel_texts, kind.over.panel_keys, runs)
    by = style.encodings("label", kind.over.legend, named)
    domain, ticks = _scale(points)
    y_title = f"ratio of {kind.what}, log scale"
    y = alt.Y("median:Q", title=y_title, axis=alt.Axis(values=ticks, format="~g"),
              scale=alt.Scale(type="log", domain=domain, nice=False))
    x = kind.over.axis(points["x"].unique().sort().to_list())
    tooltip = [alt.Tooltip("label:N", title=kind.over.legend), alt.Tooltip("x:Q", title=kind.unit, format=",d"),
               *JUDGED]
    base = alt.Chart().transform_filter("isValid(datum.median)").encode(x=x)
    layers = [
        alt.Chart().mark_rect(color=style.FRAME, opacity=0.4).encode(
            y=alt.datum(1 / (1 + judge.MARGIN)), y2=alt.datum(1 + judge.MARGIN)),
        alt.Chart().mark_rule(color=style.INK).encode(y=alt.datum(1)),
        base.mark_line(strokeWidth=1.8).encode(y=y, color=by["color"], strokeDash=by["strokeDash"])]
    if points["low"].count():
        layers.append(base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.4).encode(
            y=alt.Y("low:Q", title=y_title), y2="high:Q", color=by["color"], tooltip=tooltip))
    layers.append(base.mark_point(size=60, filled=True, opacity=1).encode(
        y=y, color=by["color"], shape=by["shape"], tooltip=tooltip))
    if crossed.height:
        points = pl.concat([points, crossed.with_columns(pl.lit(1.0).alias("crossing"))], how="diagonal_relaxed")
        at = alt.Chart().transform_filter("isValid(datum.crossing)").encode(
            x=x, y=alt.Y("crossing:Q", title=y_title))
        layers += [at.mark_point(size=260, shape="diamond", filled=False, stroke=style.INK, strokeWidth=1.6),
                   at.mark_text(dy=-16, color=style.INK, align="center").encode(text="text:N")]
        notes = (*notes, "diamonds: crossings")
    rows_ = 1 if len(panels) <= max(1, width // lines.PANEL) else 2
    chart = lines.in_panels(alt.layer(*layers).properties(height=330 if rows_ == 1 else 190), points, panels, width)
    counts = sorted({c.judgment.n for c in found})
    legend = (f"grey band: the same, within {judged.MARGIN}; points: ratios of "
              f"{'' if len(counts) == 1 else f'{counts[0]} to '}{counts[-1]} pairs of runs; bars: confidence intervals; "
              "better or worse: the whole bar is outside of the band" +
              (", and repeats are enough" if any(c.judgment.reason == judge.FEW for c in found) else ""))
    description = (f"Ratio of {kind.what} of {words.listed(list(named.values()))} to {other} over {kind.unit}; "
                   f"{legend}. {shared_setting(runs)}.")
    return Drawn(style.themed(chart, title, [legend, *notes], description, width), title, description, notes)


def draw_heat(kind: Kind, data: Data, width: int) -> Drawn | NotDrawn:
    title = "Verdicts by configuration"
    found, points = _points(kind, data)
    if not found:
        return NotDrawn(title, NO_PAIRS)
    runs, other = kind.over.runs(data), found[0].b
    named = labels.variants(runs, kind.over.name)
    cells, rows_, notes = lines.panels_of(points, kind.over.panel_texts, kind.over.panel_keys, runs.clear())
    cells = cells.rename({"panel": "row"}).with_columns(
        pl.col("row").fill_null("").alias("row"),
        pl.col("name").replace_strict(named, return_dtype=pl.String).alias("panel"),
        pl.col("x").map_elements(kind.say, return_dtype=pl.String).alias("at"),
        pl.struct("verdict", "median").map_elements(
            lambda one: f"{words.number(one['median'])}{SIGNS[one['verdict']]}", return_dtype=pl.String).alias("text"))
    panels = [named[name] for name in named if name in set(points["name"])]
    along = cells.sort("x")["at"].unique(maintain_order=True).to_list()
    # If a row does not fit the width, it becomes a column.
    room = (width - 130) // max(1, min(len(panels), width // (LEAST * len(along) + 60) or 1))
    turned = width == NARROW and room // len(along) < LEAST + 6
    x, y = (("row", rows_), ("at", along)) if turned else (("at", along), ("row", rows_))
    step = room // len(x[1])
    encoded = alt.Chart().encode(
        x=alt.X(f"{x[0]}:N", sort=x[1], title=None if turned else kind.unit,
                axis=alt.Axis(labelAngle=0, orient="top" if turned else "bottom", labelLimit=max(step, 40))),
        y=alt.Y(f"{y[0]}:N", sort=y[1], title=kind.unit if turned else None, axis=alt.Axis(labelLimit=190)))
    verdicts = [one for one in COLORS if (cells["verdict"] == one).any()]
    layers = alt.layer(
        encoded.mark_rect(stroke=style.PAPER, strokeWidth=2).encode(
            color=alt.Color("verdict:N", sort=verdicts, title=f"{kind.what} against {other}",
                            scale=alt.Scale(domain=verdicts, range=[COLORS[one] for one in verdicts])),
            tooltip=[alt.Tooltip("panel:N", title=kind.over.legend), alt.Tooltip("at:N", title=kind.unit),
                     *JUDGED]),
        encoded.mark_text(color=WORDS, fontSize=11 if step > 44 else 9).encode(text="text:N")).properties(
        height=alt.Step(24))
    chart = lines.in_panels(layers, cells, panels, width - 7 * max(map(len, y[1])), LEAST * len(x[1]) + 60)
    legend = f"ratios of {kind.what} to {other}", ", ".join(f"{SIGNS[one] or 'no sign:'} {one}" for one in verdicts)
    description = f"{title}, {kind.unit}: {'; '.join(legend)}. {shared_setting(runs)}; {'; '.join(panels)}."
    return Drawn(style.themed(chart, title, [*legend, *notes], description, width), title, description, notes)


def _kind_figure(name, kind, draw, **options):
    return Figure(name if kind.name == "sizes" else f"{name}-{kind.name}",
                  lambda data, width: draw(kind, data, width), **options)


RATIOS = tuple(_kind_figure("ratio", kind, draw_ratio, width=BESIDE) for kind in judged.KINDS)
HEATS = tuple(_kind_figure("heat", kind, draw_heat) for kind in judged.KINDS)
