# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Breaks lines at 80 columns, and styles them for a terminal."""

from .table import WIDTH

BOLD = "\1"  # a line that begins with this character is printed in bold
STYLES = ((BOLD, "\033[1m"), ("dropped events: ", "\033[1;31m"), ("warning: ", "\033[33m"))
PLAIN = "\033[0m"
NEAR = 30  # find_cut() prefers a better break in this many columns at the end of a line


def spaces(line, begin=0):
    """Returns how many spaces a line has from begin on."""
    return len(line) - begin - len(line[begin:].lstrip(" "))


def hanging_indent(line):
    """Returns the indent of continued lines: where the text after a label begins, or two more than the line's own."""
    begin = spaces(line)
    if begin >= 10:
        return begin
    gap = line.find("  ", begin, min(len(line) - 1, 21)) if begin else -1
    return gap + spaces(line, gap) if gap >= 0 else begin + 2


def find_cut(line, room):
    """Returns where to break a line: at a space in its first room columns, best not after a digit; 0: nowhere."""
    places = [place for place in range(room, 0, -1) if line[place] == " "]
    near = (place for place in places if place > room - NEAR and not line[place - 1].isdigit())
    return next(near, places[0] if places else 0)


def broken(line, indent=None):
    """Returns the line, broken between words if it is longer than WIDTH. indent: of the lines that continue it."""
    indent, room, out = hanging_indent(line) if indent is None else indent, WIDTH, ""
    while len(line) > room:
        cut = find_cut(line, room)
        if spaces(line) >= cut:  # the word is longer than a line
            break
        out += line[:cut] + "\n" + " " * indent
        line, room = line[cut + 1:], WIDTH - indent
    return out + line


def lay_out(text, colour):
    """Returns a report with its lines broken. colour: whether to add escape sequences for a terminal."""
    out = []
    for line in text.split("\n")[:-1]:
        style = next((style for begin, style in STYLES if line.startswith(begin)), "") if colour else ""
        out.append(f"{style}{broken(line[line.startswith(BOLD):])}{PLAIN if style else ''}\n")
    return "".join(out)
