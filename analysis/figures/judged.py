# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a report compares, cell by cell: variants or server models against the first."""

from collections.abc import Callable
from dataclasses import dataclass

import altair as alt
import numpy as np
import polars as pl

from analysis import judge
from analysis.figures import over, style
from analysis.figures.base import Data
from analysis.stats import crossover
from analysis.summary import Comparison, compare

MARGIN = f"{100 * judge.MARGIN:g} %"


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
         "answers per second", "connections", ("setting",), (pl.col("setting"),),
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
        groups.setdefault((one.a, *(one.cell[key] for key in kind.rest)), []).append(one)
    return {key: crossover.find([kind.x(c.cell) for c in group], log_table(group),
                                [c.judgment for c in group]) for key, group in groups.items()}
