# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Under which conditions the runs were made: machines, hooks, warnings, what was not measured."""

import polars as pl

from analysis.figures.base import Data
from analysis.figures.labels import listed
from analysis.report import text
from analysis.report.base import Table

MACHINE = ("host", "cpu_model", "arch", "cpus", "virtual", "kernel", "debug_kernel", "governor",
           "pmu", "tier")


def _said(value: object) -> str:
    if value is None:
        return "not known"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def machines(runs: pl.DataFrame) -> Table:
    """A row a machine and kernel, with how sends were timed there."""
    rows = []
    for row in runs.group_by(MACHINE, maintain_order=True).len().iter_rows(named=True):
        row["pmu"] = row["pmu"] or "none"
        row["tier"] = row["tier"] or "not timed"
        rows.append((*(_said(row[name]) for name in MACHINE), text.count(row["len"])))
    return Table("Machines", ("host", "processor", "machine type", "CPUs", "virtual machine",
                              "Linux", "debug kernel", "frequency governor",
                              "hardware counters", "sends timed by", "runs"), tuple(rows))


def runs_told(runs: pl.DataFrame) -> list[str]:
    """How many runs of which loads, when, in how many repeats."""
    whole = runs.filter(pl.col("complete").fill_null(True))
    cells = whole.group_by("cell", "host", "kernel", "link").len()
    said = [f"{text.plural(runs.height, 'run')} of {text.plural(cells.height, 'cell')}"]
    if cells.height:
        fewest, most = cells["len"].min(), cells["len"].max()
        said[0] += (f", {text.plural(fewest, 'repeat')} each" if fewest == most
                    else f", {fewest} to {most} repeats each")
    first, last = runs["started"].min(), runs["started"].max()
    if first is not None:
        said.append(f"from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC")
    for column, words in (("duration_s", "windows of {} s"), ("link", "link: {}"),
                          ("workload", "workload: {}"), ("fields", "fields of a message: {}")):
        values = runs[column].drop_nulls().unique().sort().to_list()
        if values:
            said.append(words.format(listed([f"{v:g}" if isinstance(v, float) else str(v)
                                             for v in values])))
    failed = runs.height - whole.height
    if failed:
        said.append(f"{text.plural(failed, 'run')} failed or interrupted, told of below")
    return said


def hooks(data: Data) -> Table:
    """What the kernel was asked by, and what it refused."""
    found = data.details.hooks.sort("name", "runs", descending=[False, True])
    rows = tuple((row["name"] or "", row["mechanism"] or "-", row["status"] or "",
                  row["reason"] or "", text.count(row["runs"]))
                 for row in found.iter_rows(named=True))
    return Table("Hooks", ("hook", "mechanism", "status", "reason", "runs"), rows)


def warnings(data: Data) -> Table:
    """The warnings of the records, each once; of a table alone, their codes."""
    found = data.details.warnings
    if found.is_empty():
        codes = data.runs["warnings"].drop_nulls().str.split(";").explode()
        counted = codes.filter(codes != "").value_counts(sort=True)
        rows = tuple((row["warnings"], text.count(row["count"])) for row in counted.to_dicts())
    else:
        rows = tuple((row["text"] or row["code"] or "", text.count(row["runs"]))
                     for row in found.iter_rows(named=True))
    return Table("Warnings", ("warning", "runs"), rows)


def unmeasured(data: Data) -> Table:
    rows = tuple((row["key"] or "", row["reason"] or "", text.count(row["runs"]))
                 for row in data.details.unmeasured.sort("key").iter_rows(named=True))
    return Table("Not measured", ("key of the record", "reason", "runs"), rows)
