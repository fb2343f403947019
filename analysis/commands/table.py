# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""analyze table: run records as one tidy table."""

import sys

from analysis import summary_text, table
from analysis.columns import COLUMNS, REAL, WHOLE
from analysis.faults import USAGE, Fault
from analysis.notes import clean, say
from analysis.tables.options import TABLE, add_options

DESCRIPTION = """Makes one table of run records, one row per run, from files and from all .jsonl,
.ndjson and .json files in folders, so that the folders of several machines become one data set.
Takes tables written with --parquet, too. docs/table.md describes the columns. Without --csv,
--parquet and --summary, a terminal gets the summary, and a pipe or file gets the table as CSV."""


def add_arguments(parser):
    parser.add_argument("paths", nargs="+", metavar="PATH", help="file or folder of run records")
    add_options(parser, TABLE, column={"default": "throughput_bps"})


def check(column):
    """Raises Fault for what has no median."""
    numbers = [c.name for c in COLUMNS if c.kind in (WHOLE, REAL)]
    if column not in numbers:
        raise Fault(f"--column {column}: not a column of numbers (docs/table.md lists them)", USAGE)


def run(options):
    check(options.column)
    loaded = table.load_some(options.paths)
    for note in loaded.notes():
        say(note)
    if options.parquet:
        table.write_parquet(loaded.frame, options.parquet)
    if options.csv and options.csv != "-":
        table.write_csv(loaded.frame, options.csv)
    alone = not (options.csv or options.parquet or options.summary)
    if options.summary or alone and sys.stdout.isatty():
        sys.stdout.write("".join(clean(line) + "\n" for line in summary_text.text(
            loaded.frame, options.column).splitlines()))
    if options.csv == "-" or alone and not sys.stdout.isatty():
        sys.stdout.write(table.csv(loaded.frame))
    return 0
