# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes a comparison of result sets as text and as JSON. Pure."""

import dataclasses

import polars as pl

from analysis import hosts, summary, words
from analysis.columns import SHOWN
from analysis.compare import pairs, settings
from analysis.compare.judge import BETTER, INCONCLUSIVE, SAME, WORSE
from analysis.compare.judge import comparison as comparison_of
from analysis.result_sets import Comparison
from analysis.text import table
from analysis.text.layout import broken

SCHEMA = "sendpath.compare/3"
ORDER = (WORSE, BETTER, INCONCLUSIVE, SAME)
MOST_ROWS = 10
CODES = "findings", "warnings"
# --details shows the ratio of WAY to BASELINE by METRIC for each of the two sets.
METRIC, WAY, BASELINE = "throughput_bps", "zerocopy", "twocopy"
SPELT = {"None": "none", "True": "yes", "False": "no", "": "none"}  # keys are str(value), because 1 == True


def text(comparison: Comparison, details: bool = False, more: list[str] = (), heads: list[str] = ()) -> str:
    """Returns the verdict, the changed settings, and the metrics that are worse or better, in 80 columns.

    details: returns all comparisons, with the medians of both sets. more: tables to add with details. heads: lines
    about both sets, to follow the verdict."""
    parts = [broken(conclusion(comparison)), "\n".join(map(broken, heads)), _changes(comparison, details),
             _left_out(comparison, details)]
    if details:
        parts += [f"{verdict}: {len(found)}\n{_rows(found, comparison)}" for verdict in ORDER
                  if (found := comparison.of(verdict))]
    else:
        decided = [d for verdict in (WORSE, BETTER) for d in comparison.of(verdict)]
        parts += [_brief(decided, comparison)] if decided else []
    return "\n\n".join(filter(None, [*parts, *(more if details else ()), _how(comparison)])) + "\n"


def describe(name: str, path: str, frame: pl.DataFrame) -> str:
    """Returns the line about a set: its path, time and machines."""
    times = dict.fromkeys(f"{moment:%Y-%m-%d %H:%M}" if moment else "an unknown time"
                          for moment in (frame["started"].min(), frame["started"].max()))
    machines = frame.select("host", "kernel", "arch", "cpus").unique().sort(
        "host", "kernel", nulls_last=True).rows()
    parts = [", ".join(filter(None, (host or "a machine", " ".join(filter(None, ("Linux", kernel, arch))),
                                     cpus and words.counted(cpus, "CPU")))) for host, kernel, arch, cpus in machines[:2]]
    more = f" and {words.counted(len(machines) - 2, 'more machine')}" if len(machines) > 2 else ""
    return f"{name}: {path}: {words.counted(frame.height, 'run')}, {' to '.join(times)} UTC; {'; '.join(parts)}{more}"


def _spell(values):
    shown = [SPELT.get(str(value), " ".join(str(value).split())) for value in values[:3]]
    return ", ".join(shown) + (", ..." if len(values) > 3 else "") or "none"


def _codes(change):
    """Returns two texts, in words: the codes that only A has, and the codes that only B has."""
    a, b = ({code for value in side for code in (value or "").split(";")} - {""} for side in (change.a, change.b))
    return [", ".join(sorted(some)).replace("_", " ") for some in (a - b, b - a)]


def _changes(comparison, details):
    rows = []
    for change in comparison.changes:
        sides = (_codes(change) if change.setting in CODES and not details else
                 [_spell(change.a), _spell(change.b)])
        if any(sides):
            rows.append([change.setting, *(side or "-" for side in sides)])
    if not rows:
        return "what changed: nothing that the records show"
    return "\n".join(table.lines([["what changed", "A", "B"], *rows])) if not details else words.table(
        ["what changed", "A", "B"], rows)


def _left_out(comparison, details):
    """Returns what is not compared, and why; "" if everything is compared."""
    parts = []
    for name, cells in (("A", comparison.only_a), ("B", comparison.only_b)):
        if cells:
            names = ": " + "; ".join(map(settings.configuration_text, cells)) if details else ""
            parts.append(f"{words.counted(len(cells), 'configuration')} only in {name}{names}")
    for name, count in zip("AB", comparison.failed):
        if count:
            parts.append(f"{words.counted(count, 'run')} of {name}, interrupted or failed")
    if any(comparison.disturbed):
        parts.append(left_out(comparison))
    if any(comparison.zeros):
        parts.append(zeros(comparison))
    return broken(f"not compared: {'; '.join(parts)}") if parts else ""


def _brief(found, comparison):
    """Returns a line for each of the first comparisons that are worse or better."""
    same = settings.the_same([d.configuration for d in comparison.differences])
    rows = [[settings.configuration_text(d.configuration, same - {"variant"}) or "the load", d.metric.short,
             _change(d), d.verdict] for d in found[:MOST_ROWS]]
    rest = len(found) - len(rows)
    return "\n".join([*table.lines([["configuration", "metric", "change", "B is"], *rows]),
                      *([f"... and {rest} more: --details"] if rest else [])])


def left_out(comparison: Comparison) -> str:
    """Returns, in words, the numbers of disturbed runs, which are left out."""
    of_a, of_b = comparison.disturbed
    return f"{words.counted(of_a, 'run')} of A and {of_b} of B left out, as the machine was busy ({comparison.why})"


def zeros(comparison: Comparison) -> str:
    of_a, of_b = comparison.zeros
    return f"{words.counted(of_a, 'value')} of A and {of_b} of B left out: 0 has no ratio"


def _rows(found, comparison):
    same = settings.the_same([d.configuration for d in comparison.differences])
    rows = [[settings.configuration_text(d.configuration, same - {"variant"}) or "the load",
             d.metric.words, *_medians(d), _change(d), _copied_shares(d),
             "" if d.change.repeats is None else f"{d.change.repeats} repeats might do"]
            for d in found]
    return words.table(["configuration", "metric", "A", "B", "change", "copied A, B", ""], rows)


def _change(difference):
    if difference.metric.share:
        return f"B - A {words.interval(difference.change, 100)} points"
    return f"B / A {words.interval(difference.change)}"


def _medians(difference):
    if difference.metric.share:
        return [f"{words.interval(estimate, 100)} %" for estimate in (difference.a, difference.b)]
    scale, shown = SHOWN[difference.metric.column]
    return [f"{words.interval(estimate, scale)} {shown}" for estimate in (difference.a, difference.b)]


def _copied_shares(difference):
    if difference.fallback == (None, None):
        return words.NOTHING
    return ", ".join(map(words.percent, difference.fallback))


def _how(comparison):
    total = len(comparison.differences)
    reached = sorted({d.change.level for d in comparison.differences if d.change.has_interval})
    levels = " to ".join(dict.fromkeys((words.level(reached[0]), words.level(reached[-1])))) if reached else ""
    brackets = (f"( ) is the confidence interval of a change, {levels}"
                + (f", as there are {total} comparisons (Holm)" if total > 1 else "") + ". ") if reached else ""
    return broken(f"{brackets}Worse, better: all of it is beyond {100 * comparison.threshold:g} %; the same: within. "
                  "What changes from one day to the next is not in it: compare two sets of one machine to see that.")


def conclusion(comparison: Comparison) -> str:
    """Returns the first sentence: in how many comparisons B is better or worse, and by which metrics."""
    counts = {verdict: len(comparison.of(verdict)) for verdict in ORDER}
    total, cells = len(comparison.differences), len({str(d.configuration) for d in comparison.differences})
    what = words.listed(list(dict.fromkeys(d.metric.words for d in comparison.differences)))
    decided = [f"{result} in {counts[verdict]}" for verdict, result in (
        (WORSE, "worse"), (BETTER, "better"), (SAME, "the same")) if counts[verdict]]
    open_ = counts[INCONCLUSIVE]
    decision = (f"B is {words.listed(decided)} of {words.counted(total, 'comparison')}" if decided else
                f"Nothing is decided by {words.counted(total, 'comparison')}")
    more = f"; {open_} {'is' if open_ == 1 else 'are'} inconclusive with these repeats" if open_ and decided else ""
    return f"{decision}: {what} of {words.counted(cells, 'configuration')}{more}."


def _estimate(estimate):
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high,
            "level": estimate.level, "repeats": estimate.n}


def as_json(comparison: Comparison) -> dict:
    """Returns the comparison as an object of JSON. null: unknown. Verdicts are those of ORDER."""
    return {
        "schema": SCHEMA, "threshold": comparison.threshold, "comparisons": len(comparison.differences),
        "changes": [dataclasses.asdict(change) for change in comparison.changes],
        "only_a": comparison.only_a, "only_b": comparison.only_b,
        "left_out": list(comparison.failed), "disturbed": list(comparison.disturbed),
        "zeros": list(comparison.zeros),
        "conclusion": conclusion(comparison),
        "verdicts": {verdict: len(comparison.of(verdict)) for verdict in ORDER},
        "differences": [
            comparison_of("B", "A", d.metric.column, d.change, cell=d.configuration, a=_estimate(d.a),
                          b=_estimate(d.b), fallback_rate=list(d.fallback))
            for d in comparison.differences]}


def zerocopy_pairs(frame: pl.DataFrame) -> list[pairs.Comparison]:
    """Returns the Comparisons of zero-copy with two-copy under equal conditions."""
    return summary.compare(summary.usable(frame, METRIC), [*summary.CONDITIONS, "server_model"], "variant",
                           [(WAY, BASELINE)], METRIC)


def zerocopy_tables(a: pl.DataFrame, b: pl.DataFrame) -> list[str]:
    """Returns a table for each set that has zero-copy and two-copy: for each configuration the ratio of their
    throughputs, the copied share, and the causes of copies."""
    tables = []
    for name, frame in (("A", a), ("B", b)):
        found = zerocopy_pairs(frame)
        same = settings.the_same([one.configuration for one in found]) - {"message_bytes"}
        rows = [[settings.configuration_text(one.configuration, same), words.interval(one.judgment),
                 _zerocopy_copied(frame, one.configuration)] for one in found]
        tables += [words.table([f"in {name}", f"throughput, {WAY} / {BASELINE}", "copied"], rows)] if rows else []
    return tables


def _zerocopy_copied(frame, conditions):
    """Returns, in words, the copied share of the zero-copy sends under these conditions, and the causes of copies."""
    runs = summary.usable(frame, METRIC).filter(
        pl.col("variant") == WAY,
        *(pl.col(column).eq_missing(value) for column, value in conditions.items()))
    rate = runs["fallback_rate"].median()
    if rate is None:
        return "not known"
    causes = sorted(f"{cause}@{device}" for cause, device, _ in hosts.sum_causes(runs.lazy()).collect().iter_rows())
    return f"{words.percent(rate)} copied" + (f": {', '.join(causes)}" if causes else "")
