#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lists for each cause of a copy the kernels and mechanisms with which a test has made it happen.

causes.py SEEN...: reads what the tests noted (SENDPATH_SEEN=FILE: cause, kernel, mechanism, separated by tabs) and
writes the column of docs/causes.md.


"""

import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/causes.md"
LETTERS = {"fentry": "f", "kprobe": "k", "tracepoint": "t"}
ROW = re.compile(r"^\| `(?P<cause>\w+)` \|(?P<cells>.*)\|(?P<seen>[^|]*)\|$")


def short(release):
    """Returns 6.12 for 6.12.117+deb12-amd64."""
    return re.match(r"\d+\.\d+", release)[0]


def read(paths):
    """Returns {cause: {kernel: letters of the mechanisms}}."""
    seen = {}
    for path in paths:
        for line in pathlib.Path(path).read_text(encoding="ascii").splitlines():
            cause, release, mechanism = line.split("\t")
            seen.setdefault(cause, {}).setdefault(short(release), set()).add(LETTERS[mechanism])
    return seen


def words(kernels):
    """Returns "5.10 fk, 6.12 fkt"; older kernels first."""
    ordered = sorted(kernels, key=lambda name: [int(part) for part in name.split(".")])
    return ", ".join(f"{name} {''.join(sorted(kernels[name]))}" for name in ordered) or "-"


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: causes.py SEEN...")
    seen = read(sys.argv[1:])
    lines = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        row = ROW.match(line)
        if row:
            line = f"| `{row['cause']}` |{row['cells']}| {words(seen.get(row['cause'], {}))} |"
        lines.append(line)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
