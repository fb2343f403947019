# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a question is: a function from the data to an answer that these data carry."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

import polars as pl

from analysis.figures.base import Data


@dataclass(frozen=True)
class Table:
    """Texts only. The first columns say what a row is of."""
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def without_empty(self) -> "Table":
        """Without columns in which no row says anything."""
        kept = [i for i in range(len(self.header)) if any(row[i] for row in self.rows)]
        return Table(self.caption, tuple(self.header[i] for i in kept),
                     tuple(tuple(row[i] for i in kept) for row in self.rows))


@dataclass(frozen=True)
class Answer:
    """All is plain text: who writes HTML or Markdown escapes it.

    short: one sentence for the top of the report. sentences: what these data say. not_shown:
    what of the question they do not.
    """
    short: str
    sentences: tuple[str, ...] = ()
    not_shown: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()

    @property
    def has_data(self) -> bool:
        return bool(self.sentences or self.tables)


@dataclass(frozen=True)
class Question:
    """figures: names of those in analysis/figures that show what the answer says. runs: those
    that it rests on."""
    name: str
    title: str
    figures: tuple[str, ...]
    answer: Callable[[Data], Answer]
    runs: Callable[[Data], pl.DataFrame] = attrgetter("sending")
