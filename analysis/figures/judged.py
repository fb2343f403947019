# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two ways of doing the same, cell by cell, by pairs of runs of one repeat; judge.py decides."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import altair as alt
import numpy as np
import polars as pl

from analysis import judge
from analysis.figures import over, style
from analysis.figures.base import Data
from analysis.stats import crossover, interval
from analysis.stats.interval import Estimate
from analysis.summary import paired_runs, rows, sample

MARGIN = f"{100 * judge.MARGIN:g} %"


@dataclass(frozen=True)
class Comparison:
    """a / b of a metric in one cell. logs: of the pairs' ratios; blocks: which repeat each is of. first_look:
    of a sequential experiment. Medians of runs: None where the pairs of several cells are one sample."""
    cell: dict[str, object]
    a: object
    b: object
    judgment: judge.Judgment
    logs: tuple[float, ...]
    blocks: tuple[str, ...]
    median_a: Estimate | None
    median_b: Estimate | None
    first_look: int | None = None

    @property
    def verdict(self) -> str:
        return self.judgment.verdict


def compare(runs: pl.DataFrame, keys: list[str], column: str, pairs: list[tuple], metric: str,
            better: int = 1, grain: float = 0.0) -> list[Comparison]:
    """The pairs (a, b) of values of a column compared in every cell (keys) that has both; a pair's along a
    row are one family. better: 1 more is, -1 less is. grain: see judge.Sample."""
    found = [(a, b, {key: row[key] for key in keys}, row) for a, b in pairs
             for row in paired_runs(runs, keys, column, a, b, metric).to_dicts()]
    logs = [judge.ratio_logs(zip(row["a"], row["b"])) for *_, row in found]
    families = [(a, b, row) for (a, b, *_), row in zip(found, rows([cell for *_, cell, _ in found]))]
    judged = judge.judge_rows([sample(row, better, grain) for *_, row in found], families)
    return [Comparison(cell, a, b, one, tuple(some), tuple(row["block"]),
                       interval.median(row["a"]), interval.median(row["b"]), row["first_look"])
            for (a, b, cell, row), some, one in zip(found, logs, judged)]


def pooled(found: list[Comparison], over: str) -> list[Comparison]:
    """Cells that differ in one column alone as one: all their pairs in one test. [] where there is nothing
    to pool, or where two of them contradict each other."""
    groups: dict[tuple, list[Comparison]] = {}
    for one in found:
        cell = {key: value for key, value in one.cell.items() if key != over}
        groups.setdefault((one.a, one.b, *cell.items()), []).append(one)
    if all(len(group) < 2 for group in groups.values()) or any(
            {judge.BETTER, judge.WORSE} <= {c.verdict for c in group} for group in groups.values()):
        return []
    made = [dataclasses.replace(
        group[0], cell={key: value for key, value in group[0].cell.items() if key != over},
        logs=tuple(log for c in group for log in c.logs), median_a=None, median_b=None,
        blocks=tuple(f"{block}.{c.cell[over]}" for c in group for block in c.blocks)) for group in groups.values()]
    samples = [judge.paired(c.logs, 1, 0.0, [int(block.partition(".")[0]) for block in c.blocks], c.first_look)
               for c in made]
    families = [(c.a, c.b, row) for c, row in zip(made, rows([c.cell for c in made]))]
    return [dataclasses.replace(c, judgment=one) for c, one in zip(made, judge.judge_rows(samples, families))]


@dataclass(frozen=True)
class Kind:
    """What a grid compares. way: the column whose values are compared; along: the column of the axis, rest:
    the other columns of a configuration; texts: what a row of it is called."""
    name: str
    runs: Callable[[Data], pl.DataFrame]
    way: str
    words: str
    metric: str
    what: str
    along: str
    rest: tuple[str, ...]
    texts: tuple[pl.Expr, ...]
    axis: Callable[[list[int]], alt.X]
    say: Callable[[float], str]
    unit: str

    def x(self, cell: dict[str, object]) -> float:
        """Where it is along the axis."""
        return cell[self.along] / (cell["field_size_bytes"] if "field_size_bytes" in self.rest else 1)

    def about(self, value: float) -> str:
        """A place between those tried, two digits of it: 9.8K."""
        if self.name != "sizes":
            return f"{value:.2g}"
        unit = 1 << 20 if value >= 1 << 20 else 1024 if value >= 1024 else 1
        return style.size_text(unit * float(f"{value / unit:.2g}"))

    def compare(self, data: Data) -> list[Comparison]:
        """All against the first, as style.LOOKS orders them."""
        runs = self.runs(data)
        names = style.order(runs[self.way].drop_nulls().unique().to_list()) if runs.height else []
        return compare(runs, [*self.rest, self.along], self.way, [(name, names[0]) for name in names[1:]],
                       self.metric)


_RECORD = pl.format("records of {} bytes", pl.col("field_size_bytes").map_elements(
    style.size_text, return_dtype=pl.String))
KINDS = (
    Kind("records", over.of_records, "variant", "send variant", "throughput_bps", "throughput",
         "message_bytes", ("setting", "field_size_bytes", "threads"),
         (_RECORD, pl.when(pl.col("threads") > 1).then(over.threads_text()).otherwise(pl.lit("")), pl.col("setting")),
         lambda counts: style.linear_axis(counts, "records of a message"), "{:g}".format, "records"),
    Kind("sizes", over.by_size, "variant", "send variant", "throughput_bps", "throughput",
         "message_bytes", ("setting", "threads"), (over.threads_text(), pl.col("setting")),
         style.size_axis, style.size_text, "bytes a message"),
    Kind("servers", lambda data: data.serving, "server_model", "server model", "messages_per_s",
         "requests per second", "connections", ("setting",), (pl.col("setting"),),
         lambda counts: style.count_axis(counts, "connections at once"), "{:g}".format, "connections"),
)


def log_table(found: list[Comparison]) -> np.ndarray:
    """A row a block, a column a comparison: log(a / b), NaN where a block lacks it."""
    blocks = sorted({block for c in found for block in c.blocks})
    logs = np.full((len(blocks), len(found)), np.nan)
    for column, comparison in enumerate(found):
        for block, value in zip(comparison.blocks, comparison.logs):
            logs[blocks.index(block), column] = value
    return logs


def crossovers(kind: Kind, found: list[Comparison]) -> dict[tuple, list[crossover.Crossing]]:
    """By (a, the rest of the configuration): where along the axis one overtakes the other."""
    groups: dict[tuple, list[Comparison]] = {}
    for one in found:
        groups.setdefault((one.a, *(one.cell.get(key) for key in kind.rest)), []).append(one)
    return {key: crossover.find([kind.x(c.cell) for c in group], log_table(group),
                                [c.judgment for c in group]) for key, group in groups.items()}
