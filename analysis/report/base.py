# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What an answer is: a row of the report's first table. All is plain text: who writes HTML or Markdown
escapes it."""

from dataclasses import dataclass


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
    """verdict: as judge.py has it, "" where the answer is none; None: these data have none. number: with
    its interval. why: by the counters of these data. next: what would tell more, a command or where to
    run it. caveats: what casts doubt on it. details: further sentences.
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
