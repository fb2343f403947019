# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a figure is: a function from the data and a width to a chart, or to a reason why there is none."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import altair as alt
import polars as pl

from analysis import hosts
from analysis.details import Details
from analysis.figures import cells

# Pixels across: of a page, of the place beside the answers, of a telephone.
WIDE, BESIDE, NARROW = 1300, 600, 350


@dataclass(frozen=True)
class Data:
    """What figures are drawn from.

    runs: the tidy table, one row a run. details: what it has no column for (stages); empty where only a
    table was read. streamed: sums of runs that are too many to be had at once; runs is empty then.
    """
    runs: pl.DataFrame
    details: Details = field(default_factory=Details)
    streamed: hosts.Fleet | None = None

    # Worked out once: most figures and answers begin with one of them.
    @cached_property
    def sending(self) -> pl.DataFrame:
        return cells.sending(self.runs)

    @cached_property
    def fleet(self) -> hosts.Fleet:
        return self.streamed or hosts.gather(self.runs.lazy(), 0)

    @cached_property
    def serving(self) -> pl.DataFrame:
        return cells.serving(self.runs)


@dataclass(frozen=True)
class Drawn:
    """A chart with its title and alt text; notes are what a reader of it must be told."""
    chart: alt.TopLevelMixin
    title: str
    description: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class NotDrawn:
    """These data are not enough for the figure, and why."""
    title: str
    reason: str


@dataclass(frozen=True)
class Figure:
    """width: of the picture on a page that is wide."""
    name: str
    draw: Callable[[Data, int], Drawn | NotDrawn]
    width: int = WIDE
