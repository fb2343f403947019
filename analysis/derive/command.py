# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Executes analyze derive, which turns raw lines into run records and a report."""

import json
import sys

from analysis.derive.record import BadRaw, record_of
from analysis.front.output import LineFile, Stream, complain, json_line, why
from analysis.notes import Parser
from analysis.tables.schemas import SCHEMA
from analysis.text.cells import Cells
from analysis.text.layout import lay_out
from analysis.text.report import DETAILS, REPORT, report

DESCRIPTION = "Makes run records, and a report, of the raw lines that analyze --raw printed."


def parse(arguments):
    parser = Parser(prog="analyze derive", description=DESCRIPTION, allow_abbrev=False)
    parser.add_argument("paths", nargs="+", metavar="FILE", help="raw lines (-: standard input)")
    parser.add_argument("--json", metavar="FILE", help="append the records (-: to standard output, "
                        "instead of the report)")
    parser.add_argument("--details", action="store_true",
                        help="print everything, not only the answer")
    return parser.parse_args(arguments)


def records(path):
    """Yields the records of a file's raw lines. Raises OSError, and ValueError with the number of an invalid line."""
    with sys.stdin.buffer if path == "-" else open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield record_of(json.loads(line))
            except (BadRaw, ValueError, RecursionError) as error:
                raise ValueError(f"line {number} is no raw line: {error}") from None


def main(arguments):
    options = parse(arguments)
    cells = Cells()
    path = options.json
    try:
        out = LineFile(options.json) if options.json else None
        for name in options.paths:
            path = name
            for record in records(name):
                if out:
                    path = options.json
                    out.add(json_line(record))
                    path = name
                if record["schema"] == SCHEMA:
                    cells.add(record)
        path = options.json
        if out:
            out.close()
    except (OSError, ValueError) as error:
        complain("analyze", f"derive: {path}: {why(error) if isinstance(error, OSError) else error}")
        return 1
    if options.json == "-" or not len(cells):
        return 0
    stream = Stream("stdout")
    stream.write(lay_out(report(cells, DETAILS if options.details else REPORT), stream.colour()))
    return 0 if stream.check(lambda text: complain("analyze", text)) else 1

