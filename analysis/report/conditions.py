# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Describes the runs of a report and their conditions: title, dropped events, machines, hooks, warnings, and
unmeasured values."""

import polars as pl

from analysis import words
from analysis.figures import judged
from analysis.figures.base import Data
from analysis.report.base import Table
from analysis.report.questions.common import failed
from analysis.compare.settings import values_by_name
from analysis.tables.limits import LIMITS, with_range
from analysis.tables.variants import in_order, in_words
from analysis.text import notes

MACHINE = {"host": "host", "cpu_model": "processor", "arch": "machine type", "cpus": "CPUs",
           "virtual": "virtual machine", "kernel": "Linux", "debug_kernel": "debug kernel",
           "governor": "frequency governor", "pmu": "hardware counters", "tier": "sends timed by"}
SETTINGS_MOST = 8
# Warnings that have a number in each run. By code: the column of the number, and the words.
FOLDED = {code: (path.rpartition("/")[2], meaning) for path, per, _, _, code, meaning in LIMITS if not per}
# WAYS has what measures a missing value, by the beginning of the value's key.
WAYS = (*notes.OPTIONS.items(), ("tcp.skb", "--packets"), ("tcp.frags", "--packets"),
        ("memory", "--memory, where docs/memory.md lists the machine"),
        ("counters", "analyze -- COMMAND, which starts the program"),
        *((f"zerocopy.{key}", "fentry or kprobes (analyze doctor)")
          for key in ("skb_copies", "skb_copy_bytes", "causes", "unflagged", "bytes_unflagged", "unexplained",
                      "error_queue", "wake_up_ns", "io_uring.copied")))
# column -> words for one and for several lost events; the consequence for the numbers
LOST = {
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


def _in_words(value: object) -> str:
    if value is None:
        return "not known"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def machines(runs: pl.DataFrame) -> Table:
    """Returns a table with a row per machine and kernel, and how sends were timed there."""
    rows = []
    for row in runs.group_by(*MACHINE, maintain_order=True).len().iter_rows(named=True):
        row["pmu"], row["tier"] = row["pmu"] or "none", row["tier"] or "not timed"
        rows.append((*(_in_words(row[key]) for key in MACHINE), words.whole(row["len"])))
    return Table("Machines", (*MACHINE.values(), "runs"), tuple(rows))


def settings(runs: pl.DataFrame) -> Table:
    """Returns a table of the settings of machines and devices."""
    found = values_by_name(runs, "settings") | values_by_name(runs, "devices", "device ")
    return Table("Settings", ("setting", "value"), tuple(
        (key, ", ".join(sorted(values)[:SETTINGS_MOST])) for key, values in sorted(found.items())))


_NUMBERS = dict(enumerate("no one two three four five six seven eight nine ten".split()))


def _over(runs: pl.DataFrame) -> str:
    links = runs["link"].drop_nulls().unique().sort().to_list()
    return f" over {words.listed(links)}" if links else " between machines" if runs["peer"].count() else ""


def title(data: Data) -> str:
    """Returns the title: the compared variants or server models."""
    parts = []
    if data.sending.height:
        names = [in_words(one) for one in in_order(data.sending["variant"].unique().to_list())][::-1]
        parts.append((words.listed(names) if len(names) > 1 else f"{names[0]} sends") + _over(data.sending))
        records = judged.KINDS[0].over.runs(data)
        if records.height:
            parts[0] += f", messages of {records['fields'].min()} to {records['fields'].max()} records"
    if data.serving.height:
        models, at = data.serving["server_model"].n_unique(), data.serving["connections"]
        ends = str(at.min()) if at.min() == at.max() else f"{at.min()} to {at.max()}"
        parts.append(f"{_NUMBERS.get(models, models)} server model{'s' if models > 1 else ''} at {ends} connections")
    return words.starting("; ".join(parts) or "observed programs")


def asked(runs: pl.DataFrame) -> list[str]:
    """Returns, in words, the numbers of runs and repeats, and the duration, time and machine of the runs."""
    whole = runs.filter(pl.col("complete").fill_null(True))
    cells = whole.group_by("cell", "host", "kernel", "link").len()["len"]
    parts = [f"{words.counted(runs.height, 'run')} of {words.counted(len(cells), 'configuration')}"]
    if len(cells):
        parts[0] += (f", {words.counted(cells.min(), 'repeat')} each" if cells.min() == cells.max()
                     else f", {cells.min()} to {cells.max()} repeats each")
    windows = runs["duration_s"].drop_nulls()
    if windows.len():
        ends = dict.fromkeys((f"{windows.min():.3g}", f"{windows.max():.3g}"))
        parts.append(f"{' to '.join(ends)} s each")
    first = runs["started"].min()
    if first is not None:
        parts.append(f"{first:%Y-%m-%d %H:%M} UTC")
    machine = runs.select("cpus", "virtual", "pmu", "kernel").unique()
    if machine.height == 1:
        cpus, virtual, pmu, kernel = machine.row(0)
        parts.append(", ".join(filter(None, (
            f"Linux {kernel or ''}".rstrip(), cpus and words.counted(cpus, "CPU"), virtual and "virtual machine",
            not pmu and "no PMU"))))
    lacking = runs.height - whole.height
    return parts + ([failed(lacking)] if lacking else [])


def of_many(data: Data) -> list[str]:
    """Returns the numbers of runs and hosts, in words."""
    total = data.fleet.totals.row(0, named=True)
    parts = [f"{words.counted(total['runs'], 'run')} of {words.counted(len(data.fleet.hosts), 'host')}"]
    if total["complete"] < total["runs"]:
        parts.append(failed(total["runs"] - total["complete"]))
    return [*parts, "only hosts are compared here; a report of a few hosts answers the other questions"]


def _warned(code: str) -> pl.Expr:
    """Returns a polars expression: whether a run's record has a warning of this code."""
    return pl.col("warnings").fill_null("").str.split(";").list.contains(code)


def caveats(runs: pl.DataFrame) -> tuple[str, ...]:
    """Returns what limits all answers: dropped events, pacing, and messages that were sent at a fixed rate."""
    every = words.counted(runs.height, "run")
    lossy = runs.filter(pl.any_horizontal([pl.col(name).fill_null(0) > 0 for name in LOST])).height
    parts = [f"{words.whole(lossy)} of {every} had dropped events (above)"] if lossy else []
    paced = runs.filter(_warned("paced")).height
    if paced:
        parts.append(f"congestion control paced {words.whole(paced)} of {every}: it limits their throughput")
    rates = runs["rate_per_thread"].drop_nulls().unique().sort().to_list()
    if rates:
        parts.append(f"messages were due at {words.listed([words.whole(rate) for rate in rates])} a second per thread")
    return tuple(parts)


def lost(totals: pl.DataFrame) -> str:
    """Returns, in words, the numbers of lost events and of the runs that have any; "": none. totals: see Fleet."""
    total, parts = totals.row(0, named=True), []
    for column, (one, several, follows) in LOST.items():
        if total[f"{column}_runs"]:
            parts.append(f"{words.counted(int(total[column]), one, several)} in {words.whole(total[f'{column}_runs'])} "
                         f"of {words.counted(total['runs'], 'run')}: {follows}")
    return "; ".join(parts)


def hooks(data: Data) -> Table:
    """Returns a table of the hooks, with the reasons why some were not attached."""
    found = data.details.hooks.sort("name", "runs", descending=[False, True])
    return Table("Hooks", ("hook", "mechanism", "status", "reason", "runs"), tuple(
        (row["name"] or "", row["mechanism"] or "-", row["status"] or "", row["reason"] or "",
         words.whole(row["runs"])) for row in found.iter_rows(named=True)))


def warnings(data: Data) -> Table:
    """Returns a table with a row per kind of warning: text, range of numbers, and number of runs."""
    codes = data.runs.select(pl.col("warnings").drop_nulls().str.split(";").list.unique()).explode("warnings").filter(
        pl.col("warnings") != "")["warnings"].value_counts(sort=True)
    known, rows = data.details.warnings, []
    for row in codes.sort("count", "warnings", descending=[True, False]).to_dicts():
        code, count = row["warnings"], row["count"]
        texts = known.filter(pl.col("code") == code)["text"].drop_nulls().to_list()
        if code in FOLDED:
            column, sentence = FOLDED[code]
            shares = data.runs.filter(_warned(code))[column].drop_nulls()
            if shares.len():
                texts = [with_range(sentence, shares)]
        more = f" (and {len(texts) - 1} like it)" if len(texts) > 1 else ""
        rows.append(((texts[0] + more) if texts else code, f"{words.whole(count)} of {words.whole(data.runs.height)}"))
    return Table("Warnings", ("warning", "runs"), tuple(rows))


def unmeasured(data: Data) -> Table:
    """Returns a table with a row per reason: the unmeasured keys, the reason, and what would measure them. Runs without
    zero-copy sends lack nothing."""
    found: dict[tuple[str, str], list] = {}
    for row in data.details.unmeasured.sort("key").iter_rows(named=True):
        if row["reason"] == notes.NEVER_ASKS:
            continue
        way = next((way for begin, way in WAYS if (row["key"] or "").startswith(begin)), "")
        found.setdefault((row["reason"] or "", way), []).append(row)
    return Table("Not measured", ("keys of the record", "reason", "what would measure it", "runs"), tuple(
        (", ".join(dict.fromkeys(row["key"] or "" for row in rows)), reason, way,
         words.whole(max(row["runs"] for row in rows)))
        for (reason, way), rows in found.items()))
