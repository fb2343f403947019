# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Words that figures and the report share. Each label of zero-copy sends includes the share that was copied."""

import polars as pl

from analysis import words
from analysis.tables.variants import in_order


_COPIED = ((pl.col("zc_requests").fill_null(0) > 0).any().alias("asked"),
           pl.col("fallback_rate").min().alias("low"), pl.col("fallback_rate").max().alias("high"))


def copied_label(runs: pl.DataFrame) -> str:
    """Returns, in words, the copied share of these runs' zero-copy sends; "" if none was copied, or there are none.

    The share is the range of the runs' measured rates.
    """
    return _label(*runs.select(_COPIED).row(0))


def copied_by(runs: pl.DataFrame, keys: list[str]) -> dict[tuple, str]:
    """Returns copied_label() of each group of runs with equal values of keys, by these values."""
    return {tuple(row[:-3]): _label(*row[-3:]) for row in runs.group_by(keys).agg(_COPIED).iter_rows()}


def _label(asked: bool, low: float | None, high: float | None) -> str:
    if not asked:
        return ""
    if low is None:
        return "copied: not measured"
    if high == 0:
        return ""
    if low == high:
        return f"{words.percent(low)} copied"
    return f"{words.percent(low)} to {words.percent(high)} copied"


def variants(runs: pl.DataFrame, column: str = "variant") -> dict[str, str]:
    """Returns each variant's label: its name, and the share of its sends that was copied in these runs."""
    return {name: f"{name} ({what})" if (what := copied_label(runs.filter(pl.col(column) == name))) else name
            for name in in_order(runs[column].unique().to_list())}


def intervals(cells: pl.DataFrame) -> str:
    """Returns the caption for the bars of these configurations: the confidence level and the number of repeats."""
    bars = cells.filter(pl.col("level").is_not_null())
    few = cells["n"].min()
    if bars.is_empty():
        return f"points: medians; no intervals, because none has 5 repeats (the fewest: {few})"
    level = bars["level"].min()
    counts = sorted(set(bars["n"].to_list()))
    repeats = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    text = f"points: medians of {repeats} repeats; bars: their {level * 100:.3g} % intervals"
    if few < 5:
        text += " (none with fewer than 5 repeats)"
    return text


def counts_text(values: list[int], unit: str) -> str:
    """Returns "1 thread" or "1, 2 and 4 threads"."""
    return f"{words.listed([str(value) for value in values])} {unit}" + ("" if values == [1] else "s")
