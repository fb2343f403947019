# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares variants or server models with the first one, for each configuration of a report."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from analysis.compare import judge
from analysis.compare.pairs import Comparison
from analysis.figures import over, style
from analysis.figures.base import Data
from analysis.stats import crossover
from analysis.summary import compare
from analysis.tables.variants import in_order

MARGIN = f"{100 * judge.MARGIN:g} %"


@dataclass(frozen=True)
class Kind:
    """What is compared in a kind of grid: the names of `over`, by `metric`, which is `what` in words. say: returns a
    value of the axis in words. unit: the axis' unit."""
    name: str
    over: over.Over
    metric: str
    what: str
    say: Callable[[float], str]
    unit: str

    def x(self, cell: dict[str, object]) -> float:
        """Returns the value of a configuration on the axis."""
        return cell[self.over.x] / cell.get("field_size_bytes", 1)

    def about(self, value: float) -> str:
        """Returns a value between measured values of the axis as text with two digits, such as 9.8K."""
        if self.name != "sizes":
            return f"{value:.2g}"
        unit = 1 << 20 if value >= 1 << 20 else 1024 if value >= 1024 else 1
        return style.size_text(unit * float(f"{value / unit:.2g}"))

    def compare(self, data: Data) -> list[Comparison]:
        """Compares all names with the first, in the order of tables/variants.py."""
        runs = self.over.runs(data)
        names = in_order(runs[self.over.name].drop_nulls().unique().to_list()) if runs.height else []
        pairs = [(name, names[0]) for name in names[1:]]
        return compare(runs, self.over.configuration, self.over.name, pairs, self.metric)


_RECORD = pl.format("records of {} bytes", pl.col("field_size_bytes").map_elements(
    style.size_text, return_dtype=pl.String))
KINDS = (
    Kind("records", replace(over.RECORDS, x="message_bytes", panel_keys=["setting", "field_size_bytes", "threads"],
                            panel_texts=[_RECORD, pl.when(pl.col("threads") > 1).then(over.threads_text()).otherwise(
                                pl.lit("")), pl.col("setting")]),
         "throughput_bps", "throughput", "{:g}".format, "records"),
    Kind("sizes", over.SIZE, "throughput_bps", "throughput", style.size_text, "bytes a message"),
    Kind("servers", over.CONNECTIONS, "messages_per_s", "requests per second", "{:g}".format, "connections"),
)


def log_table(found: list[Comparison]) -> np.ndarray:
    """Returns log(a / b), blocks x comparisons; NaN if a block lacks a comparison."""
    by_block = [dict(zip(one.blocks, one.logs)) for one in found]
    return np.array([[logs.get(block, np.nan) for logs in by_block] for block in sorted(set().union(*by_block))])


def crossovers(kind: Kind, found: list[Comparison]) -> list[tuple[str, dict, crossover.Crossing]]:
    """Returns all crossings, as (a, the configuration without the axis, Crossing)."""
    groups: dict[tuple, list[Comparison]] = {}
    for one in found:
        groups.setdefault((one.a, *(one.configuration.get(key) for key in kind.over.panel_keys)), []).append(one)
    return [(a, dict(zip(kind.over.panel_keys, rest)), one) for (a, *rest), group in groups.items()
            for one in crossover.find_crossings([kind.x(c.configuration) for c in group], log_table(group),
                                                [c.judgment for c in group])]
