# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads the files that the command `analyze advise --json` writes (docs/advise.md)."""

import dataclasses
import pathlib
from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from analysis import records
from analysis.advise.search import WRONG
from analysis.model import BadRecord, Head
from analysis.tables.advice import LONGEST, SCHEMA
from analysis.words import level, number

# The confidence level of the ratios' intervals.
LEVEL = level(1 - WRONG)

Times = Annotated[float, Meta(gt=1e-9, lt=1e9)]
Size = Annotated[int, Meta(ge=1, le=1 << 40)]
Count = Annotated[int, Meta(ge=0, lt=1 << 62)]
Seconds = Annotated[float, Meta(ge=0, lt=1e9)]
Share = Annotated[float, Meta(ge=0, le=1)]


class Ratio(Struct, frozen=True):
    """The ratio of zero-copy to the other way of sending at one message size."""
    size: Size
    n: Count
    verdict: Literal["better", "worse", "same", "inconclusive"]
    effect: Times
    interval: tuple[Times, Times]

    def __post_init__(self):
        if not self.interval[0] <= self.effect <= self.interval[1]:
            raise ValueError("effect is not within interval")

    @property
    def words(self) -> str:
        return f"{number(self.effect)} ({number(self.interval[0])} to {number(self.interval[1])})"


class Answer(Struct, frozen=True):
    against: Literal["twocopy", "onecopy"]
    metric: Literal["cpu", "throughput"]
    kind: Literal["from", "always", "never", "irregular", "alike", "unknown"]
    worse: Size | None
    better: Size | None
    ratios: tuple[Ratio, ...]

    def __post_init__(self):
        if self.kind in ("from", "irregular") and self.better is None:
            raise ValueError(f"kind {self.kind} without better")
        if self.kind in ("unknown", "irregular") and self.worse is None:
            raise ValueError(f"kind {self.kind} without worse")


class Path(Struct, frozen=True):
    words: str
    copied: Share | None
    final: bool
    traced: bool
    device: str | None
    optmem_max: Count | None
    memlock_bytes: Count | None
    receiver_limited: Annotated[float, Meta(ge=0, lt=1e9)] | None
    warnings: tuple[str, ...]


class Class(Struct, frozen=True):
    """Numbers of sends of low to high bytes: without MSG_ZEROCOPY, with MSG_ZEROCOPY, and by sendfile and splice."""
    low: Count
    high: Count
    sends: Count
    zerocopy_sends: Count
    other_sends: Count


class Program(Struct, frozen=True):
    """An observed program."""
    what: str
    seconds: Seconds
    classes: tuple[Class, ...]


class Advice(Struct, frozen=True):
    """Advice for a path, or for a program. path is None if the program's path was not measured."""
    recommendation: str
    path: Path | None
    answers: tuple[Answer, ...]
    blocks: Count
    elapsed_s: Seconds
    seconds_more: Seconds | None
    interrupted: bool
    program: Program | None = None
    discarded: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Read:
    """Advice, and the file that has it."""
    file: str
    advice: Advice


_ADVICE, _HEAD = msgspec.json.Decoder(Advice), msgspec.json.Decoder(Head)


def parse(content: bytes) -> Advice:
    """Returns the Advice in a file's content. Raises BadRecord with the reason."""
    if len(content) > LONGEST:
        raise BadRecord("longer than any advice")
    with records.decoding("advice"):
        text = content.decode()
        schema = _HEAD.decode(text).schema
        if schema != SCHEMA:
            raise BadRecord(f"{str(schema)[:40]}, and this program reads {SCHEMA}: use the version "
                            "of the program that wrote it, or measure again")
        return _ADVICE.decode(text)


def is_advice(file: pathlib.Path) -> bool:
    try:
        return file.is_file() and records.kind(file) == "advise"
    except OSError:
        return False  # the file is then read as records, and that reports why it cannot be read


def read(paths: Iterable[str], notes: list[str]) -> tuple[list[Read], list[str]]:
    """Returns the advice in files and folders, each file once, and the paths that may have run records.

    Appends a line for each unusable file to notes. Raises Fault if a path does not exist.
    """
    found, others = {}, []
    for path in paths:
        advised = list(filter(is_advice, records.find_files(path)))
        if advised != [pathlib.Path(path)]:
            others.append(path)
        for file in advised:
            try:
                with open(file, "rb") as stream:
                    found.setdefault(file.resolve(), Read(str(file), parse(stream.read(LONGEST + 1))))
            except (BadRecord, OSError) as error:
                notes.append(f"{file}: no advice in it: {error}")
    return list(found.values()), others
