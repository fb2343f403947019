# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Puts the comparisons of two ways of sending into words, for the text report and the page."""

from analysis import words

from . import judge
from .pairs import pooled

RESULTS = {judge.BETTER: "faster", judge.WORSE: "slower", judge.SAME: f"the same within {100 * judge.MARGIN:g} %",
           judge.INCONCLUSIVE: "inconclusive"}


def decisive(found):
    """Returns the comparisons to report, and the numbers of threads whose pairs they pool; (): they pool none. Pairs
    are pooled if some single configurations are inconclusive and some pooled ones are not.
    """
    if any(c.verdict == judge.INCONCLUSIVE for c in found):
        pool = pooled(found, "threads")
        if any(c.verdict != judge.INCONCLUSIVE for c in pool):
            return pool, sorted({c.configuration["threads"] for c in found})
    return found, ()


def few_repeats(subject, found, threads=()):
    """Returns the sentence for fewer repeats than the rule needs; "" if they suffice. subject: such as "zero-copy".
    threads: the numbers of threads whose pairs are pooled; (): none. The sentence then counts slower or faster pairs.
    With threads, it follows the sentence of overview().
    """
    if not found or any(c.judgment.reason != judge.FEW for c in found):
        return ""
    logs = [log for c in found for log in c.logs]
    needed = max(c.judgment.repeats or 0 for c in found)
    slower = sum(log < 0 for log in logs)
    which, many = ("slower", slower) if 2 * slower >= len(logs) else ("faster", sum(log > 0 for log in logs))
    pairs = (_all_of(len(logs), "pair") if many == len(logs) else
             f"{words.whole(many)} of {words.counted(len(logs), 'pair')}")
    single = "single configurations" if len(found) > 1 else "this"
    made = max(c.judgment.n for c in found)
    if threads:
        return f"Single configurations need {needed} repeats; these have {made}." if needed else ""
    decide = f" ({needed} decide)" if needed else ""
    return (f"Only {words.counted(made, 'repeat')}: too few to decide {single}{decide}. "
            f"{words.starting(subject)} was {which} in {pairs}.")


def _all_of(many, unit):
    """Returns "1 pair", "both pairs" or "all 3 pairs"."""
    return f"both {unit}s" if many == 2 else f"{'all ' if many > 1 else ''}{words.counted(many, unit)}"


def _ends(some, what):
    """Returns the range of the ratios, such as " (0.31 to 0.72 times the throughput)"; "" without a metric."""
    if what is None:
        return ""
    values = [f"{c.judgment.value:.2f}" for c in sorted(some, key=lambda c: c.judgment.value)]
    return f" ({' to '.join(dict.fromkeys((values[0], values[-1])))} times the {what})"


def over(threads):
    """Returns the end of a sentence, with the numbers of threads whose pairs are pooled; "" if none are pooled."""
    return f", over {words.listed([f'{number:g}' for number in threads])} threads together" if threads else ""


def relation(verdict, other):
    """Returns a verdict, other than inconclusive, in words, such as "slower than two-copy"."""
    if verdict == judge.SAME:
        return f"as fast as {other}, within {100 * judge.MARGIN:g} %"
    return f"{RESULTS[verdict]} than {other}"


def overview(subject, other, found, threads=(), what=None):
    """Returns how a subject compares with another over several configurations, as a sentence without a full stop.
    threads: the numbers of threads whose pairs are pooled. what: the metric in words; None: leave out the ratios.
    """
    together, configurations = over(threads), words.counted(len(found), "configuration")
    verdicts = {c.verdict for c in found}
    if verdicts == {judge.INCONCLUSIVE}:
        return f"{subject} or {other}: no difference could be shown ({len(found)} of {configurations}){together}"
    if len(verdicts) == 1:
        (verdict,) = verdicts
        comma, ends = (",", "") if verdict == judge.SAME else ("", _ends(found, what))
        return (f"{subject} is {relation(verdict, other)}{comma} in {_all_of(len(found), 'configuration')}{ends}"
                f"{together}")
    parts = []
    for verdict, result in RESULTS.items():
        some = [c for c in found if c.verdict == verdict]
        if some and verdict != judge.INCONCLUSIVE:
            ends = _ends(some, what) if verdict in (judge.BETTER, judge.WORSE) else ""
            parts.append(f"{result if parts else relation(verdict, other)} in {len(some)}{ends}")
    still = sum(c.verdict == judge.INCONCLUSIVE for c in found)
    return (f"of {configurations}, {subject} is {words.listed(parts)}"
            f"{f'; no difference could be shown in {still}' if still else ''}{together}")

