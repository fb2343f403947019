# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lines for people on standard error. Names that files contain are not trusted."""

import sys


def clean(text: str) -> str:
    """Without what could steer a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def say(text: str) -> None:
    """Each line of text, after the program's name."""
    for line in text.splitlines() or [""]:
        print(f"analyze: {clean(line)}", file=sys.stderr)
