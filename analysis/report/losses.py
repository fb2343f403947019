# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Dropped events, in one line, and the caveat of answers that rest on such runs."""

import polars as pl

from analysis.report import text

# column -> what was lost, one and several; what follows for the numbers
KINDS = {
    "lost_calls": ("call could not be followed", "calls could not be followed",
                   "counts and times leave them out"),
    "lost_completions": ("completion could not be followed", "completions could not be followed",
                         "counts leave them out"),
    "lost_flags": ("completion's flag was not seen", "completions' flags were not seen",
                   "those of neighbouring completions are used instead"),
    "lost_groups": ("send did not fit in the table of groups",
                    "sends did not fit in the table of groups",
                    "totals include them, groups do not"),
    "lost_stacks": ("copied packet's cause did not fit in the table of causes",
                    "copied packets' causes did not fit in the table of causes",
                    "the counts by cause leave them out"),
}


def _lossy(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.filter(pl.any_horizontal([pl.col(name).fill_null(0) > 0 for name in KINDS]))


def told(totals: pl.DataFrame) -> str:
    """What was lost in how many runs, with the numbers; "" where nothing was. totals: of hosts.Fleet."""
    total, parts = totals.row(0, named=True), []
    for name, (one, several, follows) in KINDS.items():
        if total[f"{name}_runs"]:
            parts.append(f"{text.plural(int(total[name]), one, several)} in {text.count(total[f'{name}_runs'])} "
                         f"of {text.plural(total['runs'], 'run')}: {follows}")
    return "; ".join(parts)


def caveat(runs: pl.DataFrame) -> tuple[str, ...]:
    """How many of the runs that answers rest on had losses."""
    lossy = _lossy(runs).height
    return (f"{text.count(lossy)} of {text.plural(runs.height, 'run')} had dropped events (above)",) if lossy else ()
