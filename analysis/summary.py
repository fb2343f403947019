# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""From the table to what is said of it: medians, paired ratios, outliers, a row a cell.

Only complete runs count. Runs are compared under equal conditions only: on one machine, with
all of a load's options equal but the one that is compared. A pair is made of the runs of one
repeat, which interleaving puts close together.
"""

import dataclasses

import polars as pl

from analysis import judge, settings
from analysis.settings import columns
from analysis.stats import interval, outliers

LOAD = columns(settings.LOAD)
WAYS = columns(settings.WAYS)
CONDITIONS = columns(settings.MACHINE) + LOAD
CELL = CONDITIONS + WAYS
BLOCK = "block"


def _block(keys) -> pl.Expr:
    """Of frames in order of time: the repeat, and of which session it is, by the seed of its order or else
    by its file; and which of that name it is within its keys, where a session holds it more than once; of
    foreign records without repeats, by their order."""
    session = pl.coalesce(pl.col("seed").cast(pl.String), "source_file", pl.lit(""))
    place = pl.int_range(pl.len()).over([*keys, "repeat", session])
    return pl.format("{}.{}.{}", pl.col("repeat").fill_null(0), place, session).alias(BLOCK)


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


def paired_runs(runs: pl.DataFrame, keys: list[str], way: str, a, b, metric: str) -> pl.DataFrame:
    """keys, BLOCK, a, b, first_look: a row for each value of keys that has pairs, with lists of the
    blocks and of the positive values of the metric of both ways in them."""
    # Blocks first: without a disturbed run, a later one of its repeat would take its place in the pair.
    known = comparable(runs.sort("started").with_columns(_block([*keys, way]))).filter(pl.col(metric) > 0)
    sides = [known.filter(pl.col(way) == value).select(
        *keys, BLOCK, pl.col(metric).cast(pl.Float64).alias(name), *more)
        for value, name, more in ((a, "a", ["first_look"]), (b, "b", []))]
    both = sides[0].join(sides[1], on=[*keys, BLOCK], nulls_equal=True)
    return both.sort([*keys, BLOCK]).group_by(keys, maintain_order=True).agg(
        BLOCK, "a", "b", pl.col("first_look").max())


@dataclasses.dataclass(frozen=True)
class Comparison:
    """a / b of a metric in one cell. logs: of the pairs' ratios; blocks: which repeat each is of. first_look:
    of a sequential experiment. Medians of runs: None where the pairs of several cells are one sample."""
    cell: dict[str, object]
    a: object
    b: object
    judgment: judge.Judgment
    logs: tuple[float, ...]
    blocks: tuple[str, ...]
    median_a: interval.Estimate | None
    median_b: interval.Estimate | None
    first_look: int | None = None

    @property
    def verdict(self) -> str:
        return self.judgment.verdict

    def sample(self, better: int = 1) -> judge.Sample:
        return judge.paired(self.logs, better, repeats=[int(block.partition(".")[0]) for block in self.blocks],
                            first_look=self.first_look)


def _with_field_size(cell: dict) -> dict:
    return cell | ({"field_size_bytes": cell["message_bytes"] / cell["fields"]} if cell.get("fields") else {})


def _judged(found: list[Comparison], better: int = 1) -> list[Comparison]:
    """The comparisons with their judgments; a pair's along a row are one family."""
    families = [(c.a, c.b, row) for c, row in zip(found, judge.rows([_with_field_size(c.cell) for c in found]))]
    judged = judge.judge_rows([c.sample(better) for c in found], families)
    return [dataclasses.replace(c, judgment=one) for c, one in zip(found, judged)]


def compare(runs: pl.DataFrame, keys: list[str], column: str, pairs: list[tuple], metric: str,
            better: int = 1) -> list[Comparison]:
    """The pairs (a, b) of values of a column compared in every cell (keys) that has both; a pair's along a
    row are one family. better: 1 more is, -1 less is."""
    return _judged([
        Comparison({key: row[key] for key in keys}, a, b, None, tuple(judge.ratio_logs(zip(row["a"], row["b"]))),
                   tuple(row[BLOCK]), interval.median(row["a"]), interval.median(row["b"]), row["first_look"])
        for a, b in pairs for row in paired_runs(runs, keys, column, a, b, metric).to_dicts()], better)


def pooled(found: list[Comparison], over: str) -> list[Comparison]:
    """Cells that differ in one column alone as one: all their pairs in one test. [] where there is nothing
    to pool, or where two of them contradict each other."""
    groups: dict[tuple, list[Comparison]] = {}
    for one in sorted(found, key=lambda c: [(value is None, value) for key, value in c.cell.items() if key != over]):
        cell = {key: value for key, value in one.cell.items() if key != over}
        groups.setdefault((one.a, one.b, *cell.items()), []).append(one)
    if all(len(group) < 2 for group in groups.values()) or any(
            {judge.BETTER, judge.WORSE} <= {c.verdict for c in group} for group in groups.values()):
        return []
    return _judged([dataclasses.replace(
        group[0], cell={key: value for key, value in group[0].cell.items() if key != over}, median_a=None,
        first_look=max((c.first_look or 0 for c in group)) or None,
        median_b=None, logs=tuple(log for c in group for log in c.logs),
        blocks=tuple(f"{block}.{c.cell[over]}" for c in group for block in c.blocks)) for group in groups.values()])


def flagged(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The runs whose metric is an outlier among the repeats of their cell: rows of the table."""
    frame = usable(frame, metric).with_row_index("_row")
    cells = frame.group_by(CELL).agg("_row", pl.col(metric).cast(pl.Float64))
    out = [row for rows, values in cells.select("_row", metric).iter_rows()
           for row, is_flagged in zip(rows, outliers.flags(values)) if is_flagged]
    return frame.filter(pl.col("_row").is_in(out)).drop(BLOCK, "_row")
