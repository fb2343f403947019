# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kernel time of a send, divided into its stages where the record divides it."""

import altair as alt
import polars as pl

from analysis.figures import labels, lines, style
from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.cells import cells, send_spans, shared_setting, spread
from analysis.figures.over import size_text, threads_text

TITLE = "Kernel time of a send"
WHOLE = "whole send"
ERROR_QUEUE = "reading completions"
KEYS = ["setting", "threads", "message_bytes", "variant"]


def stages(runs: pl.DataFrame, data: Data) -> pl.DataFrame:
    """run_id, stage, ns: mean of each run; WHOLE where a record does not divide its sends.

    Reading completions happens outside of the send, and is a stage of its own where measured.
    """
    divided = data.details.stages.join(runs.select("run_id"), on="run_id", how="semi")
    whole = runs.join(divided, on="run_id", how="anti").filter(
        pl.col("send_mean_ns").is_not_null()).select(
        "run_id", pl.lit(WHOLE).alias("stage"), pl.col("send_mean_ns").alias("ns"))
    queue = runs.filter(pl.col("error_queue_ns_per_send").is_not_null()).select(
        "run_id", pl.lit(ERROR_QUEUE).alias("stage"),
        pl.col("error_queue_ns_per_send").alias("ns"))
    return pl.concat([divided, whole, queue])


def _chart(found: pl.DataFrame, named: dict[str, str], panels: list[str],
           order: list[str]) -> alt.TopLevelMixin:
    found = found.with_columns(
        pl.col("variant").replace_strict(named, return_dtype=pl.String).alias("label"),
        pl.col("stage").replace_strict({s: i for i, s in enumerate(order)},
                                       return_dtype=pl.Int64).alias("rank"))
    x = alt.X("label:N", sort=list(named.values()), title=None,
              axis=alt.Axis(labelAngle=-30, labelLimit=180))
    tooltip = [alt.Tooltip("label:N", title="send variant"),
               alt.Tooltip("message_bytes:Q", title="message size (bytes)", format=",d"),
               alt.Tooltip("stage:N"),
               alt.Tooltip("said:N", title="µs"), alt.Tooltip("n:Q", title="repeats")]
    bars = alt.Chart().mark_bar(stroke=style.PAPER, strokeWidth=1.5, width=26).encode(
        x=x, y=alt.Y("median:Q", stack="zero", title="kernel time of a send (µs)",
                     scale=alt.Scale(zero=True, nice=False),
                     axis=alt.Axis(format=",.6~g", labelBound=6)),
        color=alt.Color("stage:N", title="stage, from below", sort=order,
                        scale=style.color_scale(order)),
        order=alt.Order("rank:Q"),
        tooltip=tooltip)
    layered = [bars]
    if len(order) == 1 and found["low"].count():
        # Stages above another have no bar of their own: an interval would hang in the air.
        layered.append(alt.Chart().transform_filter("isValid(datum.low)").mark_errorbar(
            ticks={"width": 7}, color=style.WHISKER, rule={"strokeWidth": 1.4}).encode(
            x=x, y=alt.Y("low:Q", title="kernel time of a send (µs)"), y2="high:Q",
            tooltip=tooltip))
    layers = alt.layer(*layered).properties(width=130, height=170)
    drawn = lines.in_panels(layers, found, panels, 4)
    return drawn if len(panels) == 1 else drawn.resolve_scale(y="independent")


def draw(data: Data) -> Drawn | NotDrawn:
    runs = data.sending.filter(pl.col("send_span").is_not_null())
    if runs.is_empty():
        return NotDrawn(TITLE, "no run timed its sends in the kernel")
    span, *others = send_spans(runs)
    runs = runs.filter(pl.col("send_span") == span)
    not_drawn = (f"not drawn: times of the span {', '.join(others)}",) if others else ()
    runs = runs.filter(pl.col("message_bytes").is_in(spread(runs["message_bytes"].to_list(), 4))
                       & pl.col("threads").is_in(spread(runs["threads"].to_list(), 2)))
    timed = stages(runs, data).join(runs.select("run_id", *KEYS), on="run_id")
    found = cells(timed, [*KEYS, "stage"], "ns", 1e-3)
    found, panels, notes = lines.panels_of(
        found, [size_text(), threads_text(), pl.col("setting")],
        ["setting", "threads", "message_bytes"], runs)
    notes = (*not_drawn, *notes)
    order = sorted(found["stage"].unique().to_list(), key=lambda s: (s == ERROR_QUEUE, s))
    named = labels.variants(runs)
    how = labels.intervals(found).replace("points", "bars").replace("; bars:", "; lines:") \
        if len(order) == 1 else f"bars: medians of {found['n'].min()} or more repeats"
    subtitle = [shared_setting(runs), f"span {span}; {how}",
                "wall time, waiting included; each panel has a scale of its own", *notes]
    description = (
        f"Mean kernel time of a send in microseconds, span {span}, "
        f"{'divided into ' + labels.listed(order) if len(order) > 1 else 'not divided'}, for "
        f"{labels.listed(list(named.values()))}; panels: {'; '.join(panels)}. "
        f"{shared_setting(runs)}; {how}.")
    return Drawn(style.themed(_chart(found, named, panels, order), TITLE, subtitle, description),
                 TITLE, description, notes)


FIGURE = Figure("kernel-time", TITLE, draw)
