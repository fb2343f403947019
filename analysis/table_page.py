# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes the table in docs/table.md: python -m analysis.table_page"""

import pathlib

from analysis.columns import COLUMNS, REAL, TEXT, TIME, TRUTH, WHOLE

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/table.md"
KINDS = {TEXT: "text", WHOLE: "int64", REAL: "number", TRUTH: "true or false", TIME: "time"}


def page(text: str) -> str:
    """Returns the page with a row for each column."""
    head, rule, _ = text.partition("|---|---|---|---|\n")
    return head + rule + "".join(
        f"| `{column.name}` | {column.unit} | {KINDS[column.kind]} | {column.description} |\n"
        for column in COLUMNS)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
