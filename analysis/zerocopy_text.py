# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Does zero-copy pay off in each of two result sets, and was it zero-copy at all? Pure."""

import polars as pl

from analysis import settings, summary, words

METRIC, WAY, BASELINE = "throughput_bps", "zerocopy", "twocopy"


def sides(a: pl.DataFrame, b: pl.DataFrame) -> list[str]:
    """A table for each set that has both ways of sending, as text; none if neither has."""
    return [one for name, frame in (("A", a), ("B", b)) if (one := side(name, frame))]


def compared(frame: pl.DataFrame) -> list[summary.Comparison]:
    """The two ways under equal conditions."""
    return summary.compare(summary.usable(frame, METRIC), [*summary.CONDITIONS, "server_model"], "variant",
                           [(WAY, BASELINE)], METRIC)


def side(name: str, frame: pl.DataFrame) -> str:
    """Zero-copy's throughput over two-copy's, cell by cell, and how much was copied, and why."""
    found = compared(frame)
    if not found:
        return ""
    same = settings.the_same([one.cell for one in found]) - {"message_bytes"}
    rows = [[settings.cell(one.cell, same), words.interval(one.judgment), *copied(frame, one.cell)] for one in found]
    return words.table([f"in {name}", f"throughput, {WAY} / {BASELINE}", "copied"], rows)


def copied(frame: pl.DataFrame, conditions: dict) -> list[str]:
    """The share of zero-copy sends under these conditions that were copied, and causes."""
    runs = summary.usable(frame, METRIC).filter(
        pl.col("variant") == WAY,
        *(pl.col(column).eq_missing(value) for column, value in conditions.items()))
    rate = runs["fallback_rate"].median()
    if rate is None:
        return ["not known"]
    causes = sorted({cause.rpartition(":")[0] for text in runs["fallback_causes"].drop_nulls()
                     for cause in text.split(";") if cause})
    return [f"{words.percent(rate)} copied" + (f": {', '.join(causes)}" if causes else "")]
