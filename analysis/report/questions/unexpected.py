# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Answers what was unexpected along a sweep, and which counters changed there, too. Correlation shows no cause."""

import polars as pl

from analysis import summary, sweeps, words
from analysis.compare import judge
from analysis.figures import style
from analysis.figures.base import Data
from analysis.report.base import Answer, Table
from analysis.report.questions import common
from analysis.report.questions.common import ratio_text
from analysis.report.questions.sending import kind_of
from analysis.stats import steps
from analysis.tables.variants import in_words

METRIC = "throughput_bps"
AXES = {"message_bytes": "{} a message", "threads": "{} threads", "fields": "{} records"}
MOVED_SHOWN = 3
SHOWN = 2
# The answer names a repeat if at least this share of the outliers belongs to it.
MOST_OF = 0.5
FEWEST_OUTLIERS = 4


def _point(axis: str, value: float) -> str:
    return AXES[axis].format(style.size_text(value) if axis == "message_bytes" else f"{value:g}")


def _from(axis: str, step: steps.Step) -> str:
    """Returns, for example, "from 1 to 4 threads"."""
    say = style.size_text if axis == "message_bytes" else "{:g}".format
    return f"from {say(step.before)} to {_point(axis, step.after)}"


def _of(course: sweeps.Course, axis: str) -> str:
    cell = course.conditions
    parts = [in_words(cell["variant"])]
    parts += [words.counted(cell["threads"], "thread")] if axis != "threads" else []
    parts += [f"records of {style.size_text(cell['field_size_bytes'])}"] if axis == "fields" else []
    parts += [f"{style.size_text(cell['message_bytes'])} a message"] if axis == "threads" else []
    return ", ".join(parts)


def _moved(found: list[steps.Moved]) -> str:
    parts = [f"{one.name.replace('_', ' ')} ({ratio_text(one.ratio)} a message"
             + (f", rank correlation {one.correlation:.2f} over {one.steps} steps)" if one.correlation is not None
                else ")") for one in found[:MOVED_SHOWN]]
    return f"with it moved {words.listed(parts)}" if parts else "no counter of these records moved with it"


def _resolved(courses: list) -> str:
    """Returns the smallest dip that these data would have shown, in words."""
    found = [ends for _, course in courses if (ends := steps.resolved(course.steps))]
    if not found:
        return "too few repeats for any dip to show"
    low, high = min(end for end, _ in found), max(end for _, end in found)
    return (f"smallest dip that these data would have shown: {words.number(100 * low)} % where they are clearest, "
            f"{words.number(100 * high)} % where they are least so")


def _outliers(runs: pl.DataFrame) -> tuple[str, Table | None]:
    """Returns a text with the number of outliers and the repeat that has most of them, and a table of the outliers."""
    flagged = summary.flagged(runs, METRIC)
    if flagged.is_empty():
        return "", None
    counted = (f"{words.counted(flagged.height, 'run')} of {words.whole(runs.height)} "
               f"{'is an outlier' if flagged.height == 1 else 'are outliers'}")
    top, many = flagged["repeat"].value_counts(sort=True).sort("count", "repeat", descending=[True, False]).row(0)
    if flagged.height >= FEWEST_OUTLIERS and many >= MOST_OF * flagged.height:
        mine = runs.filter(pl.col("repeat") == top)
        counted += (f", {many} of them in repeat {top}, of which {mine['disturbed'].count()} of "
                    f"{words.counted(mine.height, 'run')} ran on a busy machine")
    rows = tuple((row["variant"], style.size_text(row["message_bytes"]), str(row["threads"]), str(row["repeat"]),
                  words.number(row[METRIC] / 1e9), row["disturbed"] or "", row["run_id"] or "")
                 for row in flagged.iter_rows(named=True))
    return counted, Table("Outliers among the repeats of their configuration: flagged, and left in medians", (
        "variant", "size (bytes)", "threads", "repeat", "Gbit/s", "machine busy", "run"), rows).without_empty()


def _failed(runs: pl.DataFrame) -> tuple[list[str], tuple[Table, ...]]:
    failed = runs.filter(~pl.col("complete").fill_null(True)).sort("cell", "repeat")
    if failed.is_empty():
        return [], ()
    table = Table("Runs that failed or were interrupted", ("configuration", "repeat", "host", "why"), tuple(
        (row["cell"] or "", str(row["repeat"] or ""), row["host"] or "", row["error"] or "interrupted")
        for row in failed.iter_rows(named=True))).without_empty()
    return [common.failed(failed.height)], (table,)


def answer(data: Data) -> Answer:
    kind, runs = kind_of(data), data.sending
    question = ("Does throughput dip as records are added, and what moves with it?" if kind.name == "records" else
                "What was unexpected, and what explains it?")
    failed, tables = _failed(data.runs)
    if runs.is_empty():
        return Answer(question, "; ".join(failed) or "No run sent messages of a size.", verdict="" if failed else None,
                      tables=tables, next="" if failed else "sudo ./analyze sweep --grid sizes --out DIR")
    outliers, table = _outliers(runs)
    courses = [(axis, course) for axis in ("fields" if kind.name == "records" else "message_bytes", "threads")
               if runs[axis].n_unique() > 1 for course in sweeps.courses(runs, METRIC, axis)]
    dips = [f"{ratio_text(dip.depth)} at {_point(axis, dip.bottom)} ({_of(course, axis)})"
            for axis, course in courses for dip in course.dips]
    falls = [(axis, course, step) for axis, course in courses for step in course.falls]
    parts = [f"A dip: {one}." for one in dips[:SHOWN]]
    parts += [f"Throughput falls {_from(axis, step)} ({_of(course, axis)})."
              for axis, course, step in falls[:SHOWN - len(parts)]]
    more = len(dips) + len(falls) - len(parts)
    parts += [f"{words.counted(more, 'more fall or dip', 'more falls or dips')}."] if more > 0 else []
    if not parts:
        along = words.listed(list(dict.fromkeys({"fields": "records", "message_bytes": "sizes"}.get(axis, axis)
                                                 for axis, _ in courses)))
        parts = [f"Nothing unexpected was found along {along}." if courses else
                 "Not answered: it needs runs of several sizes or numbers of threads, on a quiet machine."]
    parts += [words.sentence(*failed)] if failed else []
    why = [*(_moved(course.moved.get((step.before, step.after), [])) for _, course, step in falls[:1]), outliers]
    number = (f"{ratio_text(falls[0][2].ratio)} {_from(falls[0][0], falls[0][2])}" if falls else
              _resolved(courses) if courses else "")
    undecided = [one for _, course in courses for step in course.steps for one in [step.ratio]
                 if one.verdict == judge.INCONCLUSIVE and one.repeats]
    return Answer(question, " ".join(parts), number, words.sentence(*why),
                  common.again(runs, f"--repeat {max(one.repeats for one in undecided)}")
                  if undecided and not falls else "",
                  judge.WORSE if falls else "" if not undecided else judge.INCONCLUSIVE,
                  common.discarded(data.sending), tables=((table,) if table else ()) + tables)
