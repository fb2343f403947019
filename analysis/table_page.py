# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes the rows of docs/table.md, below what the page says of them: python -m analysis.table_page"""

import pathlib

from analysis.columns import COLUMNS, REAL, TEXT, TIME, TRUTH, WHOLE

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/table.md"
KINDS = {TEXT: "text", WHOLE: "int64", REAL: "number", TRUTH: "true or false", TIME: "time"}


def page(text: str) -> str:
    """The page with a row a column, as it is to be."""
    head, rule, _ = text.partition("|---|---|---|---|\n")
    return head + rule + "".join(
        f"| `{column.name}` | {column.unit} | {KINDS[column.kind]} | {column.description} |\n"
        for column in COLUMNS)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
