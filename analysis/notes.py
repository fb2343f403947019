# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lines for people. Names that files contain are not trusted."""

import argparse
import contextlib
import difflib
import re
import sys


def clean(text: str) -> str:
    """Text that others chose, so that a terminal does not obey it, in one line."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def did_you_mean(parser, message: str) -> str:
    """argparse's message, with the option of the parser that is most like an unknown one."""
    unknown = re.match("unrecognized arguments: (--[a-z-]+)", message)
    options = [word for word in parser._option_string_actions if word.startswith("--")]
    near = difflib.get_close_matches(unknown[1], options, 1) if unknown else []
    return f"{message}: did you mean {near[0]}?" if near else message


def show(text: str) -> None:
    """The lines of text, on standard output."""
    for line in text.splitlines():
        print(clean(line))


def say(text: str) -> None:
    """A line on standard error, after the program's name."""
    print(f"analyze: {clean(text)}", file=sys.stderr)


@contextlib.contextmanager
def progress():
    """Yields a function that shows on a terminal what is being done, a short text. The last one is erased."""
    def show(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)
    try:
        yield show
    finally:
        show("")


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message):
        say(f"{did_you_mean(self, message)} ({self.prog} --help)")
        sys.exit(2)
