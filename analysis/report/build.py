# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The report as data: every question answered, every figure drawn or its reason, once each."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from analysis import stages
from analysis.advice import Read
from analysis.figures import FIGURES, advice as advice_figure, draw_all
from analysis.figures.base import Data, Drawn, NotDrawn
from analysis.figures.save import spec, svg
from analysis.report import advice as advised, conditions, losses
from analysis.report.base import Answer, Question, Table
from analysis.report.questions import asked

TITLE = "How sends compare"
TITLE_OF_HOSTS = "How hosts compare"
COMMANDS = 20


@dataclass(frozen=True)
class Picture:
    """number counts from 1 in the order of the report; spec is its Vega-Lite description."""
    name: str
    number: int
    title: str
    description: str
    notes: tuple[str, ...]
    spec: dict
    svg: bytes


@dataclass(frozen=True)
class Section:
    """pictures: shown here first; see: shown before."""
    question: Question
    answer: Answer
    pictures: tuple[Picture, ...]
    see: tuple[Picture, ...]


@dataclass(frozen=True)
class Report:
    """lost: what the measuring lost, a line; "" where nothing was. unanswered: the questions
    that these data have nothing for, and that have no section. folded: stages as folded stacks. beside: what must be read with
    the short answers."""
    title: str
    lost: str
    beside: tuple[str, ...]
    sections: tuple[Section, ...]
    unanswered: tuple[Question, ...]
    left_out: tuple[NotDrawn, ...]
    runs: tuple[str, ...]
    machines: Table
    hooks: Table
    warnings: Table
    unmeasured: Table
    problems: tuple[str, ...]
    commands: tuple[str, ...]
    folded: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def pictures(self) -> list[Picture]:
        return [picture for section in self.sections for picture in section.pictures]

    @property
    def has_conditions(self) -> bool:
        """Of advice alone there are none."""
        return bool(self.runs or self.problems)


def _picture(name: str, drawn: Drawn, number: int) -> Picture:
    described = spec(drawn.chart)
    return Picture(name, number, drawn.title, drawn.description, drawn.notes, described,
                   svg(described))


def _answered(answers: dict[Question, Answer], drawn: dict[str, Drawn | NotDrawn]) -> set[Question]:
    """The questions that these data answer, and those that alone show a figure."""
    answered = {question for question, answer in answers.items() if answer.has_data}
    shown = {name for question in answered for name in question.figures}
    return answered | {question for question in answers if any(
        name not in shown and isinstance(drawn[name], Drawn) for name in question.figures)}


def _advised(advices: Sequence[Read]) -> tuple[Section, ...]:
    """A section each."""
    sections, number = [], 1
    for index, read in enumerate(advices, 1):
        name, drawn, answer = f"advice-{index}", advice_figure.draw(read.advice), advised.answer(read)
        pictures = (_picture(name, drawn, number),) if isinstance(drawn, Drawn) else ()
        number += len(pictures)
        question = Question(name, advised.title(read), (name,), lambda _, answer=answer: answer)
        sections.append(Section(question, answer, pictures, ()))
    return tuple(sections)


def _sections(data: Data, answers: dict[Question, Answer], drawn: dict[str, Drawn | NotDrawn],
              before: int) -> tuple[Section, ...]:
    """before: pictures of other sections."""
    shown: dict[str, Picture] = {}
    sections = []
    for question, answer in answers.items():
        answer = losses.with_caveat(answer, question.runs(data))
        first, see = [], []
        for name in question.figures:
            if isinstance(drawn[name], NotDrawn):
                continue
            if name in shown:
                see.append(shown[name])
                continue
            shown[name] = _picture(name, drawn[name], before + len(shown) + 1)
            first.append(shown[name])
        sections.append(Section(question, answer, tuple(first), tuple(see)))
    return tuple(sections)


def _commands(runs: pl.DataFrame, sources: list[str]) -> tuple[str, ...]:
    """The command lines that made the runs, as the records have them, and the report's."""
    made = runs["command"].drop_nulls().unique(maintain_order=True).to_list()
    left = [f"# and {len(made) - COMMANDS} more"] if len(made) > COMMANDS else []
    return (*(f"sudo ./{command}" for command in made[:COMMANDS]), *left,
            shlex.join(["./analyze", "report", *sources]))


def build(data: Data, title: str | None, problems: list[str], sources: list[str],
          advices: Sequence[Read] = ()) -> Report:
    """data: at least one run, or none where there are advices. title: None for one that tells what
    it is about. problems: what of the files could not be used, a line a file."""
    sections = _advised(advices)
    if data.runs.is_empty() and not data.streamed:
        empty = Table("", (), ())
        return Report(title or advised.TITLE, "", (), sections, (), (), (), empty, empty, empty,
                      empty, tuple(problems), _commands(data.runs, sources), (), tuple(sources))
    questions = asked(data)
    names = {name for question in questions for name in question.figures}
    drawn = draw_all(data, names)
    answers = {question: question.answer(data) for question in questions}
    answered = _answered(answers, drawn)
    lost = losses.told(data.fleet.totals)
    of_hosts = len(questions) == 1
    told, beside = conditions.of_many(data) if of_hosts else (
        conditions.runs_told(data.runs), conditions.beside(data.runs, lost))
    return Report(
        title or (TITLE_OF_HOSTS if of_hosts else TITLE), lost, beside,
        sections + _sections(data, {q: answers[q] for q in questions if q in answered}, drawn,
                             sum(len(section.pictures) for section in sections)),
        tuple(q for q in questions if q not in answered),
        tuple(drawn[f.name] for f in FIGURES if isinstance(drawn.get(f.name), NotDrawn)),
        tuple(told), conditions.machines(data.runs),
        conditions.hooks(data), conditions.warnings(data), conditions.unmeasured(data),
        tuple(problems), _commands(data.runs, sources),
        tuple(stages.folded(data.details.stages, data.sending)), tuple(sources))
