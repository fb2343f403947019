# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Builds the report as data: answers every question, and draws every figure once for each width."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from analysis import stages
from analysis.advice import Read
from analysis.figures import FIGURES, advice as advice_figure, hosts as hosts_figure
from analysis.figures.base import NARROW, Data, Figure, NotDrawn
from analysis.figures.save import spec, svg
from analysis.report import advice as advised, conditions
from analysis.report.base import Answer, Table
from analysis.report.questions import answered

TITLE_OF_HOSTS = "How hosts compare"
COMMANDS = 20
MARKS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Picture:
    """A drawn figure. specs: Vega-Lite for a wide and for a narrow page. svgs: the same as SVG."""
    name: str
    number: int
    title: str
    description: str
    notes: tuple[str, ...]
    specs: tuple[dict, dict]
    svgs: tuple[bytes, bytes]


@dataclass(frozen=True)
class Row:
    """An answer, the marks of its caveats, and its next step, or "as above" if an earlier row has the same step."""
    answer: Answer
    marks: str
    next: str


@dataclass(frozen=True)
class Report:
    """A report. asked: what was run. lost: a line about dropped events; "": none. rows: the answers. open: questions
    that these data do not answer, and how to answer them. caveats: (mark, words). first: the picture beside the
    answers. folded: stages as folded stacks."""
    title: str
    asked: tuple[str, ...]
    lost: str
    rows: tuple[Row, ...]
    open: tuple[Answer, ...]
    caveats: tuple[tuple[str, str], ...]
    first: Picture | None
    pictures: tuple[Picture, ...]
    conditions: tuple[Table, ...]
    problems: tuple[str, ...]
    commands: tuple[str, ...]
    folded: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def all_pictures(self) -> list[Picture]:
        return [*([self.first] if self.first else []), *self.pictures]

    @property
    def details(self) -> list[Answer]:
        return [row.answer for row in self.rows if row.answer.details]

    @property
    def tables(self) -> list[Table]:
        return [table for row in self.rows for table in row.answer.tables]


def _pictures(figures: Sequence[Figure], data: Data, show: Callable[[str], None]) -> list[Picture]:
    made: list[Picture] = []
    for number, figure in enumerate(figures, 1):
        show(f"drawing figure {number} of {len(figures)}")
        wide = figure.draw(data, figure.width)
        if not isinstance(wide, NotDrawn):
            specs = spec(wide.chart), spec(figure.draw(data, NARROW).chart)
            made.append(Picture(figure.name, len(made) + 1, wide.title, wide.description, wide.notes, specs,
                                tuple(map(svg, specs))))
    return made


def _rows(answers: list[Answer], every: tuple[str, ...]) -> tuple[tuple[Row, ...], tuple[tuple[str, str], ...]]:
    """Returns the Rows, and pairs of a mark and its caveat. every: caveats that all answers have."""
    marks: dict[str, str] = {}
    rows, steps = [], set()
    for answer in answers:
        mine = [marks.setdefault(caveat, MARKS[len(marks) % len(MARKS)]) for caveat in (*answer.caveats, *every)]
        rows.append(Row(answer, " ".join(mine), "as above" if answer.next in steps else answer.next))
        steps |= {answer.next} - {""}
    return tuple(rows), tuple((mark, caveat) for caveat, mark in marks.items())


def _commands(runs: pl.DataFrame, sources: list[str]) -> tuple[str, ...]:
    """Returns the command lines of the runs, as in the records, and the command line of the report."""
    made = runs["command"].drop_nulls().unique(maintain_order=True).to_list()
    left = [f"# and {len(made) - COMMANDS} more"] if len(made) > COMMANDS else []
    return (*(f"sudo ./{command}" for command in made[:COMMANDS]), *left,
            shlex.join(["./analyze", "report", *sources]))


def build(data: Data, title: str | None, problems: list[str], sources: list[str],
          advices: Sequence[Read] = (), draws: bool = True, show: Callable[[str], None] = lambda text: None) -> Report:
    """Builds the report. data: at least one run, unless there are advices. title: None: it names the compared variants
    or server models. problems: a line for each file with unusable lines. draws: whether to draw figures. show: called
    with the name of each step."""
    figures = [advice_figure.figure(f"advice-{n}", read.advice) for n, read in enumerate(advices, 1)]
    answers = [advised.answer(read) for read in advices]
    none = data.runs.is_empty() and not data.streamed
    asked, tables, lost, every, of_hosts = [], (), "", (), False
    if not none:
        show("answering the questions")
        found = answered(data)
        of_hosts = len(found) == 1 and len(data.fleet.hosts) > 1
        answers += found
        figures += [hosts_figure.FIGURE] if of_hosts else FIGURES
        lost = conditions.lost(data.fleet.totals)
        asked = conditions.of_many(data) if of_hosts else conditions.asked(data.runs)
        every = () if of_hosts else conditions.caveats(data.runs)
        tables = (conditions.warnings(data), conditions.unmeasured(data), conditions.machines(data.runs),
                  conditions.settings(data.runs), conditions.hooks(data))
    rows, caveats = _rows([one for one in answers if one.verdict is not None], every)
    pictures = _pictures(figures if draws else [], data, show)
    beside = bool(pictures) and pictures[0].name.startswith("ratio")
    return Report(
        title or (advised.TITLE if none else TITLE_OF_HOSTS if of_hosts else conditions.title(data)), tuple(asked),
        lost, rows, tuple(one for one in answers if one.verdict is None and one.answer), caveats,
        pictures[0] if beside else None, tuple(pictures[beside:]),
        tuple(table for table in tables if table.rows), tuple(problems), _commands(data.runs, sources),
        () if none else tuple(stages.folded(data.details.stages, data.sending)), tuple(sources))
