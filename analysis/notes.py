# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints lines for people. Names that were read from files are not trusted."""

import argparse
import contextlib
import difflib
import re
import sys


def clean(text: str) -> str:
    """Returns untrusted text in one line, without characters that control a terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def did_you_mean(parser, message: str) -> str:
    """Returns argparse's message, with the parser's option that is most similar to an unknown one."""
    unknown = re.match("unrecognized arguments: (--[a-z-]+)", message)
    options = [word for word in parser._option_string_actions if word.startswith("--")]
    near = difflib.get_close_matches(unknown[1], options, 1) if unknown else []
    return f"{message}: did you mean {near[0]}?" if near else message


def show(text: str) -> None:
    """Prints the lines of text on standard output."""
    for line in text.splitlines():
        print(clean(line))


def print_note(text: str) -> None:
    """Prints a line on standard error, after the program's name."""
    print(f"analyze: {clean(text)}", file=sys.stderr)


@contextlib.contextmanager
def progress():
    """Yields a function that shows a short text on a terminal and erases the previous one. Erases the last text."""
    def show(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)
    try:
        yield show
    finally:
        show("")


class Parser(argparse.ArgumentParser):
    """Reports wrong usage in one line, and ends the program with status 2."""

    def error(self, message):
        print_note(f"{did_you_mean(self, message)} ({self.prog} --help)")
        sys.exit(2)
