# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Defines an answer, which is a row of the report's first table. Answers have plain texts, which write.py escapes for
HTML or Markdown."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table of texts. The first columns of a row name it."""
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def without_empty(self) -> "Table":
        """Returns the table without columns that are empty in all rows."""
        kept = [i for i in range(len(self.header)) if any(row[i] for row in self.rows)]
        return Table(self.caption, tuple(self.header[i] for i in kept),
                     tuple(tuple(row[i] for i in kept) for row in self.rows))


@dataclass(frozen=True)
class Answer:
    """An answer to a question. number: the decisive number with its interval. why: the cause, by counters of these
    data. next: a command that would show more, or a place to run it. verdict: a verdict of judge.py; "": the answer is
    no verdict; None: these data have no answer. caveats: reasons for doubt. details: more sentences.
    """
    question: str
    answer: str
    number: str = ""
    why: str = ""
    next: str = ""
    verdict: str | None = ""
    caveats: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
