# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads run records: JSON lines of files and folders. Prints nothing.

An unusable line becomes a Problem; the good records of the file are used. Records are streamed, because ten
thousand of them with their histograms do not fit into memory as Python objects.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from analysis.faults import USAGE, Fault
from analysis.model import BadRecord, Head, Run
from analysis.tables.schemas import FAILURE_SCHEMA, SCHEMA

SUFFIXES = (".jsonl", ".ndjson", ".json")
LONGEST_LINE = 64 << 20
REASONS_SHOWN = 3


@dataclasses.dataclass(frozen=True)
class Problem:
    """A line that is left out, and why. line None: the whole file is left out."""
    file: str
    line: int | None
    what: str


@dataclasses.dataclass(frozen=True, eq=False)
class Record:
    """A run record, its file and line, and source: the argument (file or folder) by which it was found. Records are
    compared by identity."""
    source: str
    file: str
    line: int
    data: Run


def _refuse(error: OSError):
    raise error


def find_files(path: str) -> list[pathlib.Path]:
    """Returns the files of a path: a file itself, or all files of records in a folder and the folders below it.

    Raises Fault if there are none, or a folder cannot be read.
    """
    place = pathlib.Path(path)
    try:
        if not place.is_dir():
            place.stat()
            return [place]
        files = sorted(file for folder, _, names in os.walk(place, onerror=_refuse)
                       for file in (pathlib.Path(folder, name) for name in names)
                       if file.suffix in SUFFIXES and file.is_file())
    except OSError as error:
        raise Fault(f"{error.filename or path}: {error.strerror}", USAGE) from None
    if not files:
        raise Fault(f"{path}: no run records in this folder (files ending in "
                    f"{', '.join(SUFFIXES)}; --json FILE writes them)", USAGE)
    return files


_RUN, _HEAD = msgspec.json.Decoder(Run), msgspec.json.Decoder(Head)


@contextlib.contextmanager
def decoding(what: str) -> Iterator[None]:
    """Turns errors of decoding into BadRecord with the reason. what: what is decoded, such as "a run record"."""
    try:
        yield
    except UnicodeDecodeError:
        raise BadRecord("not text (UTF-8)") from None
    except msgspec.ValidationError as error:
        wrong, _, place = str(error).replace("`", "").partition(" - at $.")
        raise BadRecord(f"{place or f'not {what}'}: {wrong[:1].lower()}{wrong[1:]}") from None
    except msgspec.DecodeError as error:
        raise BadRecord("truncated" if "truncated" in str(error) else
                        f"not JSON ({str(error).removeprefix('JSON is ')})") from None
    except RecursionError:
        raise BadRecord(f"not {what} (nested too deeply)") from None


def parse(line: bytes) -> Run:
    """Returns the record in a line. Raises BadRecord with the reason."""
    if len(line) > LONGEST_LINE:
        raise BadRecord("longer than any record")
    with decoding("a run record"):
        text = line.decode()
        try:
            run = _RUN.decode(text)
        except msgspec.ValidationError:
            check_schema(_HEAD.decode(text).schema)
            raise
    check_schema(run.schema)
    return run


def check_schema(schema: Any) -> None:
    """Raises BadRecord for an older, newer or foreign schema; the message shows which of these it is."""
    if schema in (SCHEMA, FAILURE_SCHEMA):
        return
    match = re.fullmatch(r"sendpath\.(run|failure)/(\d{1,9})", schema) if isinstance(schema, str) else None
    if match:
        known = SCHEMA if match[1] == "run" else FAILURE_SCHEMA
        age = "an older" if int(match[2]) < int(known.rpartition("/")[2]) else "a newer"
        raise BadRecord(f"{age} record ({schema}; this program reads {known}): use the version "
                        "of the program that wrote it, or measure again")
    if isinstance(schema, str):
        raise BadRecord(f"not a run record (schema {schema[:40]!r})")
    raise BadRecord("not a run record (no schema)")


def kind(file: pathlib.Path) -> str | None:
    """Returns the kind of a file that this program wrote, such as run, plan or advise, by the schema at the file's
    beginning; None: unknown."""
    with open(file, "rb") as stream:
        match = re.search(rb'^\s*\{[^{}]*?"schema"\s*:\s*"sendpath\.(\w+)/', stream.read(4096))
    return match[1].decode() if match else None


def lines(file: pathlib.Path) -> Iterator[tuple[int, bytes]]:
    """Yields the non-empty lines of a file, with their numbers from 1.

    If a line is too long to be a record, yields a part that is still too long, so that parse() raises BadRecord.
    """
    with open(file, "rb") as stream:
        number, inside = 0, False
        while line := stream.readline(LONGEST_LINE + 2):
            cut, inside = inside, not line.endswith(b"\n")
            if cut:
                continue
            number += 1
            line = line.strip(b" \t\r\n\0")
            if line:
                yield number, line


def stream_file(source: str, file: pathlib.Path, problems: list[Problem]) -> Iterator[Record]:
    """Yields the good records of one file. Appends a Problem for each other line to problems."""
    name, found = str(file), False
    try:
        if name != source and kind(file) not in (None, "run", "failure"):
            return
        for number, line in lines(file):
            found = True
            try:
                yield Record(source, name, number, parse(line))
            except BadRecord as error:
                problems.append(Problem(name, number, str(error)))
    except OSError as error:
        problems.append(Problem(name, None, error.strerror or str(error)))
    else:
        if not found:
            problems.append(Problem(name, None, "empty"))


def stream(paths: Iterable[str], problems: list[Problem]) -> Iterator[Record]:
    """Yields the good records of files and folders, in order. Reads a file that is named twice only once.

    Appends unusable lines to problems. Raises Fault if a path does not exist.
    """
    seen: set[pathlib.Path] = set()
    for path in paths:
        for file in find_files(path):
            real = file.resolve()
            if real not in seen:
                seen.add(real)
                yield from stream_file(path, file, problems)


def summarise(problems: Iterable[Problem], used: Mapping[str, int]) -> list[str]:
    """Returns a line for each file with problems, for people. used: the number of used records by file."""
    files: dict[str, dict[str, list[int | None]]] = {}
    for problem in problems:
        files.setdefault(problem.file, {}).setdefault(problem.what, []).append(problem.line)
    return [_summary(file, whats, used.get(file, 0)) for file, whats in files.items()]


def _summary(file, whats, used):
    what, where = next(iter(whats.items()))
    if not used:
        place = "" if where[0] is None else f" (line {where[0]})"
        return f"{file}: no run record in it: {what}{place}"
    count = sum(len(where) for where in whats.values())
    reasons = "; ".join(f"{_places(where)}: {what}" for what, where in list(whats.items())[:REASONS_SHOWN])
    more = "; ..." if len(whats) > REASONS_SHOWN else ""
    return f"{file}: {count} left out, {used} record{'s' * (used != 1)} used: {reasons}{more}"


def _places(where):
    shown = ", ".join("the rest" if line is None else str(line) for line in where[:3])
    return f"line{'s' * (len(where) > 1)} {shown}{', ...' if len(where) > 3 else ''}"
