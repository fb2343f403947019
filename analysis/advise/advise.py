# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Should a program use MSG_ZEROCOPY on this path, and from which message size?

Run as `analyze advise [--budget T] [--json FILE] [options of a load]`: asks the kernel whether
zero-copy sends are copied on the path, then measures zero-copy beside send() and sendmsg(), in short
interleaved runs at sizes that it chooses as it learns, until all is decided or the budget is spent.
Exit status: 0 there is an answer, be it that none can be given; 1 a run failed; 2 wrong usage; 3 this
system cannot do it.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import signal
import sys
import tempfile
import time

import text
from runs import Failed, Load, Path
from search import Answer, Search

SCHEMA = "sendpath.advise/1"
WARMUP_S = 0.05
RUNS = 300  # that the budget is for, about; fewer, because starting one takes time too
PATH_OPTIONS = ("peer", "netns", "address", "link", "fields", "socket")


@dataclasses.dataclass(frozen=True)
class Result:
    """seconds_more: so much longer would tell what is open; None: nothing is, or it would not."""
    path: Path
    answers: list[Answer]
    blocks: int
    elapsed_s: float
    seconds_more: float | None
    interrupted: bool


def seconds(word: str) -> float:
    with contextlib.suppress(ValueError):
        value = float(word.removesuffix("s"))
        if 1 <= value <= 86400:
            return value
    raise argparse.ArgumentTypeError(f"{word}: give seconds, 1 to 86400")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"analyze: advise: {message}\n")


def parse(words):
    parser = Parser(prog="analyze advise", allow_abbrev=False, description=__doc__.split("\n\n")[0],
                    epilog="Exit status: 0 done, 1 failed, 2 wrong usage, 3 this system cannot.")
    parser.add_argument("--budget", type=seconds, default=60, metavar="T",
                        help="seconds to measure for at most (default 60s)")
    parser.add_argument("--json", metavar="FILE", help="write the answer as JSON too (- for stdout)")
    for name, arg, words_of in (
            ("peer", "HOST:PORT", "the receiver is loadgen serve there"),
            ("address", "ADDR", "the receiver is of this machine, at this address"),
            ("netns", "NAME", "and in this network namespace"),
            ("link", "veth", "a pair of devices of the run's own"),
            ("fields", "N", "allocations that a message has (default 8)"),
            ("socket", "LIST", "options of the socket, as of a load")):
        parser.add_argument(f"--{name}", metavar=arg, help=words_of)
    return parser.parse_args(words)


def load_options(options):
    return [f"--{name}={value}" for name in PATH_OPTIONS
            if (value := getattr(options, name)) is not None]


class Progress:
    """A line on a terminal, which goes in the end."""

    def __init__(self, budget):
        self.budget, self.begun = budget, time.monotonic()
        self.shown = sys.stderr.isatty()

    @property
    def elapsed(self):
        return time.monotonic() - self.begun

    def say(self, what):
        if self.shown:
            print(f"\r\x1b[K{self.elapsed:.0f} of {self.budget:.0f} s: {what}", end="",
                  file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def decide(load, progress) -> Result:
    """Until all is decided, the budget is spent, or an interrupt."""
    search, count, last, interrupted = Search(), 0, 0.0, False
    progress.say("is zero-copy sent without a copy?")
    path = load.path()
    copied = path.copied is not None and path.copied >= text.COPIED_MOST
    try:
        while not copied and (size := search.next_size()) is not None:
            if progress.elapsed + last > progress.budget:
                break
            progress.say(f"{text.size(size)}, block {count + 1}")
            begun = time.monotonic()
            search.add(size, load.block(size))
            last = time.monotonic() - begun
            count += 1
    except KeyboardInterrupt:
        interrupted = True
    answers = search.answers() if count else []
    more = [needed for answer in answers if answer.metric == "cpu"
            and (needed := search.blocks_needed(answer)) is not None]
    is_open = bool(count) and search.next_size() is not None
    return Result(path, answers, count, progress.elapsed,
                  max(more) * last if more and max(more) and is_open else None, interrupted)


@contextlib.contextmanager
def as_caller():
    """What is written is the user's who called sudo."""
    user, group = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
    if os.geteuid() or not user or not group:
        yield
        return
    os.setegid(int(group))
    os.seteuid(int(user))
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def write(path, result):
    """Whole or not at all."""
    data = json.dumps({"schema": SCHEMA, **dataclasses.asdict(result),
                       "recommendation": text.recommendation(result.path, result.answers)})
    if path == "-":
        print(data)
        return
    with as_caller():
        folder = os.path.dirname(os.path.abspath(path))
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
            file.write(data + "\n")
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)


def check_writable(path):
    """Before it is measured in vain."""
    folder = os.path.dirname(os.path.abspath(path))
    with as_caller():
        if path != "-" and not os.access(folder, os.W_OK, effective_ids=True):
            raise Failed(f"--json: cannot write {path}: name a file that can be written, or -", 1)


def main(words):
    analyze, *words = words
    options = parse(words)
    progress = Progress(options.budget)
    try:
        check_writable(options.json or "-")
        result = decide(Load(analyze, load_options(options), options.budget / RUNS, WARMUP_S), progress)
    finally:
        progress.end()
    if options.json:
        write(options.json, result)
    if options.json != "-":
        print("\n".join(text.lines(result)))
    if result.interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failed as failed:
        print(f"analyze: {failed}", file=sys.stderr)
        sys.exit(failed.status)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
