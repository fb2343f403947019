# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How the times of messages are distributed, for each variant: time over share of messages."""

import altair as alt
import polars as pl

from analysis.figures import labels, lines, style
from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.cells import shared_setting, spread
from analysis.figures.over import size_text, threads_text

TITLE = "How long messages took"
KEYS = ["setting", "threads", "message_bytes", "variant", "span"]
# Shares of messages are drawn as 1 / (1 - share): half of all are at 2, p99 at 100.
_LEAST = 1.0
_SHARE = "format(100 - 100 / datum.value, '~r')"
_TICKS = [1, 2, 10, 100, 1000, 10000]


def curves(runs: pl.DataFrame, data: Data) -> pl.DataFrame:
    """KEYS, us, one_in: one message in one_in took longer than us. Repeats are put together.

    The last bucket has no message beyond it, and no point.
    """
    joined = data.details.times.join(runs.select("run_id", *KEYS[:-1]), on="run_id")
    summed = joined.group_by([*KEYS, "high"]).agg(pl.col("count").sum()).sort([*KEYS, "high"])
    share = 1 - pl.col("count").cum_sum().over(KEYS) / pl.col("count").sum().over(KEYS)
    return summed.with_columns((pl.col("high") / 1e3).alias("us"), share.alias("beyond")).filter(
        pl.col("beyond") > 1e-12).with_columns((1 / pl.col("beyond")).alias("one_in"))


def _chart(found: pl.DataFrame, named: dict[str, str],
           panels: list[str]) -> alt.TopLevelMixin:
    found = found.with_columns(
        pl.col("variant").replace_strict(named, return_dtype=pl.String).alias("label"),
        (100 - 100 / pl.col("one_in")).alias("percent"))
    by = style.encodings("label", "send variant", named)
    highest = found["one_in"].max()
    x = alt.X("one_in:Q", title="share of messages that took no longer (%)",
              scale=alt.Scale(type="log", domain=[_LEAST, max(highest, 2) * 1.1], nice=False),
              axis=alt.Axis(values=[tick for tick in _TICKS[1:] if tick <= highest], grid=True,
                            labelExpr=_SHARE))
    y = style.value_axis("time of a message (µs)", found["us"].min(), found["us"].max(),
                         field="us")
    base = alt.Chart().encode(x=x, y=y, color=by["color"])
    line = base.mark_line(strokeWidth=1.6, interpolate="step-before").encode(
        strokeDash=by["strokeDash"])
    # One point near each tick tells the lines apart without colour.
    points = base.transform_filter("isValid(datum.marked)").mark_point(
        filled=True, size=46, opacity=1).encode(
        shape=by["shape"], tooltip=[
            alt.Tooltip("label:N", title="send variant"),
            alt.Tooltip("message_bytes:Q", title="message size (bytes)", format=",d"),
            alt.Tooltip("percent:Q", title="% of messages", format=".4~f"),
            alt.Tooltip("us:Q", title="took no longer than (µs)", format=",.3~r")])
    layers = alt.layer(line, points).properties(width=240, height=190)
    return lines.in_panels(layers, _marked(found), panels, 3)


def _marked(found: pl.DataFrame) -> pl.DataFrame:
    """With marked not null for the first point of a curve at or beyond each tick."""
    tick = pl.sum_horizontal([pl.col("one_in") >= tick for tick in _TICKS])
    keys = [*KEYS, "tick"]
    found = found.with_columns(tick.alias("tick"))
    first = pl.col("one_in") == pl.col("one_in").min().over(keys)
    return found.with_columns(pl.when(first).then(1).alias("marked")).select(
        "one_in", "us", "percent", "label", "panel", "message_bytes", "marked")


def draw(data: Data) -> Drawn | NotDrawn:
    runs = data.sending
    if runs.is_empty():
        return NotDrawn(TITLE, "no run sent messages of a size")
    sizes = spread(runs["message_bytes"].to_list(), 3)
    threads = spread(runs["threads"].to_list(), 2)
    runs = runs.filter(pl.col("message_bytes").is_in(sizes) & pl.col("threads").is_in(threads))
    found = curves(runs, data)
    if found.is_empty():
        return NotDrawn(TITLE, "no run has a histogram of its messages' times"
                        if data.details.times.height else
                        "a table alone has no histograms: the run records are needed")
    # Only equal spans compare: the one that most messages have is drawn.
    span = found.group_by("span").agg(pl.col("count").sum()).sort("count")["span"][-1]
    left_out = sorted(set(found["span"].drop_nulls()) - {span})
    found = found.filter(pl.col("span") == span)
    found, panels, notes = lines.panels_of(
        found, [size_text(), threads_text(), pl.col("setting")],
        ["setting", "threads", "message_bytes"], runs)
    if left_out:
        notes = (*notes, f"not drawn: times of the span {', '.join(left_out)}")
    named = labels.variants(runs)
    told = f"span {span}; all repeats together, every message that was timed, so no intervals"
    description = (f"Time of a message in microseconds over the share of messages "
                   f"that took no longer, for {labels.listed(list(named.values()))}; panels: "
                   f"{'; '.join(panels)}. {shared_setting(runs)}; {told}.")
    subtitle = [shared_setting(runs), told, *notes]
    return Drawn(style.themed(_chart(found, named, panels), TITLE, subtitle, description),
                 TITLE, description, notes)


FIGURE = Figure("distributions", TITLE, draw)
