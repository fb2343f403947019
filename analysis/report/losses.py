# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the measuring lost, in one line, and the reserve of each answer that rests on such runs."""

import dataclasses

import polars as pl

from analysis.report import text
from analysis.report.base import Answer

# column -> what was lost, one and several; what follows for the numbers
KINDS = {
    "lost_calls": ("call could not be followed", "calls could not be followed",
                   "counts and times lack them"),
    "lost_completions": ("completion could not be followed", "completions could not be followed",
                         "counts lack them"),
    "lost_flags": ("completion's flag was not seen", "completions' flags were not seen",
                   "their neighbours' stand for them"),
    "lost_groups": ("send had no room in its group", "sends had no room in their groups",
                    "totals count them, groups do not"),
    "lost_stacks": ("copied packet's cause had no room", "copied packets' causes had no room",
                    "causes lack them"),
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


def reserved(answer: Answer, runs: pl.DataFrame) -> Answer:
    """The answer; its short sentence says how many of the runs that it rests on had losses."""
    lossy = _lossy(runs).height
    if not lossy:
        return answer
    return dataclasses.replace(answer, short=(
        f"{answer.short} With reserve: {text.count(lossy)} of the "
        f"{text.plural(runs.height, 'run')} behind this had losses (LOST, above)."))
