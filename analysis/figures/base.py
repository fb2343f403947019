# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Defines a figure: a function from the data and a width to a chart, or to the reason why there is none."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import altair as alt
import polars as pl

from analysis import hosts
from analysis.details import Details
from analysis.figures import cells

# The widths in pixels of a page, of the place beside the answers, and of a telephone.
WIDE, BESIDE, NARROW = 1300, 600, 350


@dataclass(frozen=True)
class Data:
    """The data of all figures.

    runs: the tidy table, one row per run. details: data without a column (stages and others); empty if only tables
    were read. streamed: sums of more runs than fit into memory; runs is then empty.
    """
    runs: pl.DataFrame
    details: Details = field(default_factory=Details)
    streamed: hosts.Fleet | None = None

    # These two are computed once, because most figures and answers need one of them.
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
    """A chart with its title, alt text and notes for its reader."""
    chart: alt.TopLevelMixin
    title: str
    description: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class NotDrawn:
    """The title of a figure for which the data are not enough, and the reason."""
    title: str
    reason: str


@dataclass(frozen=True)
class Figure:
    """A figure. width: in pixels, on a wide page."""
    name: str
    draw: Callable[[Data, int], Drawn | NotDrawn]
    width: int = WIDE
