# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""From the table to what is said of it: medians, paired ratios, outliers, a row a cell.

Only complete runs count. Runs are compared under equal conditions only: on one machine, with
all of a load's options equal but the one that is compared. A pair is made of the runs of one
repeat, which interleaving puts close together.
"""

import numpy as np
import polars as pl

from analysis import judge, settings
from analysis.settings import columns
from analysis.stats import outliers
from analysis.stats.interval import medians as medians_of

LOAD = columns(settings.LOAD)
WAYS = columns(settings.WAYS)
CONDITIONS = columns(settings.MACHINE) + LOAD
CELL = CONDITIONS + WAYS
BLOCK = "block"


def _block(keys) -> pl.Expr:
    """Of frames in order of time: the repeat, and which of that name it is within its keys, where
    runs of several days hold it more than once."""
    return pl.format("{}.{}", "repeat", pl.int_range(pl.len()).over([*keys, "repeat"])).alias(BLOCK)


def usable(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Complete runs of a load that have the metric, each with the block that it is paired in.

    Runs of the same cell and repeat, of several days perhaps, are distinguished by their order.
    """
    frame = frame.filter(pl.col("complete") & pl.col(metric).is_not_null()
                         & pl.col("workload").is_not_null()).sort("started")
    return frame.with_columns(_block(CELL))


def comparable(frame: pl.DataFrame) -> pl.DataFrame:
    """Without the runs that something else on their machine disturbed too much."""
    return frame.filter(pl.col("disturbed").is_null())


def inflight_follows_size(frame: pl.DataFrame) -> bool:
    """Has each message size one number of messages in flight?"""
    return frame.group_by("message_bytes").agg(
        pl.col("inflight").n_unique().alias("n"))["n"].max() in (None, 1)


def medians(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """A row a cell: CELL, median (of the metric, in its unit), n, low, high, level (null with
    fewer than 5), outliers (how many runs are flagged; none is left out)."""
    return _per_cell(_cells(usable(frame, metric), metric), metric)


def _cells(frame, metric):
    """Cells with the list of their values, in order."""
    return frame.group_by(CELL).agg(pl.col(metric).cast(pl.Float64)).sort(CELL, nulls_last=True)


def _per_cell(cells, metric):
    """All cells of as many repeats at once: there may be very many."""
    count = len(cells)
    found = {name: np.full(count, np.nan) for name in ("median", "low", "high", "level")}
    n, flagged_runs = cells[metric].list.len().to_numpy(), np.zeros(count, dtype=int)
    for repeats in np.unique(n):
        at = np.flatnonzero(n == repeats)
        rows = np.array(cells[metric].gather(at).to_list())
        found["median"][at], low, high, reached = medians_of(rows)
        if reached is not None:
            found["low"][at], found["high"][at], found["level"][at] = low, high, reached
        flagged_runs[at] = outliers.flags(rows).sum(axis=1)
    return cells.select(CELL).with_columns(
        median=found["median"], n=pl.Series(n, dtype=pl.Int64),
        **{name: pl.Series(found[name], nan_to_null=True) for name in ("low", "high", "level")},
        outliers=pl.Series(flagged_runs, dtype=pl.Int64))


def paired_runs(runs: pl.DataFrame, keys: list[str], way: str, a, b, metric: str) -> pl.DataFrame:
    """keys, BLOCK, a, b, first_look: a row for each value of keys that has pairs, with lists of the
    blocks and of the positive values of the metric of both ways in them."""
    known = comparable(runs).filter(pl.col(metric) > 0).sort("started").with_columns(_block([*keys, way]))
    sides = [known.filter(pl.col(way) == value).select(
        *keys, BLOCK, pl.col(metric).cast(pl.Float64).alias(name), *more)
        for value, name, more in ((a, "a", ["first_look"]), (b, "b", []))]
    both = sides[0].join(sides[1], on=[*keys, BLOCK], nulls_equal=True)
    return both.sort([*keys, BLOCK]).group_by(keys, maintain_order=True).agg(
        BLOCK, "a", "b", pl.col("first_look").max())


def sample(pairs: dict, better: int = 1, grain: float = 0.0) -> judge.Sample:
    """Of a row of paired_runs."""
    return judge.paired(judge.ratio_logs(zip(pairs["a"], pairs["b"])), better, grain,
                        [int(block.partition(".")[0]) for block in pairs[BLOCK]], pairs["first_look"])


def paired_ratios(frame: pl.DataFrame, metric: str, a, b, way: str = "variant") -> list:
    """(conditions, Judgment of a / b), paired by block, for each condition that has pairs; a and b are
    two values of the column way, and the other columns of WAYS are equal."""
    others = CONDITIONS + [other for other in WAYS if other != way]
    found = paired_runs(usable(frame, metric), others, way, a, b, metric).sort(
        others, nulls_last=True).to_dicts()
    keys = [{key: row[key] for key in others} for row in found]
    return list(zip(keys, judge.judge_rows(list(map(sample, found)), rows(keys))))


# A row of comparisons is along the first of these that varies.
AXES = ("message_bytes", "connections", "threads")


def rows(cells: list[dict]) -> list[tuple]:
    """Which row each of these cells is in: what it has but for the axis of the row."""
    axis = next((axis for axis in AXES if len({cell.get(axis) for cell in cells}) > 1), None)
    return [tuple(value for key, value in cell.items()
                  if key != axis and (axis, key) not in FOLLOW) for cell in cells]


# What follows from the axis: connections are as many as threads, and memory in flight follows from sizes.
FOLLOW = {("threads", "connections"), ("message_bytes", "inflight")}


def flagged(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The runs whose metric is an outlier among the repeats of their cell: rows of the table."""
    frame = usable(frame, metric).with_row_index("_row")
    cells = frame.group_by(CELL).agg("_row", pl.col(metric).cast(pl.Float64))
    n, out = cells[metric].list.len().to_numpy(), []
    for repeats in np.unique(n):
        same = cells.filter(n == repeats)
        rows, values = (np.array(same[column].to_list()) for column in ("_row", metric))
        out += rows[outliers.flags(values)].tolist()
    return frame.filter(pl.col("_row").is_in(out)).drop(BLOCK, "_row")
