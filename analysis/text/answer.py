# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the answer: which variant is faster, why, and what to do."""

import collections

from analysis import words
from analysis.findings import rules, sentences
from analysis.compare import answers
from analysis.compare.judge import BETTER, INCONCLUSIVE, PRACTICAL, SAME, WORSE
from analysis.tables.variants import in_words

from .layout import BOLD
from .record import string

DECIDED = BETTER, WORSE


def name(cell):
    """Returns the name of a cell's variant or server model in sentences."""
    return in_words(cell.way)


def interval(found):
    return "" if found["interval"] is None else " ({:.2f} to {:.2f})".format(*found["interval"])


def imperative(text):
    """Returns a remedy in the form that follows "Do: ": its first letter is small, except in an acronym."""
    return text[0].lower() + text[1:] if text[1:2].islower() else text


def compared(subject, other, speed, cpu, what="throughput", brief=False):
    """Returns a sentence on one comparison, without a full stop; "" if speed is inconclusive. It mentions the CPU cost
    only if that has another verdict. what: the metric of speed in words. brief: leaves out `other` and the CPU cost.
    """
    cost = ("" if cpu is None or cpu["verdict"] not in DECIDED else
            f"it takes {cpu['effect']:.2f} times the CPU time per byte{interval(cpu)}")
    verdict, effect = speed["verdict"], speed["effect"]
    if brief and verdict in DECIDED:
        return f"{subject} is {answers.RESULTS[verdict]}: {effect:.2f} times{interval(speed)}"
    if verdict in DECIDED:
        more = "" if not cost or cpu["verdict"] == verdict else f", but {cost}"
        return (f"{subject} is {answers.relation(verdict, other)}: {effect:.2f} times the "
                f"{what}{interval(speed)}{more}")
    if verdict == SAME:
        text = f"{subject} is {answers.relation(verdict, other)}{interval(speed)}"
        return f"{text}; {cost}" if cost else text
    return ""


def of_several(cells, what):
    """Yields sentences on one variant in several configurations. what: the metric in words."""
    subject, other = name(cells[0]), name(cells[0].reference)
    found = [cell.compared["throughput"] for cell in cells if "throughput" in cell.compared]
    if not found:
        return
    shown, threads = answers.decisive(found)
    few = answers.few_repeats(subject, found, threads)
    if not few or threads:
        yield answers.overview(subject, other, shown, threads, what)
    if few:
        yield few


def results(cells):
    """Returns a sentence for each compared variant, those with a clear verdict first; then what is open."""
    decided = []
    what = "requests per second" if cells.serving else "throughput"
    compared_cells, last = {}, None
    for cell in cells:
        if cell.comparisons:
            compared_cells.setdefault((name(cell), name(cell.reference)), []).append(cell)
    order = (WORSE, BETTER, SAME, INCONCLUSIVE)
    for some in sorted(compared_cells.values(), key=lambda some: min(
            order.index(cell.comparisons["throughput"]["verdict"]) for cell in some)):
        cell, *more = some
        if more:
            decided += of_several(some, what)
        else:
            decided.append(compared(name(cell), name(cell.reference), cell.comparisons["throughput"],
                                    cell.comparisons["cpu"], what, last == name(cell.reference)))
        last = name(cell.reference)
    busy, open_ = {}, {}
    for (subject, other), (cell, *more) in compared_cells.items():
        if more and not any("throughput" in one.compared for one in (cell, *more)):
            busy.setdefault(other, []).append(subject)
        one = cell.comparisons["throughput"]
        if not more and one["verdict"] == INCONCLUSIVE and (one["n"] or one["discarded"]):
            open_.setdefault(other, []).append(
                subject + (interval(one) or f" ({words.counted(one['n'], 'pair')} of runs)"))
    undecided = [f"{words.listed(subjects)} {'is' if len(subjects) == 1 else 'are'} not compared with {other}: the "
                 "machine was too busy" for other, subjects in busy.items()]
    undecided += [f"inconclusive against {other}: {', '.join(subjects)}" for other, subjects in open_.items()]
    return [[words.sentence(one) for one in some] for some in (decided, undecided)]


def _about(cells, repeats):
    """Returns how long this number of repeats of all configurations takes, such as "about 6 minutes"."""
    seconds = repeats * sum(cell.spread("app/elapsed_s").middle for cell in cells)
    return f"about {max(seconds, 1):.0f} s" if seconds < 90 else f"about {seconds / 60:.0f} minutes"


def needed(cells):
    """Returns the option that may decide inconclusive comparisons; "" if no comparison is inconclusive."""
    open_ = {}
    for cell in cells:
        found = cell.comparisons.get("throughput")
        if found and found["verdict"] == INCONCLUSIVE and (found["n"] or found["discarded"]):
            open_.setdefault(name(cell), []).append(found)
    if any(one["discarded"] for found in open_.values() for one in found):
        return "too few runs on a quiet machine: --wait-quiet waits for one"
    repeats = {subject: max(one["repeats"] for one in found) for subject, found in open_.items()
               if all(one["repeats"] for one in found)}
    close = [subject for subject in open_ if subject not in repeats]
    parts = []
    if repeats:
        most = max(repeats.values())
        parts.append(f"not enough runs: --repeat {most} may decide {words.listed(list(repeats))} ({_about(cells, most)})")
    if close:
        parts.append(f"{words.listed(close)} {'is' if len(close) == 1 else 'are'} too close to call: {PRACTICAL} "
                     "repeats might not decide; a longer --duration makes runs vary less")
    return "; ".join(parts)


def whys(found):
    """Returns pairs (problem, remedy), each only once. A problem of some configurations has their number, and that of all
    configurations with the same interfaces. found: a list of findings for each cell that has findings."""
    if len(found) == 1:
        return sentences.paragraphs(found[0])
    cells, within = collections.Counter(), collections.defaultdict(collections.Counter)
    for findings in found:
        interfaces = frozenset(one.interface for one in findings)
        cells[interfaces] += 1
        for paragraph in sentences.paragraphs(findings, brief=True):
            within[paragraph][interfaces] += 1
    return [(why if sum(some.values()) == (of := sum(cells[interfaces] for interfaces in some)) else
             f"{why} in {sum(some.values())} of {of} configurations", do) for (why, do), some in within.items()]


def advice(affected):
    """Returns what the comparison recommends if only one cell has findings; "" if not, or without a verdict."""
    if len(affected) != 1 or not affected[0].comparisons:
        return ""
    which = {one["verdict"] for one in affected[0].comparisons.values()} - {SAME, INCONCLUSIVE}
    return (f"send with {name(affected[0] if BETTER in which else affected[0].reference)} here"
            if len(which) == 1 else "")


def answer(cells):
    """Yields the answer in one paragraph."""
    text, undecided = results(cells)
    affected = {} if cells.all_failed else {cell: found for cell in cells if (found := rules.of_records(cell.records))}
    found = whys(list(affected.values()))
    if found and not any(do for _, do in found):
        found[0] = found[0][0], advice(list(affected))
    for number, (why, do) in enumerate(found):
        text.append(f"Why: {why}." if any(text) and not number else words.sentence(why))
        if do:
            text.append(f"Do: {imperative(do)}".rstrip(".") + ".")
    text = [*filter(None, text), *undecided]
    if text:
        yield BOLD + " ".join(text)


def discarded(cells):
    """Yields how many runs are in no comparison, and why; then the option that may decide inconclusive comparisons."""
    records = [record for cell in cells for record in cell.records]
    why = [string(record, "noise/disturbed") for record in records if string(record, "noise/disturbed")]
    if why and cells.comparisons:
        yield f"{len(why)} of {words.counted(len(records), 'run')} are in no ratio: {why[-1]}"
    if needed(cells):
        yield needed(cells)
