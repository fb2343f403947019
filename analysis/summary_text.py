# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The medians of every cell, for people. Pure."""

import polars as pl

from analysis import settings, summary, words
from analysis.columns import SHOWN
from analysis.stats.interval import FEWEST


def text(frame: pl.DataFrame, metric: str) -> str:
    """A line a cell: median, interval, repeats, level reached, outliers; below it what to know."""
    cells = summary.medians(frame, metric)
    if cells.is_empty():
        return f"no complete run of a load has {metric}\n"
    rows = cells.to_dicts()
    scale, shown = SHOWN[metric]
    same = settings.the_same([{key: row[key] for key in summary.CELL} for row in rows])
    lines = words.table(
        ["configuration", f"{metric} {shown}".strip(), "interval", "level", "repeats", "outliers", "copied"],
        [[settings.cell(row, same - {"variant"}) or "the load", words.number(row["median"] * scale),
          _interval(row, scale), words.level(row["level"]) if row["level"] else words.NOTHING,
          str(row["n"]), str(row["outliers"] or words.NOTHING), words.percent(row["copied"])]
         for row in rows])
    return lines + "\n" + _notes(frame, cells) + "\n"


def _interval(row, scale):
    if row["low"] is None:
        return words.NOTHING
    return f"{words.number(row['low'] * scale)} to {words.number(row['high'] * scale)}"


def _notes(frame, cells):
    said = [f"Medians of repeats; from fewer than {FEWEST} there is no interval."]
    if cells["outliers"].sum():
        said.append("Outliers are in the medians; among equal repeats one configuration in a "
                    "hundred has one.")
    failed = frame.filter(~pl.col("complete")).height
    if failed:
        said.append(f"{failed} runs that were interrupted or failed are left out.")
    return " ".join(said)
