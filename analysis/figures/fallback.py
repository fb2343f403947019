# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many zero-copy sends were copied after all, whether that was flagged, and why."""

import altair as alt
import polars as pl

from analysis import words
from analysis.figures import labels, lines, style
from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.cells import shared_setting, spread
from analysis.figures.over import threads_text

TITLE = "Zero-copy sends that the kernel copied after all"
KEYS = ["setting", "threads", "message_bytes", "variant"]
PARTS = ("flagged", "unflagged", "not copied")
CAUSES_SHOWN = 2
MOST_SIZES = 12


def parse_causes(text: str | None) -> dict[str, int]:
    """cause@device -> sends, of the table's "cause@device:sends;...". What is no count is 0."""
    found: dict[str, int] = {}
    for part in (text or "").split(";"):
        name, _, count = part.rpartition(":")
        if name:
            found[name] = found.get(name, 0) + (int(count) if count.isdigit() else 0)
    return found


def causes(texts: list[str | None]) -> list[tuple[str, int]]:
    """The causes of several runs together, most sends first."""
    total: dict[str, int] = {}
    for text in texts:
        for name, count in parse_causes(text).items():
            total[name] = total.get(name, 0) + count
    return sorted(total.items(), key=lambda item: (-item[1], item[0]))


def cause_text(name: str) -> str:
    """loopback on lo; the cause alone, where no device is known"""
    return name.removesuffix("@-").replace("@", " on ")


def told(found: list[tuple[str, int]]) -> str:
    """The first causes, in words: loopback on lo, and 3 more."""
    named = [cause_text(name) for name, _ in found[:CAUSES_SHOWN]]
    more = len(found) - len(named)
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def rates(runs: pl.DataFrame) -> pl.DataFrame:
    """KEYS, rate and its parts as shares of completed sends (0 to 1), sends, their causes, why.

    Repeats are summed: each send counts once. Where unflagged copies are not seen, all that is
    known to be copied is flagged, and the rest is only not known to be.
    """
    whole = runs.filter((pl.col("zc_completions") > 0) & pl.col("zc_copied").is_not_null())
    summed = whole.group_by(KEYS).agg(
        pl.col("zc_completions", "zc_copied", "zc_unflagged").sum(),
        pl.col("zc_unflagged").is_null().any().alias("unflagged_unseen"),
        pl.col("fallback_causes")).sort(KEYS)
    share = pl.col("zc_copied") / pl.col("zc_completions")
    unflagged = pl.col("zc_unflagged") / pl.col("zc_completions")
    return summed.with_columns(
        share.alias("rate"), (share - unflagged).alias("flagged"), unflagged.alias("unflagged"),
        (1 - share).alias("not copied"),
        _why(summed))


def _why(found: pl.DataFrame) -> pl.Series:
    return pl.Series("why", [told(causes(texts)) for texts in found["fallback_causes"].to_list()],
                     dtype=pl.String)


def collapsed(found: pl.DataFrame) -> pl.DataFrame:
    """found with a column size, in words; one row a variant and one panel where all sizes of all
    panels say the same: the same parts, for the same main reason."""
    size = pl.col("message_bytes").map_elements(style.size_text, return_dtype=pl.String)
    main = {tuple(name for name, _ in causes(texts)[:1])
            for texts in found["fallback_causes"].to_list()}
    if (found.select(PARTS).n_unique() > 1 or len(main) > 1
            or found["message_bytes"].n_unique() == 1):
        return found.with_columns(size.alias("size"))
    sizes = found["message_bytes"]
    one = found.with_columns(pl.lit("all").alias("panel")).group_by(
        "panel", "variant", maintain_order=True).agg(
        pl.col("zc_completions").sum(), pl.col("fallback_causes").explode(),
        pl.exclude("zc_completions", "fallback_causes").first()).with_columns(
        pl.lit(f"{style.size_text(sizes.min())} to {style.size_text(sizes.max())}").alias("size"))
    return one.with_columns(_why(one))


def _rows(found: pl.DataFrame) -> pl.DataFrame:
    """A row a part of a bar; the bar's name is its size, with the variant where several asked."""
    several = found["variant"].n_unique() > 1
    size = pl.col("size")
    bar = pl.concat_str([size, pl.col("variant")], separator=" ") if several else size
    text = pl.concat_str([pl.format("{} copied", pl.col("rate").map_elements(
        words.percent, return_dtype=pl.String)),
                          pl.when(pl.col("why") != "").then(pl.col("why"))],
                         separator=": ", ignore_nulls=True)
    return found.with_columns(bar.alias("bar"), text.alias("text")).unpivot(
        list(PARTS), index=["panel", "bar", "text", "zc_completions", "message_bytes"],
        variable_name="part", value_name="share").with_columns(
        (pl.col("share") * 100).alias("percent"),
        pl.col("part").replace_strict({p: i for i, p in enumerate(PARTS)},
                                      return_dtype=pl.Int64).alias("rank"))


def _chart(rows: pl.DataFrame, panels: list[str]) -> alt.TopLevelMixin:
    bars = rows.sort("message_bytes")["bar"].unique(maintain_order=True).to_list()
    parts = [part for part in PARTS
             if rows.filter((pl.col("part") == part) & (pl.col("share") > 0)).height]
    y = alt.Y("bar:N", sort=bars, title="size (bytes)",
              axis=alt.Axis(labelLimit=160, titlePadding=18))
    bar = alt.Chart().mark_bar(height=13, stroke=style.PAPER, strokeWidth=1).encode(
        y=y, x=alt.X("percent:Q", stack="zero", scale=alt.Scale(domain=[0, 100]),
                     title="completed zero-copy sends (%)"),
        color=alt.Color("part:N", title="copied by the kernel", sort=parts,
                        scale=style.color_scale(parts)),
        order=alt.Order("rank:Q"),
        tooltip=[alt.Tooltip("bar:N", title="message size"), alt.Tooltip("part:N"),
                 alt.Tooltip("percent:Q", title="% of sends", format=".4~g"),
                 alt.Tooltip("zc_completions:Q", title="completed sends", format=",d"),
                 alt.Tooltip("text:N", title="copied, and why")])
    # Colour is not all that tells the parts: the words stand on the bar.
    texts = alt.Chart().transform_filter(f"datum.part === '{PARTS[0]}'").mark_text(
        align="left", baseline="middle", dx=4, color=style.INK, fontSize=11).encode(
        y=y, x=alt.datum(100), text="text:N")
    layers = alt.layer(bar, texts).properties(width=230, height=alt.Step(22))
    return lines.in_panels(layers, rows, panels, 2)


def draw(data: Data) -> Drawn | NotDrawn:
    runs = data.sending
    found = rates(runs)
    if found.is_empty():
        return NotDrawn(TITLE, "no zero-copy send of these runs completed while its copies "
                               "could be counted")
    asked = runs.filter(pl.col("zc_completions").fill_null(0) > 0)
    found, panels, notes = lines.panels_of(found, [threads_text(), pl.col("setting")],
                                           ["setting", "threads"], runs.clear())
    bars, shown = collapsed(found), panels
    if bars.height < found.height:
        notes = (*notes, f"the same in each of: {'; '.join(panels)}") if len(panels) > 1 else notes
        shown = ["all"]
    else:
        sizes = spread(found["message_bytes"].to_list(), MOST_SIZES)
        left_out = found["message_bytes"].n_unique() - len(sizes)
        bars = bars.filter(pl.col("message_bytes").is_in(sizes))
        if left_out:
            notes = (*notes, f"{left_out} of {left_out + len(sizes)} sizes are left out of the "
                             "picture")
    if found["unflagged_unseen"].any():
        notes = (*notes, "copies without a flag were not seen in all runs: rates may be higher")
    why = told(causes(asked["fallback_causes"].to_list())) or "none named"
    description = (
        f"Bars of 0 to 100 % of completed zero-copy sends by message size: "
        f"{labels.copied(asked) or 'none copied'}; causes: {why}; panels: {'; '.join(panels)}. "
        f"{shared_setting(asked)}; sends of all repeats together.")
    subtitle = [shared_setting(asked), "counted per send, all repeats together: no sample, so no "
                "interval", *notes]
    return Drawn(style.themed(_chart(_rows(bars), shown), TITLE, subtitle, description), TITLE,
                 description, notes)


FIGURE = Figure("fallback", TITLE, draw)
