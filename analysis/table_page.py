# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes docs/table.md: python -m analysis.table_page > docs/table.md"""

import sys

from analysis.columns import COLUMNS, REAL, TEXT, TIME, TRUTH, WHOLE

KINDS = {TEXT: "text", WHOLE: "int64", REAL: "number", TRUTH: "true or false",
         TIME: "time"}

HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause -->
<!-- Written by python -m analysis.table_page from analysis/columns.py: change that. -->
# The table

	./analyze table PATH... [--csv FILE] [--parquet FILE] [--summary [--column NAME]]

makes one table of run records ([run-record.md](run-record.md)), a row a run. A PATH is a file of
records, a folder (all its .jsonl, .ndjson and .json files, and those of folders in it) or a table
written as Parquet; several, of several machines perhaps, become one data set. A run that several
files have is taken once. What is damaged, older or no record is left out, and said so in a line
on standard error; good records of a damaged file are used. The status is 1 if nothing can be used.

`--summary` shows the median of a column of numbers for every configuration (all repeats of one load
on one machine), with its interval ([statistics.md](statistics.md)).

Null (in CSV an empty field) means **not measured**, never zero; the record says why. Failed and
interrupted runs are rows too, with `complete` false. Times are UTC, in CSV ISO 8601. In CSV a text
that a spreadsheet would run (it begins with `=`, `+`, `-` or `@`) has an apostrophe before it, and a
character that does not print is a question mark; Parquet has texts as they are. `--csv` and
`--parquet` replace an old file only when the new one is whole.

	polars.read_parquet("runs.parquet")
	pandas.read_parquet("runs.parquet")
	duckdb: SELECT variant, message_bytes, median(throughput_bps) FROM 'runs.parquet' GROUP BY ALL

Columns may be added; a table written earlier is still read, its missing columns being null.

| column | unit | kind | what it holds |
|---|---|---|---|
"""


def page() -> str:
    return HEAD + "".join(
        f"| `{column.name}` | {column.unit} | {KINDS[column.kind]} | {column.description} |\n"
        for column in COLUMNS)


if __name__ == "__main__":
    sys.stdout.write(page())
