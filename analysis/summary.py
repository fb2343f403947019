# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""From the table to what is said of it: medians, paired ratios, outliers, a row a cell.

Only complete runs count. Runs are compared under equal conditions only: on one machine, with
all of a load's options equal but the one that is compared. A pair is made of the runs of one
repeat, which interleaving puts close together.
"""

import polars as pl

from analysis.compare import pairs, settings
from analysis.compare.settings import columns
from analysis.stats import interval, outliers

LOAD = columns(settings.LOAD)
WAYS = columns(settings.WAYS)
CONDITIONS = columns(settings.MACHINE) + LOAD
CELL = CONDITIONS + WAYS
BLOCK = "block"
# Of runs that a sweep made, the seed of their order.
_SESSION = pl.coalesce(pl.col("seed").cast(pl.String), "source_file", pl.lit("")).alias("_session")


def with_blocks(runs: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Runs in order of time, with the pair that each belongs to within its keys."""
    rows = runs.select(*keys, "repeat", _SESSION).iter_rows()
    return runs.with_columns(pl.Series(BLOCK, pairs.blocks((row[:-2], row[-2], row[-1]) for row in rows),
                                       dtype=pl.String))


def usable(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Complete runs of a load that have the metric, each with the block that it is paired in.

    Runs of the same cell and repeat, of several days perhaps, are distinguished by their order.
    """
    frame = frame.filter(pl.col("complete") & pl.col(metric).is_not_null()
                         & pl.col("workload").is_not_null()).sort("started")
    return with_blocks(frame, CELL)


def comparable(frame: pl.DataFrame) -> pl.DataFrame:
    """Without the runs that something else on their machine disturbed too much."""
    return frame.filter(pl.col("disturbed").is_null())


def inflight_follows_size(frame: pl.DataFrame) -> bool:
    """Has each message size one number of messages in flight?"""
    return frame.group_by("message_bytes").agg(
        pl.col("inflight").n_unique().alias("n"))["n"].max() in (None, 1)


def medians(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """A row a cell: CELL, median (of the metric, in its unit), n, low, high, level (null with
    fewer than 5), copied (the median share of zero-copy sends), outliers (how many runs are flagged;
    none is left out)."""
    runs = usable(frame, metric)
    cells = per_cell(runs, CELL, metric)
    copied = runs.group_by(CELL).agg(copied=pl.col("fallback_rate").median())
    return cells.drop(metric).join(copied, on=CELL, nulls_equal=True, maintain_order="left").with_columns(
        outliers=pl.Series([int(outliers.flags(values).sum()) for values in cells[metric]], dtype=pl.Int64))


def per_cell(runs: pl.DataFrame, keys: list[str], metric: str, scale: float = 1.0) -> pl.DataFrame:
    """A row a cell of these keys, in their order: the list of values of the metric x scale, n, and their
    median, low, high and level; the last three are null without an interval."""
    cells = runs.group_by(keys).agg(pl.col(metric).cast(pl.Float64) * scale).sort(keys, nulls_last=True)
    found = [interval.median(values) for values in cells[metric]]
    return cells.with_columns(
        n=pl.Series([one.n for one in found], dtype=pl.Int64),
        **{name: pl.Series([getattr(one, key) for one in found], dtype=pl.Float64) for name, key in (
            ("median", "value"), ("low", "low"), ("high", "high"), ("level", "level"))})


def compare(runs: pl.DataFrame, keys: list[str], column: str, ways: list[tuple], metric: str,
            better: int = 1) -> list[pairs.Comparison]:
    """The pairs (a, b) of values of a column compared in every cell (keys) that has both: see pairs.compare()."""
    rows = runs.sort("started").select(
        *keys, column, "repeat", _SESSION, pl.col("disturbed").is_not_null().alias("_disturbed"), "first_look",
        pl.col(metric).cast(pl.Float64).alias("_value")).iter_rows()
    return pairs.compare((pairs.Run(row[:len(keys)], *row[len(keys):]) for row in rows), keys, ways, better)


def flagged(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The runs whose metric is an outlier among the repeats of their cell: rows of the table."""
    frame = usable(frame, metric).with_row_index("_row")
    cells = frame.group_by(CELL).agg("_row", pl.col(metric).cast(pl.Float64))
    out = [row for rows, values in cells.select("_row", metric).iter_rows()
           for row, is_flagged in zip(rows, outliers.flags(values)) if is_flagged]
    return frame.filter(pl.col("_row").is_in(out)).drop(BLOCK, "_row")
