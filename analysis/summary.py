# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Summarizes the table: medians, paired ratios and outliers, a row per configuration.

Only complete runs count. Runs are compared only under equal conditions: on one machine, with all options of
the load equal except the compared one. A pair has two runs of the same repeat, made shortly after one another.
"""

import polars as pl

from analysis.compare import pairs, settings
from analysis.compare.settings import columns
from analysis.stats import interval, outliers

LOAD = columns(settings.LOAD)
WAYS = columns(settings.WAYS)
CONDITIONS = columns(settings.MACHINE) + LOAD
CONFIGURATION = CONDITIONS + WAYS
BLOCK = "block"
# The seed of the order of a sweep's runs; for other runs, the file.
_SESSION = pl.coalesce(pl.col("seed").cast(pl.String), "source_file", pl.lit("")).alias("_session")


def with_blocks(runs: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns the runs with the name of the pair of each, within its keys. runs: in order of time."""
    rows = runs.select(*keys, "repeat", _SESSION).iter_rows()
    return runs.with_columns(pl.Series(BLOCK, pairs.blocks((row[:-2], row[-2], row[-1]) for row in rows),
                                       dtype=pl.String))


def usable(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Returns the complete runs of loads that have the metric, each with its block, which pairs runs.

    Runs of the same configuration and repeat, perhaps of several days, are distinguished by their order.
    """
    frame = frame.filter(pl.col("complete") & pl.col(metric).is_not_null()
                         & pl.col("workload").is_not_null()).sort("started")
    return with_blocks(frame, CONFIGURATION)


def comparable(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the runs that other work on their machine did not disturb too much."""
    return frame.filter(pl.col("disturbed").is_null())


def inflight_follows_size(frame: pl.DataFrame) -> bool:
    """Returns whether each message size has one number of messages in flight."""
    return frame.group_by("message_bytes").agg(
        pl.col("inflight").n_unique().alias("n"))["n"].max() in (None, 1)


def medians(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Returns a row per configuration: its columns, median (of the metric, in its unit), n, low, high, level (null with
    fewer than 5), copied (the median share of zero-copy sends), outliers (the number of flagged runs, which are not
    left out)."""
    runs = usable(frame, metric)
    found = per_configuration(runs, CONFIGURATION, metric)
    copied = runs.group_by(CONFIGURATION).agg(copied=pl.col("fallback_rate").median())
    return found.drop(metric).join(copied, on=CONFIGURATION, nulls_equal=True, maintain_order="left").with_columns(
        outliers=pl.Series([int(outliers.flags(values).sum()) for values in found[metric]], dtype=pl.Int64))


def per_configuration(runs: pl.DataFrame, keys: list[str], metric: str, scale: float = 1.0) -> pl.DataFrame:
    """Returns a row per configuration, by keys: the list of values of the metric x scale, n, and their median, low,
    high and level; the last three are null without an interval."""
    grouped = runs.group_by(keys).agg(pl.col(metric).cast(pl.Float64) * scale).sort(keys, nulls_last=True)
    found = [interval.median(values) for values in grouped[metric]]
    return grouped.with_columns(
        n=pl.Series([one.n for one in found], dtype=pl.Int64),
        **{name: pl.Series([getattr(one, key) for one in found], dtype=pl.Float64) for name, key in (
            ("median", "value"), ("low", "low"), ("high", "high"), ("level", "level"))})


def compare(runs: pl.DataFrame, keys: list[str], column: str, ways: list[tuple], metric: str,
            better: int = 1) -> list[pairs.Comparison]:
    """Compares the pairs (a, b) of values of a column in each configuration (keys) that has both: see
    pairs.compare()."""
    rows = runs.sort("started").select(
        *keys, column, "repeat", _SESSION, pl.col("disturbed").is_not_null().alias("_disturbed"), "first_look",
        pl.col(metric).cast(pl.Float64).alias("_value")).iter_rows()
    return pairs.compare((pairs.Run(row[:len(keys)], *row[len(keys):]) for row in rows), keys, ways, better)


def flagged(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Returns the rows of runs whose metric is an outlier among the repeats of their configuration."""
    frame = usable(frame, metric).with_row_index("_row")
    repeats = frame.group_by(CONFIGURATION).agg("_row", pl.col(metric).cast(pl.Float64))
    out = [row for rows, values in repeats.select("_row", metric).iter_rows()
           for row, is_flagged in zip(rows, outliers.flags(values)) if is_flagged]
    return frame.filter(pl.col("_row").is_in(out)).drop(BLOCK, "_row")
