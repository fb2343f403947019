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

makes one table of run records ([run-record.md](run-record.md)), one row per run. A PATH is a file of
records, a folder (all .jsonl, .ndjson and .json files in it and below it) or a table written as
Parquet. Several PATHs, also of several machines, become one data set. A run that is in several files
counts once. Damaged or unknown records are left out, with a line on standard error; the good records
of a damaged file are used. The exit status is 1 if no record can be used.

`--summary` shows the median of a column of numbers for every configuration (all repeats of one load
on one machine), with its interval ([statistics.md](statistics.md)).

Null (in CSV an empty field) means **not measured**, never zero; the record has the reason. Failed and
interrupted runs are rows, too, with `complete` false. Times are UTC, in CSV as ISO 8601. In CSV, a text
that a spreadsheet would evaluate (it begins with `=`, `+`, `-` or `@`) gets an apostrophe in front, and
unprintable characters become question marks; Parquet has texts unchanged. `--csv` and `--parquet`
replace an old file only when the new one is complete.

	polars.read_parquet("runs.parquet")
	pandas.read_parquet("runs.parquet")
	duckdb: SELECT variant, message_bytes, median(throughput_bps) FROM 'runs.parquet' GROUP BY ALL

Later versions may add columns. They read older tables, with null in the columns that these lack.

| column | unit | kind | what it holds |
|---|---|---|---|
"""


def page() -> str:
    return HEAD + "".join(
        f"| `{column.name}` | {column.unit} | {KINDS[column.kind]} | {column.description} |\n"
        for column in COLUMNS)


if __name__ == "__main__":
    sys.stdout.write(page())
