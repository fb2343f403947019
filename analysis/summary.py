# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Summarizes the table: medians, paired ratios and outliers, with a row per configuration.

Only complete runs count. Runs are compared only under equal conditions: on one machine, with all options of
the load equal except the compared one. The two runs of a pair have the same repeat, and were made shortly after
one another.
"""

import polars as pl

from analysis.compare import pairs, settings
from analysis.compare.settings import columns
from analysis.stats import interval, outliers

CONDITIONS = columns((*settings.MACHINE, *settings.LOAD))
CONFIGURATION = CONDITIONS + columns(settings.WAYS)
BLOCK = "block"
# The seed of the order of a sweep's runs; for other runs, the file of the record.
_SESSION = pl.coalesce(pl.col("seed").cast(pl.String), "source_file", pl.lit("")).alias("_session")


def with_blocks(runs: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns the runs with a column BLOCK: the name of each run's pair, within equal keys. runs: in time order."""
    rows = runs.select(*keys, "repeat", _SESSION).iter_rows()
    return runs.with_columns(pl.Series(BLOCK, pairs.blocks((row[:-2], row[-2], row[-1]) for row in rows),
                                       dtype=pl.String))


def usable(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Returns the complete runs of loads that have the metric, with a column BLOCK, by which runs are paired.

    Runs of the same configuration and repeat, perhaps made on several days, are distinguished by their order.
    """
    frame = frame.filter(pl.col("complete") & pl.col(metric).is_not_null()
                         & pl.col("workload").is_not_null()).sort("started")
    return with_blocks(frame, CONFIGURATION)


def comparable(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the runs that other work on the machine did not disturb too much."""
    return frame.filter(pl.col("disturbed").is_null())


def inflight_follows_size(frame: pl.DataFrame) -> bool:
    """Returns whether all runs with the same message size have the same number of messages in flight."""
    return frame.group_by("message_bytes").agg(
        pl.col("inflight").n_unique().alias("n"))["n"].max() in (None, 1)


def medians(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Returns a row per configuration: the columns of CONFIGURATION, median (of the metric, in its unit) and n; low,
    high and level, which are null with fewer than 5 runs; copied, the median of the runs' copied shares; and outliers,
    the number of runs that are outliers. The median includes outliers."""
    runs = usable(frame, metric)
    found = per_configuration(runs, CONFIGURATION, metric)
    copied = runs.group_by(CONFIGURATION).agg(copied=pl.col("fallback_rate").median())
    return found.drop(metric).join(copied, on=CONFIGURATION, nulls_equal=True, maintain_order="left").with_columns(
        outliers=pl.Series([int(outliers.flags(values).sum()) for values in found[metric]], dtype=pl.Int64))


def per_configuration(runs: pl.DataFrame, keys: list[str], metric: str, scale: float = 1.0) -> pl.DataFrame:
    """Returns a row per configuration: the keys, the list of values of the metric x scale, n, and the values' median,
    low, high and level; low, high and level are null without an interval."""
    grouped = runs.group_by(keys).agg(pl.col(metric).cast(pl.Float64) * scale).sort(keys, nulls_last=True)
    found = [interval.median(values) for values in grouped[metric]]
    return grouped.with_columns(
        n=pl.Series([one.n for one in found], dtype=pl.Int64),
        **{name: pl.Series([getattr(one, key) for one in found], dtype=pl.Float64) for name, key in (
            ("median", "value"), ("low", "low"), ("high", "high"), ("level", "level"))})


def compare(runs: pl.DataFrame, keys: list[str], column: str, ways: list[tuple], metric: str,
            better: int = 1) -> list[pairs.Comparison]:
    """Compares pairs (a, b) of values of a column in each configuration (keys) that has both: see pairs.compare()."""
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
