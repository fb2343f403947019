# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Draws the kernel time of a send, divided into stages if the record has them."""

import altair as alt
import polars as pl

from analysis import stages, words
from analysis.figures import labels, lines, style
from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.cells import cells, shared_setting, spans, spread
from analysis.figures.over import SIZE, Metric, draw_over, size_text, threads_text

TITLE = "Kernel time of a send"
ERROR_QUEUE = "reading completions"
OTHER = "other stages"
SMALL = 0.005
MEAN = Metric("send_mean_ns", "mean kernel time of a send (µs)", 1e-3)
KEYS = ["setting", "threads", "message_bytes", "variant"]


def times(runs: pl.DataFrame, data: Data) -> pl.DataFrame:
    """Returns run_id, stage, ns and bytes: the means of each run. If reading completions was measured, which happens
    outside of sends, it is a stage of its own.
    """
    divided = stages.per_send(data.details.stages.join(runs.select("run_id"), on="run_id", how="semi"))
    queue = runs.filter(pl.col("error_queue_ns_per_send").is_not_null()).select(
        "run_id", pl.lit(ERROR_QUEUE).alias("stage"), pl.col("error_queue_ns_per_send").alias("ns"),
        pl.lit(None, dtype=pl.Float64).alias("bytes"))
    return pl.concat([divided, queue.join(divided, on="run_id", how="semi")])


def _without_small(found: pl.DataFrame) -> pl.DataFrame:
    """Adds up the stages that are small in every bar, as one stage."""
    share = found.select("stage", pl.col("median") / pl.col("median").sum().over(KEYS))
    large = share.group_by("stage").agg(pl.col("median").max()).filter(pl.col("median") >= SMALL)["stage"]
    small = found.filter(~pl.col("stage").is_in(large.implode()))
    if small["stage"].n_unique() < 2:
        return found.filter(pl.col("median") > 0)
    joined = small.group_by(KEYS, maintain_order=True).agg(pl.col("median").sum(), pl.col("n").min())
    rest = found.filter(pl.col("stage").is_in(large.implode()))
    return pl.concat([rest, joined.with_columns(pl.lit(OTHER).alias("stage"))], how="diagonal")


def _order(names: list[str]) -> list[str]:
    """Returns the stages in the order of a send, in which bars stack them upwards; unknown names come last."""
    known = [stage.name for stage in stages.STAGES]
    known.insert(known.index("blocked"), OTHER)
    return sorted(names, key=lambda s: (known.index(s) if s in known else len(known), s))


def _letter(name: str) -> str:
    return stages.OF_NAME[name].letter.strip() if name in stages.OF_NAME else ""


def _word(name: str) -> str:
    return f"{_letter(name)} {stages.words(name)}".strip()


def _stacked(found: pl.DataFrame) -> pl.DataFrame:
    """Adds where each stage's part of a bar begins and ends, and the stage's letter if the part has room for it."""
    found = found.sort("rank").with_columns(pl.col("median").cum_sum().over(KEYS).alias("top")).with_columns(
        (pl.col("top") - pl.col("median")).alias("bottom"))
    highest = found.group_by("panel").agg(pl.col("top").max().alias("highest"))
    return found.join(highest, on="panel", maintain_order="left").with_columns(
        pl.when(pl.col("median") > 0.05 * pl.col("highest")).then(pl.col("letter")).otherwise(
            pl.lit("")).alias("letter"), ((pl.col("top") + pl.col("bottom")) / 2).alias("middle"))


def _stacked_chart(found: pl.DataFrame, named: dict[str, str], panels: list[str],
           order: list[str], width: int) -> alt.TopLevelMixin:
    found = _stacked(found.with_columns(
        pl.col("variant").replace_strict(named, return_dtype=pl.String).alias("label"),
        pl.col("stage").map_elements(_letter, return_dtype=pl.String).alias("letter"),
        pl.col("stage").map_elements(_word, return_dtype=pl.String).alias("word"),
        pl.col("stage").replace_strict({s: i for i, s in enumerate(order)},
                                       return_dtype=pl.Int64).alias("rank")))
    x = alt.X("label:N", sort=list(named.values()), title=None, axis=alt.Axis(labelAngle=-30, labelLimit=180))
    tooltip = [alt.Tooltip("label:N", title="send variant"),
               alt.Tooltip("message_bytes:Q", title="message size (bytes)", format=",d"),
               alt.Tooltip("word:N", title="stage"),
               alt.Tooltip("text:N", title="µs"), alt.Tooltip("n:Q", title="repeats")]
    domain = [_word(name) for name in order]
    colors = [stages.OF_NAME.get(name, look).color for name, look in zip(order, style.looks_of(order))]
    bars = alt.Chart().mark_bar(stroke=style.PAPER, strokeWidth=0.8, width=26).encode(
        x=x, y=alt.Y("bottom:Q", title="kernel time of a send (µs)",
                     scale=alt.Scale(zero=True, nice=False),
                     axis=alt.Axis(format=",.6~g", labelBound=6)), y2="top:Q",
        color=alt.Color("word:N", title="stage, from below", sort=domain,
                        scale=alt.Scale(domain=domain, range=colors)),
        tooltip=tooltip)
    layered = [bars]
    if any(map(_letter, order)):
        layered.append(alt.Chart().transform_filter("datum.letter").mark_text(
            color="#000000", fontSize=9).encode(x=x, y="middle:Q", text="letter:N"))
    drawn = lines.in_panels(alt.layer(*layered).properties(height=240), found, panels, width, 170)
    return drawn if len(panels) == 1 else drawn.resolve_scale(y="independent")


def draw_kernel_time(data: Data, width: int) -> Drawn | NotDrawn:
    ids = data.details.stages["run_id"].unique().implode()
    runs = data.sending.filter(pl.col("send_span").is_not_null() & pl.col("run_id").is_in(ids))
    span, *others = spans(data.sending if runs.is_empty() else runs, "send_span") or [None]
    not_drawn = (f"not drawn: times of the span {', '.join(others)}",) if others else ()
    if runs.is_empty():
        return draw_over(Data(data.runs.filter(pl.col("send_span").eq_missing(pl.lit(span)))), SIZE, TITLE, [MEAN],
                         "no run timed its sends in the kernel", width, ((f"span {span}",) if span else ()) + not_drawn)
    runs = runs.filter(pl.col("send_span") == span)
    runs = runs.filter(pl.col("message_bytes").is_in(spread(runs["message_bytes"].to_list(), 4))
                       & pl.col("threads").is_in(spread(runs["threads"].to_list(), 2)))
    timed = times(runs, data).join(runs.select("run_id", *KEYS), on="run_id")
    found = _without_small(cells(timed, [*KEYS, "stage"], "ns", 1e-3))
    found, panels, notes = lines.panels_of(
        found, [size_text(), threads_text(), pl.col("setting")],
        ["setting", "threads", "message_bytes"], runs)
    notes = (*not_drawn, *notes)
    order = _order(found["stage"].unique().to_list())
    named = labels.variants(runs)
    how = f"span {span}; bars: medians of {found['n'].min()} or more repeats"
    subtitle = [shared_setting(runs), how, "time on the CPU from below, above it (pale) what passed off it; "
                "each panel has a scale of its own", *notes]
    description = (
        f"Mean kernel time of a send in microseconds, divided into "
        f"{words.listed([stages.words(name) for name in order])}, for "
        f"{words.listed(list(named.values()))}; panels: {'; '.join(panels)}. "
        f"{shared_setting(runs)}; {how}.")
    return Drawn(style.themed(_stacked_chart(found, named, panels, order, width), TITLE, subtitle, description, width),
                 TITLE, description, notes)


FIGURE = Figure("kernel-time", draw_kernel_time)
