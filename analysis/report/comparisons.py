# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two ways of doing the same compared, cell by cell, by pairs of runs of one repeat."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from analysis.figures import labels
from analysis.report import text
from analysis.stats import decision, interval, ratio
from analysis.stats.interval import Estimate
from analysis.summary import paired_runs


@dataclass(frozen=True)
class Comparison:
    """a / b of a metric in one cell. corrected_p: by Holm, for all that were made together.

    blocks: which repeat each pair is of, in the order of the ratio's logs.
    """
    cell: dict[str, object]
    a: str
    b: str
    ratio: ratio.Ratio
    blocks: tuple[str, ...]
    corrected_p: float
    median_a: Estimate
    median_b: Estimate

    @property
    def estimate(self) -> Estimate:
        return self.ratio.estimate

    @property
    def sign(self) -> int:
        """1: a is significantly more, -1: significantly less, 0: these repeats do not say."""
        return self.ratio.sign if self.ratio.is_significant(self.corrected_p) else 0


def compare(runs: pl.DataFrame, keys: list[str], column: str, pairs: list[tuple],
            metric: str) -> list[Comparison]:
    """The pairs (a, b) of values of a column compared in every cell (keys) that has both.

    They are one family: corrected together, the chance of even one false alarm is bounded.
    """
    found = [(row, a, b, ratio.paired(row["a"], row["b"])) for a, b in pairs
             for row in paired_runs(runs, keys, column, a, b, metric).to_dicts()]
    corrected = decision.holm([made.p for *_, made in found])
    return [Comparison({key: row[key] for key in keys}, a, b, made, tuple(row["block"]), float(p),
                       interval.median(row["a"]), interval.median(row["b"]))
            for (row, a, b, made), p in zip(found, corrected)]


def log_table(found: list[Comparison]) -> np.ndarray:
    """A row a block, a column a comparison: log(a / b), NaN where a block lacks it."""
    blocks = sorted({block for c in found for block in c.blocks})
    logs = np.full((len(blocks), len(found)), np.nan)
    for column, comparison in enumerate(found):
        for block, value in zip(comparison.blocks, comparison.ratio.logs):
            logs[blocks.index(block), column] = value
    return logs


def verdict(comparison: Comparison, more: str = "faster", less: str = "slower") -> str:
    """faster, slower, or that these repeats do not say."""
    if not comparison.estimate.has_interval:
        return "fewer than 5 pairs"
    return {1: more, -1: less, 0: "no significant difference"}[comparison.sign]


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
    return (f"{text.level([c.estimate for c in found])}; significant: the interval leaves out 1, "
            "and a t-test on logarithms says so after Holm's correction for the "
            f"{text.plural(len(found), 'comparison')} of this question")
