# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A comparison for people, and for programs. Pure."""

import dataclasses

import polars as pl

from analysis import hosts, summary, words
from analysis.compare import pairs, settings
from analysis.columns import SHOWN
from analysis.result_sets import Comparison
from analysis.compare.judge import BETTER, INCONCLUSIVE, SAME, WORSE
from analysis.compare.judge import comparison as comparison_of

SCHEMA = "sendpath.compare/3"
ORDER = (WORSE, BETTER, INCONCLUSIVE, SAME)
LISTED = (WORSE, BETTER, INCONCLUSIVE)
MOST_ROWS = 20
# Does zero-copy pay off in each of two result sets, and was it zero-copy at all?
METRIC, WAY, BASELINE = "throughput_bps", "zerocopy", "twocopy"
SPELT = {"None": "none", "True": "yes", "False": "no", "": "none"}  # by what str makes: 1 is equal to True


def text(comparison: Comparison, everything: bool = False, more: list[str] = ()) -> str:
    """The whole of it; everything: no row is left out; more: what stands before the end."""
    parts = [_changes(comparison), _cells(comparison, everything)]
    for verdict in ORDER:
        found = comparison.of(verdict)
        listed = everything or verdict in LISTED
        if found:
            parts.append(f"{verdict}: {len(found)}" + (
                "\n" + _rows(found, comparison, everything) if listed else ""))
    return "\n\n".join([*parts, *more, _how(comparison), conclusion(comparison)]) + "\n"


def describe(name: str, path: str, frame: pl.DataFrame) -> str:
    """Which set is A, and which is B: where it came from, when and on what it was measured."""
    first, last = (f"{moment:%Y-%m-%d %H:%M}" if moment else "an unknown time"
                   for moment in (frame["started"].min(), frame["started"].max()))
    machines = frame.select("host", "kernel", "arch", "cpus").unique().sort(
        "host", "kernel", nulls_last=True).rows()
    said = [", ".join(filter(None, (host or "a machine", " ".join(filter(None, ("Linux", kernel, arch))),
                                    cpus and words.counted(cpus, "CPU")))) for host, kernel, arch, cpus in machines[:2]]
    more = f" and {words.counted(len(machines) - 2, 'more machine')}" if len(machines) > 2 else ""
    return f"{name}: {path}: {words.counted(frame.height, 'run')}, {first} to {last} UTC; {'; '.join(said)}{more}"


def _spell(values):
    shown = [SPELT.get(str(value), str(value)) for value in values[:3]]
    return ", ".join(shown) + (", ..." if len(values) > 3 else "") or "none"


def _changes(comparison):
    if not comparison.changes:
        return "what changed: nothing that the records show"
    rows = [[change.setting, _spell(change.a), _spell(change.b)] for change in comparison.changes]
    return words.table(["what changed", "A", "B"], rows)


def _cells(comparison, everything):
    both = len({str(d.cell) for d in comparison.differences})
    said = [f"{words.counted(both, 'configuration')} in both"]
    for name, cells in (("A", comparison.only_a), ("B", comparison.only_b)):
        if cells:
            names = ": " + "; ".join(map(settings.cell, cells)) if everything else ""
            said.append(f"{len(cells)} only in {name} and not compared{names}")
    for name, count in zip("AB", comparison.failed):
        if count:
            said.append(f"{words.counted(count, 'run')} of {name} left out, interrupted or failed")
    if any(comparison.disturbed):
        said.append(left_out(comparison))
    if any(comparison.zeros):
        said.append(zeros(comparison))
    return "; ".join(said)


def left_out(comparison: Comparison) -> str:
    """What noise took from the comparison."""
    of_a, of_b = comparison.disturbed
    return f"{words.counted(of_a, 'run')} of A and {of_b} of B left out, disturbed ({comparison.why})"


def zeros(comparison: Comparison) -> str:
    of_a, of_b = comparison.zeros
    return f"{words.counted(of_a, 'value')} of A and {of_b} of B left out: 0 has no ratio"


def _rows(found, comparison, everything):
    same = settings.the_same([d.cell for d in comparison.differences])
    shown = found if everything else found[:MOST_ROWS]
    rows = [[settings.cell(d.cell, same - {"variant"}) or "the load",
             d.metric.words, *_medians(d), _change(d), _copied(d),
             "" if d.change.repeats is None else f"{d.change.repeats} repeats might do"]
            for d in shown]
    rest = len(found) - len(shown)
    return words.table(["configuration", "metric", "A", "B", "change", "copied A, B", ""], rows) + (
        f"\n... and {rest} more (--all lists them)" if rest else "")


def _change(difference):
    if difference.metric.share:
        return f"B - A {words.interval(difference.change, 100)} points"
    return f"B / A {words.interval(difference.change)}"


def _medians(difference):
    if difference.metric.share:
        return [f"{words.interval(estimate, 100)} %" for estimate in (difference.a, difference.b)]
    scale, shown = SHOWN[difference.metric.column]
    return [f"{words.interval(estimate, scale)} {shown}" for estimate in (difference.a, difference.b)]


def _copied(difference):
    if difference.fallback == (None, None):
        return words.NOTHING
    return ", ".join(map(words.percent, difference.fallback))


def _how(comparison):
    total = len(comparison.differences)
    compared = "1 comparison" if total == 1 else f"{total} comparisons, corrected for being many (Holm)"
    reached = sorted({d.change.level for d in comparison.differences if d.change.has_interval})
    levels = (" to ".join(dict.fromkeys((words.level(reached[0]), words.level(reached[-1])))) if reached
              else "need more repeats")
    return (f"In brackets are intervals: those of medians reach 95 %, of five repeats 93.75 %; those of "
            f"changes {levels}.\n{compared}; worse, better: the whole interval is beyond "
            f"{100 * comparison.threshold:g} %; same: within.\nWhat changes by itself from one day to the "
            "next is not in these intervals: compare two sets of the same machine to see it.")


def conclusion(comparison: Comparison) -> str:
    counts = {verdict: len(comparison.of(verdict)) for verdict in ORDER}
    return (f"Of {words.counted(len(comparison.differences), 'comparison')}, B is better in {counts[BETTER]}, worse in "
            f"{counts[WORSE]}, the same in {counts[SAME]}; {counts[INCONCLUSIVE]} "
            f"{'is' if counts[INCONCLUSIVE] == 1 else 'are'} inconclusive with these repeats.")


def _estimate(estimate):
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high,
            "level": estimate.level, "repeats": estimate.n}


def as_json(comparison: Comparison) -> dict:
    """For programs: null is not known; a verdict is one of those that ORDER has."""
    return {
        "schema": SCHEMA, "threshold": comparison.threshold, "comparisons": len(comparison.differences),
        "changes": [dataclasses.asdict(change) for change in comparison.changes],
        "only_a": comparison.only_a, "only_b": comparison.only_b,
        "left_out": list(comparison.failed), "disturbed": list(comparison.disturbed),
        "zeros": list(comparison.zeros),
        "conclusion": conclusion(comparison),
        "verdicts": {verdict: len(comparison.of(verdict)) for verdict in ORDER},
        "differences": [
            comparison_of("B", "A", d.metric.column, d.change, cell=d.cell, a=_estimate(d.a),
                          b=_estimate(d.b), fallback_rate=list(d.fallback))
            for d in comparison.differences]}


def zerocopy_pairs(frame: pl.DataFrame) -> list[pairs.Comparison]:
    """Zero-copy and two-copy under equal conditions."""
    return summary.compare(summary.usable(frame, METRIC), [*summary.CONDITIONS, "server_model"], "variant",
                           [(WAY, BASELINE)], METRIC)


def zerocopy(a: pl.DataFrame, b: pl.DataFrame) -> list[str]:
    """A table for each set that has both ways of sending: zero-copy's throughput over two-copy's, cell by
    cell, how much was copied, and why."""
    tables = []
    for name, frame in (("A", a), ("B", b)):
        found = zerocopy_pairs(frame)
        same = settings.the_same([one.cell for one in found]) - {"message_bytes"}
        rows = [[settings.cell(one.cell, same), words.interval(one.judgment), _zerocopy_copied(frame, one.cell)]
                for one in found]
        tables += [words.table([f"in {name}", f"throughput, {WAY} / {BASELINE}", "copied"], rows)] if rows else []
    return tables


def _zerocopy_copied(frame, conditions):
    """The share of zero-copy sends under these conditions that were copied, and causes."""
    runs = summary.usable(frame, METRIC).filter(
        pl.col("variant") == WAY,
        *(pl.col(column).eq_missing(value) for column, value in conditions.items()))
    rate = runs["fallback_rate"].median()
    if rate is None:
        return "not known"
    causes = sorted(f"{cause}@{device}" for cause, device, _ in hosts.causes(runs.lazy()).collect().iter_rows())
    return f"{words.percent(rate)} copied" + (f": {', '.join(causes)}" if causes else "")
