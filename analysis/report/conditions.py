# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Under which conditions the runs were made: machines, hooks, warnings, what was not measured."""

import polars as pl

from analysis import summary
from analysis.figures.base import Data
from analysis.figures.labels import listed
from analysis.report import losses, text
from analysis.report.base import Table

MACHINE = ("host", "cpu_model", "arch", "cpus", "virtual", "kernel", "debug_kernel", "governor",
           "pmu", "tier")
MOST_LISTED = 8


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


def _failed(amount: int) -> str:
    return f"{text.plural(amount, 'run')} failed or {'was' if amount == 1 else 'were'} interrupted"


def runs_told(runs: pl.DataFrame) -> list[str]:
    """How many runs of how many configurations, how often each was repeated, and when."""
    whole = runs.filter(pl.col("complete").fill_null(True))
    cells = whole.group_by("cell", "host", "kernel", "link").len()
    said = [f"{text.plural(runs.height, 'run')} of {text.plural(cells.height, 'configuration')}"]
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
            said.append(words.format(
                f"{values[0]} to {values[-1]}" if len(values) > MOST_LISTED else
                listed([f"{v:g}" if isinstance(v, float) else str(v) for v in values])))
    failed = runs.height - whole.height
    if failed:
        said.append(f"{_failed(failed)}, listed below")
    return said


def _pacing(runs: pl.DataFrame) -> str:
    said = []
    has_paced = pl.col("warnings").fill_null("").str.split(";").list.contains("paced")
    known = runs.filter(pl.col("congestion").is_not_null() | has_paced
                        | pl.col("rate_per_thread").is_not_null())
    if known.is_empty():
        return "not known: the congestion control of these runs' sockets was not recorded"
    paced = known.select(has_paced.sum()).item()
    if paced:
        said.append(f"TCP's congestion control used pacing in {text.count(paced)} of "
                    f"{text.plural(runs.height, 'run')}: it limits their throughput")
    rates = runs["rate_per_thread"].drop_nulls().unique().sort().to_list()
    if rates:
        said.append(f"messages were due at {listed([text.count(rate) for rate in rates])} a "
                    "second per thread")
    said = said or ["none, every run sent as fast as it could"]
    return "; ".join(said) + _of_others(runs, known)


def _of_others(runs: pl.DataFrame, known: pl.DataFrame) -> str:
    others = runs.height - known.height
    return f"; not known for {text.plural(others, 'other run')}" if others else ""


def _losses(runs: pl.DataFrame, lost: str) -> str:
    known = runs.filter(pl.any_horizontal([pl.col(kind).is_not_null() for kind in losses.KINDS]))
    if known.is_empty():
        return "not known: these runs did not count them"
    return ("see LOST, above" if lost else "none was recorded") + _of_others(runs, known)


def _noise(runs: pl.DataFrame) -> str:
    """How wide the intervals are, and how many runs are outliers."""
    said = []
    for metric, what in (("throughput_bps", "throughput"), ("messages_per_s", "answers per second")):
        serving = pl.col("workload") == "procinfo"
        of = runs.filter(serving if metric == "messages_per_s" else ~serving)
        cells = summary.medians(of, metric)
        wide = cells.select((pl.col("high") - pl.col("low")) / 2 / pl.col("median") * 100)
        wide = wide.to_series().drop_nulls().drop_nans()
        if wide.len():
            flagged = cells["outliers"].sum()
            said.append(
                f"the interval of {what} is ±{text.number(wide.median())} % (median of "
                f"{text.plural(wide.len(), 'configuration')}) and ±{text.number(wide.max())} % at "
                f"worst; {text.plural(flagged, 'run')} of {text.count(of.height)} "
                f"{'is an outlier' if flagged == 1 else 'are outliers'}")
    said = "; ".join(said) or ("not known: with fewer than 5 repeats, the data are "
                               "insufficient for an interval")
    return said + _disturbed(runs)


def _disturbed(runs: pl.DataFrame) -> str:
    """How many runs are left out of comparisons, and why."""
    reasons = runs["disturbed"].drop_nulls()
    if reasons.is_empty():
        return ""
    return (f"; {text.plural(len(reasons), 'run')} of {text.count(runs.height)} "
            f"{'is' if len(reasons) == 1 else 'are'} left out of comparisons, because the machine "
            f"was busy ({reasons.mode()[0]})")


def of_many(data: Data) -> tuple[list[str], tuple[str, ...]]:
    """runs_told and beside, of a fleet: what a page has room for of very many runs."""
    total = data.fleet.totals.row(0, named=True)
    said = [f"{text.plural(total['runs'], 'run')} of {text.plural(len(data.fleet.hosts), 'host')}"]
    if total["complete"] < total["runs"]:
        said.append(_failed(total["runs"] - total["complete"]))
    return said, ("Only hosts are compared here; a report of a few hosts answers the other "
                  "questions.",)


def beside(runs: pl.DataFrame, lost: str) -> tuple[str, ...]:
    """What a reader of the short answers must know of the runs: pacing, losses, noise."""
    return (f"Pacing: {_pacing(runs)}.",
            f"Losses: {_losses(runs, lost)}.",
            f"Noise: {_noise(runs)}.")


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
