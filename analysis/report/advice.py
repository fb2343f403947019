# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Turns a result of analyze advise into a section of the report."""

from analysis import words
from analysis.advice import LEVEL, Advice, Path, Read
from analysis.figures import style
from analysis.compare.judge import BETTER, MARGIN, WORSE
from analysis.report.base import Answer, Table
from analysis.tables.advice import CALLS, METRICS, budget, changes, limits

TITLE = "Advice on MSG_ZEROCOPY"
AT_EVERY = " at every size tried, "


def title(read: Read) -> str:
    if read.advice.program:
        return f"Should {read.advice.program.what} use MSG_ZEROCOPY ({read.file})?"
    device = read.advice.path.device if read.advice.path else None
    return f"Does MSG_ZEROCOPY pay on the path{f' by {device}' if device else ''} ({read.file})?"


def _compared(advice: Advice) -> list[str]:
    return [f"By {METRICS[metric]}, zero-copy is: " + "; ".join(
        f"against {CALLS[a.against]} {changes(a, style.size_text, AT_EVERY)}" for a in found) + "."
        for metric in METRICS if (found := [a for a in advice.answers if a.metric == metric])]


def _rests_on(advice: Advice) -> str:
    parts = [advice.path.words.rstrip(". ") if advice.path else "the path was not measured"]
    if advice.blocks:
        parts.append(f"{words.counted(advice.blocks, 'block')} of three short runs in {advice.elapsed_s:.0f} s")
    if advice.program:
        parts.append(f"{advice.program.what}, watched for {words.number(advice.program.seconds)} s")
    return f"It rests on: {'; '.join(filter(None, parts))}."


def _limits(path: Path) -> list[str]:
    parts = limits(path, words.percent)
    return [f"Limits: {'; '.join(parts)}."] * bool(parts) + [
        f"Warning: {warning.rstrip('.')}." for warning in path.warnings]


def _not_shown(advice: Advice) -> list[str]:
    sizes = [r.size for a in advice.answers for r in a.ratios]
    parts = ["Other paths, other machines, and messages whose memory is in a cache for another reason."]
    if sizes:
        parts.append(f"Sizes below {style.size_text(min(sizes))} and above "
                     f"{style.size_text(max(sizes))} bytes, and between those tried.")
    if advice.path and not advice.path.traced:
        parts.append("Copies that the kernel does not flag, because it could not be traced.")
    if advice.seconds_more:
        parts.append("What is open still: a budget of about "
                     f"{advice.seconds_more:.0f} s more would settle it.")
    if advice.interrupted:
        parts.append("What would have been measured next: it was interrupted.")
    return parts


def _tables(advice: Advice) -> list[Table]:
    tables = [Table(
        f"Zero-copy to the others; intervals in brackets reach {LEVEL}, better and worse are more "
        f"than {100 * MARGIN:g} % from 1", ("of", "against", "size (bytes)", "ratio", "zero-copy is", "blocks"),
        tuple((METRICS[a.metric], CALLS[a.against], style.size_text(r.size), r.words, r.verdict, words.whole(r.n))
              for a in advice.answers for r in a.ratios))]
    if advice.program:
        tables.append(Table(
            f"Sends of {advice.program.what}",
            ("bytes a send", "without MSG_ZEROCOPY", "with it", "by sendfile and splice"),
            tuple((f"{words.whole(c.low)} to {words.whole(c.high)}", words.whole(c.sends),
                   words.whole(c.zerocopy_sends), words.whole(c.other_sends))
                  for c in advice.program.classes)))
    return [table for table in tables if table.rows]


def answer(read: Read) -> Answer:
    advice = read.advice
    details = [_rests_on(advice), *(_limits(advice.path) if advice.path else []),
               *(f"Not shown: {one}" for one in _not_shown(advice))]
    # Only ratios of the deciding metric: better is below 1 for CPU time, but above 1 for throughput.
    metric = next((a.metric for one in METRICS for a in advice.answers for r in a.ratios
                   if a.metric == one and r.verdict in (BETTER, WORSE)), next(iter(METRICS)))
    known = sorted((r for a in advice.answers if a.metric == metric for r in a.ratios), key=lambda r: r.effect)
    ends = [f"{r.words} times at {style.size_text(r.size)}" for r in (*known[:1], *known[-1:])]
    number = f"{METRICS[metric]} {' to '.join(dict.fromkeys(ends))}" if ends else ""
    return Answer(title(read), advice.recommendation, number, " ".join(_compared(advice)),
                  f"On the same path, with its options: sudo ./analyze advise {budget(advice)}"
                  if advice.seconds_more else "", details=tuple(details), tables=tuple(_tables(advice)))
