# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What was unexpected along a sweep, and what moved with it: correlation, no cause."""

import polars as pl

from analysis import summary, sweeps
from analysis.figures import labels, style
from analysis.figures.base import Data
from analysis.report import comparisons, text
from analysis.report.base import Answer, Question, Table
from analysis.stats.moved import Moved
from analysis.stats.steps import Step

METRIC = "throughput_bps"
MOVED_SHOWN = 3
AXES = {"message_bytes": "{} bytes a message", "threads": "{} threads", "fields": "{} fields"}


def _point(axis: str, value: float) -> str:
    return AXES[axis].format(style.size_text(value) if axis == "message_bytes" else f"{value:g}")


def _conditions(runs: pl.DataFrame, course: sweeps.Course, axis: str) -> tuple[str, str]:
    """Whose course it is, with what was copied, and under which conditions."""
    mine = comparisons.cell_runs(runs, course.conditions)
    name = labels.variants(mine)[course.conditions["variant"]]
    said = []
    if axis != "threads":
        said.append(text.plural(course.conditions["threads"], "thread"))
    if axis == "threads":
        said.append(f"{style.size_text(course.conditions['message_bytes'])} a message")
    setting = mine["setting"].drop_nulls().unique().to_list()
    return name, ", ".join(said + [s for s in setting if s and len(setting) == 1])


def _moved(found: list[Moved]) -> str:
    if not found:
        return ("No counter of these records significantly moved with it, a message and a second, "
                "after correction for the number of counters.")
    words = []
    for one in found[:MOVED_SHOWN]:
        along = "" if one.correlation is None else \
            f", rank correlation {one.correlation:.2f} over {one.steps} steps"
        words.append(f"{one.name.replace('_', ' ')} ({text.times(one.ratio)} a message, "
                     f"{text.times(one.per_second)} a second{along})")
    more = len(found) - len(words)
    rest = f" and {text.plural(more, 'other counter')}" if more > 0 else ""
    return f"With it moved: {labels.listed(words)}{rest}. That is correlation; it shows no cause."


def _fall(course: sweeps.Course, step: Step, axis: str, name: str, when: str) -> str:
    return (f"The throughput of {name} falls from {_point(axis, step.before)} to "
            f"{_point(axis, step.after)}: {text.times(step.ratio)} ({when}). "
            f"{_moved(course.moved.get((step.before, step.after), []))}")


def _along(runs: pl.DataFrame, axis: str) -> tuple[list[str], list[str]]:
    """Falls with what moved, and dips, of every series along an axis."""
    falls, dips = [], []
    for course in sweeps.courses(runs, METRIC, axis):
        if not (course.falls or course.dips):
            continue
        name, when = _conditions(runs, course, axis)
        falls += [_fall(course, step, axis, name, when) for step in course.falls]
        dips += [f"A dip: the throughput of {name} at {_point(axis, dip.bottom)} is "
                 f"{text.times(dip.depth)} what it is at {_point(axis, dip.before)}, and has risen "
                 f"again at {_point(axis, dip.after)} ({when})." for dip in course.dips]
    return falls, dips


def _outliers(runs: pl.DataFrame) -> tuple[list[str], Table | None]:
    flagged = summary.flagged(runs, METRIC)
    if flagged.is_empty():
        return [], None
    of_cell = runs.group_by("cell", "setting").agg(pl.col(METRIC).median().alias("middle"))
    rows = []
    flagged = flagged.join(of_cell, on=["cell", "setting"], nulls_equal=True)
    for row in flagged.iter_rows(named=True):
        mine = flagged.filter(pl.col("run_id") == row["run_id"])
        rows.append((row["variant"], labels.copied(mine), style.size_text(row["message_bytes"]),
                     str(row["threads"]), row["setting"], str(row["repeat"]),
                     text.number(row[METRIC] / 1e9), text.number(row["middle"] / 1e9),
                     row["run_id"] or ""))
    table = Table("Runs that are outliers among the repeats of their configuration: flagged, "
                  "and left in all figures and numbers", (
                      "variant", "of it", "size (bytes)", "threads", "configuration", "repeat",
                      "Gbit/s", "median of its configuration (Gbit/s)", "run"),
                  tuple(rows)).without_empty()
    return [f"{text.plural(flagged.height, 'run')} of {text.count(runs.height)} "
            + ("is an outlier among the repeats of its configuration"
               if flagged.height == 1 else
               "are outliers among the repeats of their configurations")
            + "; flagged, not removed."], table


def _were_interrupted(amount: int) -> str:
    return "was interrupted, and is" if amount == 1 else "were interrupted, and are"


def _failed(all_runs: pl.DataFrame) -> Table | None:
    failed = all_runs.filter(~pl.col("complete").fill_null(True)).sort("cell", "repeat")
    if failed.is_empty():
        return None
    header = ("configuration", "repeat", "host", "why")
    return Table("Runs that failed or were interrupted", header, tuple(
        (row["cell"] or "", str(row["repeat"] or ""), row["host"] or "",
         row["error"] or "interrupted") for row in failed.iter_rows(named=True))).without_empty()


def _irregular(all_runs: pl.DataFrame) -> list[str]:
    """Runs that failed, and losses of the measuring itself."""
    said = []
    failed = all_runs.filter(~pl.col("complete").fill_null(True))
    if failed.height:
        why = failed["error"].drop_nulls().value_counts(sort=True)
        reasons = "; ".join(f"{row['error']} ({text.plural(row['count'], 'run')})"
                            for row in why.head(3).to_dicts())
        said.append(f"{text.plural(failed.height, 'run')} failed or "
                    f"{_were_interrupted(failed.height)} left out everywhere else"
                    f"{': ' + reasons if reasons else ''}.")
    lost = all_runs["lost_calls"].drop_nulls().sum()
    if lost:
        said.append(f"{text.plural(lost, 'call')} could not be followed: the times of sends leave "
                    "them out.")
    return said


def answer(data: Data) -> Answer:
    runs = data.sending
    said = _irregular(data.runs)
    failed = _failed(data.runs)
    failures = (failed,) if failed else ()
    if runs.is_empty():
        return Answer(said[0] if said else "These data have no sweep of message sizes.",
                      tuple(said),
                      ("Anything unexpected of sends: no run sent messages of a size.",), failures)
    axes = [axis for axis in ("message_bytes", "threads") if runs[axis].n_unique() > 1]
    if runs["fields"].n_unique() > 1:
        # A message of more fields is larger: its course is that of its fields.
        axes = ["fields", *(axis for axis in axes if axis != "message_bytes")]
    falls, dips = [], []
    for axis in axes:
        more_falls, more_dips = _along(runs, axis)
        falls, dips = falls + more_falls, dips + more_dips
    outliers, table = _outliers(runs)
    missing = ["What caused any of it: these data show what moved together, and no more."]
    if runs.select(pl.col("sender_llc_misses").count()).item() == 0:
        missing.append("Whether caches had a part: no run counted their misses.")
    few = runs.group_by("cell", "setting").len()["len"].min()
    if few < 5:
        missing.append(f"Falls and dips of configurations with fewer than 5 repeats (the fewest: "
                       f"{few}): the data are insufficient for an interval.")
    along = "along " + labels.listed([f"{axis.replace('_', ' ')}" for axis in axes]) if axes else ""
    if not falls and along:
        said.append(f"No throughput significantly falls {along} from one value tried to the next "
                    f"{_copied_note(runs)}.".replace(" .", "."))
    short = falls[0].split(":")[0] + \
        f" ({text.plural(len(falls), 'significant fall')} in all)." if falls \
        else (outliers or said or ["Nothing unexpected is significant in these data."])[0]
    return Answer(short, (*dips, *falls, *said, *outliers), tuple(missing),
                  ((table,) if table else ()) + failures)


def _copied_note(runs: pl.DataFrame) -> str:
    what = labels.copied(runs)
    return f"(of zero-copy sends: {what})" if what else ""


QUESTION = Question("unexpected", "What was unexpected, and what moved with it?",
                    ("throughput", "records"), answer)
