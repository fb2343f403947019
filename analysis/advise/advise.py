# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Should a program use MSG_ZEROCOPY on this path, and from which message size?

`analyze advise [--budget T] [--json FILE] [options of a load]` measures whether the kernel copies
zero-copy sends on the path. It then compares zero-copy with send() and sendmsg() in short interleaved
runs, at sizes that depend on the results so far, until all is decided or the budget is spent. With
`--pid`, `--comm`, `--cgroup` or `-- COMMAND` the advice is for the sends of that program. Its path is
measured if options of a load lead there, or read from a file that `--json` wrote (`--path`).
Exit status: 0 finished, even without a decision; 1 a run failed; 2 wrong usage; 3 this system cannot.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import shutil
import stat
import sys
import time
import typing

from analysis import words
from analysis import files, notes
from analysis.advise import path_text, program_text
from analysis.advise.program import Program, watch, with_small_sends
from analysis.advise.runs import COPIED_MOST, Engine, Load, Path
from analysis.advise.search import Answer, Search, crossover
from analysis.faults import USAGE, Fault
from analysis.front.channel import Gone
from analysis.front.output import let_signals_end
from analysis.tables.advice import LONGEST, SCHEMA
from analysis.tables.options import ADVISE_ANSWER, ADVISE_PATH, ADVISE_PROGRAM, ADVISE_WATCHED, add_options

RUNS = 300  # a window takes 1 / RUNS of the budget; fewer runs fit into it, because starting a run takes time too


@dataclasses.dataclass(frozen=True)
class Result:
    """The measured path and program, and the answers. seconds_more: how much more budget would probably decide the
    undecided sizes; None: all are decided, or no budget would decide them. program: None if only a path is judged.
    path: None if no path was measured."""
    path: Path | None
    answers: list[Answer]
    blocks: int
    elapsed_s: float
    seconds_more: float | None
    interrupted: bool
    program: Program | None = None
    discarded: tuple[str, ...] = ()  # the reason for each discarded block

    def recommendation(self) -> str:
        if self.program:
            return program_text.recommendation(self.program, self.path, self.answers)
        return path_text.recommendation(self.path, self.answers)

    def lines(self) -> list[str]:
        if self.program:
            return program_text.lines(self.program, self.path, self.answers)
        return path_text.lines(self)


def seconds(word: str) -> float:
    with contextlib.suppress(ValueError):
        value = words.duration(word)
        if 0.1 <= value <= 86400:
            return value
    raise argparse.ArgumentTypeError(f"{word}: give 0.1 to 86400 seconds, such as 10, 0.5 or 200ms")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Fault(f"advise: {notes.did_you_mean(self, message)}", USAGE)


def parse(arguments):
    parser = Parser(prog="analyze advise", allow_abbrev=False, description=__doc__.split("\n\n")[0],
                    usage="analyze advise [OPTION...]\n"
                          "       analyze advise [OPTION...] --pid LIST | --comm NAME | --cgroup PATH\n"
                          "       analyze advise [OPTION...] -- COMMAND [ARG...]",
                    epilog="Exit status: 0 done, 1 failed, 2 wrong usage, 3 this system cannot.")
    add_options(parser, ADVISE_ANSWER, budget={"type": seconds, "default": 60})
    add_options(parser.add_argument_group("the path (default: loopback)"), ADVISE_PATH)
    add_options(parser.add_argument_group("the program whose sends are judged"),
                (*ADVISE_PROGRAM, *ADVISE_WATCHED), watch={"type": seconds, "default": 10})
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:end])
    options.command = arguments[end + 1:]
    check_options(options, parser)
    return options


def check_options(options, parser):
    targets = [f"--{option.name}" for option in ADVISE_PROGRAM if getattr(options, option.name)]
    targets += ["--"] if options.command else []
    if len(targets) > 1:
        parser.error(f"{' and '.join(targets)}: give one of them")
    if options.path and load_options(options):
        parser.error(f"--path {options.path}: has the measured path; leave out the options of a load")
    if options.path and not targets:
        parser.error(f"--path {options.path}: goes with a program: --pid, --comm, --cgroup or --")
    if options.command and not shutil.which(options.command[0]):
        parser.error(f"-- {options.command[0]}: there is no such program")
    options.target = bool(targets)


def load_options(options):
    return [f"--{option.name}={value}" for option in ADVISE_PATH
            if (value := getattr(options, option.name)) is not None]


class Progress:
    """Shows the progress in one line of a terminal; end() erases the line. measured: whether a run was requested."""

    def __init__(self, budget):
        self.budget, self.begun = budget, time.monotonic()
        self.shown = sys.stderr.isatty()
        self.measured, self.what = False, ""

    def tick(self):
        if self.what:
            self.show(self.what)

    @property
    def elapsed(self):
        return time.monotonic() - self.begun

    def show(self, what):
        self.measured, self.what = True, what
        if self.shown:
            print(f"\r\x1b[K{self.elapsed:.0f} of {self.budget:.0f} s: {what}", end="",
                  file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def decide(load, progress) -> Result:
    """Measures a path until all sizes are decided, the budget is spent, or a signal arrives. Returns the Result."""
    search, count, last, interrupted, discarded = Search(), 0, 0.0, False, []
    progress.show("is zero-copy sent without a copy?")
    path = load.path()
    copied = path.copied is not None and path.copied >= COPIED_MOST
    try:
        while not copied and (size := search.next_size()) is not None:
            if progress.elapsed + last > progress.budget:
                break
            progress.show(f"{words.size(size)}, block {count + 1}")
            begun = time.monotonic()
            block, why = load.block(size)
            last = time.monotonic() - begun
            if why:
                discarded.append(why)
                continue
            search.add(size, block)
            count += 1
    except KeyboardInterrupt:
        interrupted = True
    answers = search.answers() if count else []
    more = [needed for answer in answers if answer.metric == "cpu"
            and (needed := search.blocks_needed(answer)) is not None]
    is_open = bool(count) and search.next_size() is not None
    return Result(path, answers, count, progress.elapsed,
                  max(more) * last if more and max(more) and is_open else None, interrupted,
                  discarded=tuple(discarded))


def write(path, result):
    """Writes the result as JSON. Returns a Fault if that fails: the caller first prints the answer, then raises it."""
    data = json.dumps({"schema": SCHEMA, **dataclasses.asdict(result),
                       "recommendation": result.recommendation()})
    if path == "-":
        print(data)
        return None
    try:
        files.replace(path, lambda file: file.write(f"{data}\n".encode()))
    except OSError as error:
        return _unwritable(path, error)
    return None


def _unwritable(path, error):
    return Fault(f"--json: cannot write {path}: {error.strerror}")


def check_writable(path):
    """Raises a Fault if the file of the result cannot be written. Called before anything is measured."""
    try:
        if path != "-":
            files.check(path)
    except OSError as error:
        raise _unwritable(path, error) from None


def read_bounded(path) -> bytes:
    """Returns the content of a regular file. Raises OSError, and ValueError if it is longer than LONGEST bytes."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError
        content = file.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise ValueError
    return content


def typed(hint, value):
    """Converts a value from json.loads to the type of the hint. Raises TypeError or KeyError if it does not fit."""
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        return hint(**{name: typed(hints[name], value[name]) for name in hints})
    if typing.get_origin(hint) in (tuple, list):
        return typing.get_origin(hint)(typed(typing.get_args(hint)[0], one) for one in value)
    kinds = typing.get_args(hint) if typing.get_origin(hint) is typing.Union else (hint,)
    if typing.get_origin(kinds[0]) is tuple and value is not None:
        return typed(kinds[0], value)
    if type(value) not in kinds and not (float in kinds and type(value) is int):
        raise TypeError
    return value


def read_result(path) -> Result:
    """Returns the Result of a path, from a file that advise --json wrote. Raises Fault."""
    try:
        data = json.loads(read_bounded(path))
        if data["schema"] != SCHEMA:
            raise ValueError
        answers = typed(list[Answer], data["answers"])
        best = crossover(answers).best
        if best:
            path_text.times(best)  # raises IndexError if no ratio decides
        return Result(typed(Path, data["path"]), answers, typed(int, data["blocks"]),
                      typed(float, data["elapsed_s"]), typed(typing.Optional[float], data["seconds_more"]),
                      False)
    except OSError as error:
        raise Fault(f"--path {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        raise Fault(f"--path {path}: name what advise --json wrote of a path", USAGE) from None


def _measure(options, channel, progress) -> Result:
    engine = Engine(channel, channel.receive(), progress.tick)
    load = Load(engine, options.budget / RUNS)
    if not options.target:
        return decide(load, progress)
    before = read_result(options.path) if options.path else Result(None, [], 0, 0.0, None, False)
    program, interrupted = watch(engine, options)
    progress.begun = time.monotonic()  # only measuring the path uses up the budget, not watching the program
    found = decide(load, progress) if load_options(options) and not interrupted else before
    return dataclasses.replace(found, program=with_small_sends(program, found.path, found.answers),
                               interrupted=found.interrupted or interrupted)


def advise(channel, arguments, complain) -> int:
    """Executes the command with these arguments. Returns the exit status. If a signal arrived, the engine ends by that
    signal.
    """
    progress = None
    try:
        options = parse(arguments)
        check_writable(options.json or "-")
        channel.send({"ready": True})
        progress = Progress(options.budget)
        result = _measure(options, channel, progress)
        progress.end()
        channel.send({"end": True})
        unwritten = write(options.json, result) if options.json else None
        let_signals_end()
        if options.json != "-":
            print("\n".join(map(notes.clean, result.lines())),
                  file=sys.stderr if options.command else sys.stdout)
        if unwritten:
            raise unwritten
        return 0
    except Fault as fault:
        complain(str(fault))
        return fault.status
    except KeyboardInterrupt:
        return 1
    except Gone:  # the engine has reported why it ended
        return 0 if progress and not progress.measured else 1
    finally:
        if progress:
            progress.end()
