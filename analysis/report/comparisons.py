# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two ways of doing the same compared, cell by cell, by pairs of runs of one repeat."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from analysis import judge
from analysis.figures import labels
from analysis.report import text
from analysis.stats import interval
from analysis.stats.interval import Estimate
from analysis.summary import paired_runs, rows, sample


@dataclass(frozen=True)
class Comparison:
    """a / b of a metric in one cell. family: how many were judged together.

    logs: of the pairs' ratios; blocks: which repeat each is of.
    """
    cell: dict[str, object]
    a: str
    b: str
    estimate: judge.Judgment
    family: int
    logs: tuple[float, ...]
    blocks: tuple[str, ...]
    median_a: Estimate
    median_b: Estimate

    @property
    def sign(self) -> int:
        """1: a is significantly more, -1: significantly less, 0: the same, or inconclusive."""
        return judge.SIGNS[self.estimate.verdict]  # better is more, here


def compare(runs: pl.DataFrame, keys: list[str], column: str, pairs: list[tuple],
            metric: str, grain: float = 0.0) -> list[Comparison]:
    """The pairs (a, b) of values of a column compared in every cell (keys) that has both.

    The comparisons of a pair along a row are one family. grain: see judge.Sample.
    """
    found = [(a, b, {key: row[key] for key in keys}, row) for a, b in pairs
             for row in paired_runs(runs, keys, column, a, b, metric).to_dicts()]
    logs = [judge.ratio_logs(zip(row["a"], row["b"])) for *_, row in found]
    families = [(a, b, row) for (a, b, *_), row in zip(found, rows([cell for *_, cell, _ in found]))]
    judged = judge.judge_rows([sample(row, grain=grain) for *_, row in found], families)
    sizes = Counter(families)
    return [Comparison(cell, a, b, one, sizes[family], tuple(some), tuple(row["block"]),
                       interval.median(row["a"]), interval.median(row["b"]))
            for (a, b, cell, row), some, family, one in zip(found, logs, families, judged)]


def log_table(found: list[Comparison]) -> np.ndarray:
    """A row a block, a column a comparison: log(a / b), NaN where a block lacks it."""
    blocks = sorted({block for c in found for block in c.blocks})
    logs = np.full((len(blocks), len(found)), np.nan)
    for column, comparison in enumerate(found):
        for block, value in zip(comparison.blocks, comparison.logs):
            logs[blocks.index(block), column] = value
    return logs


def verdict(comparison: Comparison, more: str = "faster", less: str = "slower") -> str:
    """faster, slower, the same, or that these repeats do not say."""
    found = comparison.estimate
    return {judge.BETTER: more, judge.WORSE: less, judge.SAME: f"the same within {MARGIN}"}.get(
        found.verdict, f"inconclusive: {found.reason}")


MARGIN = f"{100 * judge.MARGIN:g} %"


def rest(found: list[Comparison]) -> list[str]:
    """How many are no difference, and of how many nothing is known."""
    counts = Counter(c.estimate.verdict for c in found)
    return [f"{words} in {counts[verdict_]}" for verdict_, words in (
        (judge.SAME, f"the same within {MARGIN}"), (judge.INCONCLUSIVE, "inconclusive")) if counts[verdict_]]


def extremes(found: list[Comparison], where: Callable[[Comparison], str]) -> str:
    """The least and the greatest ratio that has an interval, and where; "" if none has."""
    known = sorted((c for c in found if c.estimate.has_interval), key=lambda c: c.estimate.value)
    return " to ".join(dict.fromkeys(f"{text.times(c.estimate)} {where(c)}"
                                     for c in (known[:1] + known[-1:])))


def cell_runs(runs: pl.DataFrame, cell: dict[str, object]) -> pl.DataFrame:
    """The runs of a cell, null equal to null."""
    return runs.filter(pl.all_horizontal(
        [pl.col(key).eq_missing(pl.lit(value)) for key, value in cell.items()]))


def copied(runs: pl.DataFrame, found: list[Comparison], column: str = "variant") -> list[str]:
    """Of each comparison, what was copied of the sends of its a."""
    if not found:
        return []
    words = labels.copied_by(runs, [*found[0].cell, column])
    return [words.get((*c.cell.values(), c.a), "") for c in found]


def named(runs: pl.DataFrame, cell: dict[str, object], variant: str) -> str:
    """The variant with what was copied of its sends in this cell."""
    return labels.variants(cell_runs(runs, {**cell, "variant": variant})).get(variant, variant)


def note(found: list[Comparison]) -> str:
    """What intervals and significant mean, for below a table."""
    families = sorted({c.family for c in found})
    sizes = " or ".join(map(str, dict.fromkeys((families[0], families[-1]))))
    return (f"{text.level([*(c.median_a for c in found), *(c.estimate for c in found)])}; significant: "
            f"all of the interval is beyond {MARGIN}, after Holm's correction for the {sizes} "
            f"{'comparison' if families == [1] else 'comparisons'} of a row")
