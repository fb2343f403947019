# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""analyze table: makes one tidy table of run records."""

import sys

import polars as pl

from analysis import summary, table, words
from analysis.compare import settings
from analysis.columns import COLUMNS, REAL, SHOWN, WHOLE
from analysis.faults import USAGE, Fault
from analysis.notes import print_note, show
from analysis.stats.interval import FEWEST
from analysis.tables.options import TABLE, add_options

DESCRIPTION = """Makes one table of run records, one row per run, from files and from all .jsonl,
.ndjson and .json files in folders, so that the folders of several machines become one data set.
Takes tables written with --parquet, too. docs/table.md describes the columns. Without --csv,
--parquet and --summary, a terminal gets the summary, and a pipe or file gets the table as CSV."""


def add_arguments(parser):
    parser.add_argument("paths", nargs="+", metavar="PATH", help="file or folder of run records")
    add_options(parser, TABLE, column={"default": "throughput_bps"})


def check_column(column):
    """Raises Fault for a column without medians."""
    numbers = [c.name for c in COLUMNS if c.kind in (WHOLE, REAL)]
    if column not in numbers:
        raise Fault(f"--column {column}: not a column of numbers (docs/table.md lists them)", USAGE)
    if column in summary.CONFIGURATION:
        raise Fault(f"--column {column}: it is the same in all repeats, so it has no median", USAGE)


def medians(frame: pl.DataFrame, metric: str) -> str:
    """Returns a table with the median, interval, repeats and outliers of each configuration, and notes. The intervals'
    level has a column if they have several."""
    cells = summary.medians(frame, metric)
    if cells.is_empty():
        return (f"no complete run of a load has {metric}: --csv FILE writes all columns; --summary --column COLUMN "
                "has the medians of another\n")
    rows = cells.to_dicts()
    scale, shown = SHOWN[metric]
    same = settings.the_same(rows)
    levels = sorted({words.level(row["level"]) for row in rows if row["level"] is not None})
    several = len(levels) > 1
    head = ["configuration", shown if metric == "throughput_bps" else f"{metric} {shown}".strip(),
            f"interval ({levels[0]})" if len(levels) == 1 else "interval", *(["level"] if several else []),
            "repeats", "outliers", "copied"]
    lines = words.table(head, [
        [settings.configuration_text(row, same - {"variant"}) or "the load", words.number(row["median"] * scale),
         *_interval(row, scale)[:1 + several], str(row["n"]), str(row["outliers"] or words.NOTHING),
         words.percent(row["copied"])]
        for row in rows])
    return lines + "\n" + _notes(frame, cells) + "\n"


def _interval(row, scale):
    """Returns the texts of an interval and of its level."""
    if row["level"] is None:
        return words.NOTHING, words.NOTHING
    return f"{words.number(row['low'] * scale)} to {words.number(row['high'] * scale)}", words.level(row["level"])


def _notes(frame, cells):
    parts = [f"Medians of repeats; from fewer than {FEWEST} there is no interval."]
    if cells["outliers"].sum():
        parts.append("Outliers are in the medians; among equal repeats one configuration in a hundred has one.")
    failed = frame.filter(~pl.col("complete")).height
    if failed:
        parts.append(f"{words.counted(failed, 'run')} left out, interrupted or failed.")
    disturbed = frame["disturbed"].count()
    if disturbed:
        parts.append(f"{words.whole(disturbed)} of {words.counted(frame.height, 'run')} ran on a busy machine; comparisons "
                     "leave them out.")
    return " ".join(parts)


def run(options):
    check_column(options.column)
    loaded = table.load_some(options.paths)
    for note in loaded.notes():
        print_note(note)
    if options.parquet:
        table.write_parquet(loaded.frame, options.parquet)
    if options.csv and options.csv != "-":
        table.write_csv(loaded.frame, options.csv)
    alone = not (options.csv or options.parquet or options.summary)
    if options.summary or alone and sys.stdout.isatty():
        show(medians(loaded.frame, options.column))
    if options.csv == "-" or alone and not sys.stdout.isatty():
        sys.stdout.write(table.csv(loaded.frame))
    return 0
