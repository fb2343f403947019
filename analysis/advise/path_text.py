# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Puts the advice for a path into words: a recommendation, its evidence and limits, and what else to measure."""

from __future__ import annotations

import textwrap

from analysis.advise.runs import COPIED_MOST
from analysis.advise.search import Answer, crossover, deciding
from analysis.compare.judge import BETTER, WORSE
from analysis.tables.advice import CALLS, METRICS, budget, changes, limits
from analysis.text.table import WIDTH
from analysis.words import counted, percent, size


def copied_clause(path) -> str:
    """Returns the clause for a path that copies all sends, or nearly all."""
    return "every send is copied" if path.copied == 1 else f"{percent(path.copied)} of sends are copied"


def times(answer: Answer) -> str:
    """Returns, in words, the ratio at the largest size with the verdict better or worse."""
    ratio = [ratio for ratio in answer.ratios if ratio.verdict in (BETTER, WORSE)][-1]
    return (f"{ratio.effect:.2f} times the {METRICS[answer.metric]}, "
            f"{ratio.interval[0]:.2f}-{ratio.interval[1]:.2f}, at {size(ratio.size)}")


def recommendation(path, answers: list[Answer]) -> str:
    """Returns the recommendation. CPU time decides; throughput decides if CPU time shows no difference."""
    if path.copied is not None and path.copied >= COPIED_MOST:
        return f"Do not use MSG_ZEROCOPY on this path{', at any size' if path.final else ' as it is'}: {copied_clause(path)}."
    found, of = crossover(answers), deciding(answers)
    if found.best:
        return f"Use MSG_ZEROCOPY for sends of {size(found.pays)} and more: {times(found.best)}."
    never = [a for a in of if a.kind == "never"]
    if len(never) == len(CALLS):
        return f"Do not use MSG_ZEROCOPY on this path, at any size tried: {times(never[0])}."
    worse = f"is worse than {CALLS[never[0].against]} up to {size(never[0].worse)}" if never else ""
    pays = [a for a in of if a.kind in ("from", "always")]
    if pays:
        return (f"MSG_ZEROCOPY pays against {CALLS[pays[0].against]} from {size(pays[0].better)} on "
                f"({times(pays[0])}); {f'it {worse}' if worse else 'the rest cannot be told'}.")
    if worse:
        return f"MSG_ZEROCOPY {worse} ({times(never[0])}); the rest cannot be told."
    return "Cannot tell whether MSG_ZEROCOPY pays on this path."


def _table(answers):
    if not any(answer.ratios for answer in answers):
        return []
    heads = [f"  {METRICS[a.metric]}, to {CALLS[a.against]}:" for a in answers]
    return [f"{head:{max(map(len, heads))}} {changes(a, size)}" for head, a in zip(heads, answers)]


def _limits(path):
    parts = [*limits(path, percent), *path.warnings[:1]]
    return f"Limits: {'; '.join(parts)}." if parts else ""


def _more(result):
    if result.seconds_more:
        return f"More: {budget(result)} would tell more."
    if result.path.final:
        return "Other paths: --peer HOST:PORT (of loadgen serve); --address ADDR --netns NAME."
    return "Figures: analyze sweep --grid sizes on the same path, then analyze report."


def lines(result) -> list[str]:
    """Returns at most twelve lines of at most WIDTH columns."""
    words = result.path.words.rstrip(".")
    if result.path.remedy and not result.path.final:
        words += f". {result.path.remedy}"
    rest = f"Rests on: {words.rstrip('.')}"
    if result.blocks or result.discarded:
        rest += f"; {counted(result.blocks, 'block')} of three short runs in {result.elapsed_s:.0f} s"
    if result.discarded:
        made = counted(result.blocks + len(result.discarded), "block")
        rest += f"; {len(result.discarded)} of {made} left out: {result.discarded[-1]}"
    rest += "."
    return paragraphs((recommendation(result.path, result.answers), 2),
                      *((row, 1) for row in _table(result.answers)),
                      (rest, 3), (_limits(result.path), 2), (_more(result), 1))


def paragraphs(*texts: tuple[str, int]) -> list[str]:
    """Returns the texts in lines of WIDTH columns. texts: pairs of a text and the most lines that it may take."""
    # No line ends between a number and its %.
    return [line.replace("\u00a0", " ") for text, most in texts if text
            for line in textwrap.wrap(text.replace(" %", "\u00a0%"), WIDTH,
                                      subsequent_indent="  ", max_lines=most, placeholder=" ...")]
