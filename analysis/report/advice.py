# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Does zero-copy pay on a path? An answer of analyze advise as a section of the report."""

from analysis import words
from analysis.advice import LEVEL, Advice, Path, Ratio, Read
from analysis.advice import Answer as Advised
from analysis.figures import style
from analysis.judge import INCONCLUSIVE, MARGIN
from analysis.report import text
from analysis.report.base import Answer, Table
from analysis.tables.advice import CALLS, METRICS

TITLE = "Advice on MSG_ZEROCOPY"
RECEIVER_LIMITS = 0.5


def title(read: Read) -> str:
    if read.advice.program:
        return f"Should {read.advice.program.what} use MSG_ZEROCOPY ({read.file})?"
    device = read.advice.path.device if read.advice.path else None
    return f"Does MSG_ZEROCOPY pay on the path{f' by {device}' if device else ''} ({read.file})?"


def _changes(answer: Advised) -> str:
    """Where zero-copy is better, and where worse."""
    if not answer.ratios:
        return "not measured"
    first, last = (style.size_text(answer.ratios[i].size) for i in (0, -1))
    worse, better = (style.size_text(size) if size else "" for size in (answer.worse, answer.better))
    undecided = [ratio.size for ratio in answer.ratios if ratio.verdict == INCONCLUSIVE
                 and ratio.size > (answer.better or ratio.size)]
    on = f"(open at {style.size_text(undecided[-1])})" if undecided else "on"
    return {"from": f"better from {better} {on}, "
                    + (f"worse up to {worse}" if worse else "not known below"),
            "always": f"better at every size tried, {first} to {last}",
            "never": f"worse at every size tried, {first} to {last}",
            "alike": "no difference found",
            "irregular": f"better at {better}, but worse at {worse}",
            "unknown": f"worse up to {worse}, not known above"}[answer.kind]


def _compared(advice: Advice) -> list[str]:
    return [f"By {METRICS[metric]}, zero-copy is: " + "; ".join(
        f"against {CALLS[a.against]} {_changes(a)}" for a in found) + "."
        for metric in METRICS if (found := [a for a in advice.answers if a.metric == metric])]


def _rests_on(advice: Advice) -> str:
    said = [advice.path.words.rstrip(". ") if advice.path else "the path was not measured"]
    if advice.blocks:
        said.append(f"{text.plural(advice.blocks, 'block')} of three short runs in {advice.elapsed_s:.0f} s")
    if advice.program:
        said.append(f"{advice.program.what}, watched for {words.number(advice.program.seconds)} s")
    return f"It rests on: {'; '.join(filter(None, said))}."


def _limits(path: Path) -> list[str]:
    said = [f"{name} {text.count(value)} bytes" for name, value in (
        ("optmem_max", path.optmem_max), ("memlock", path.memlock_bytes)) if value is not None]
    if path.receiver_limited and path.receiver_limited > RECEIVER_LIMITS:
        said.append("the receiver's window held the sender back "
                    f"{words.percent(path.receiver_limited)} of the time")
    return [f"Limits: {'; '.join(said)}."] * bool(said) + [
        f"Warning: {warning.rstrip('.')}." for warning in path.warnings]


def _not_shown(advice: Advice) -> list[str]:
    sizes = [r.size for a in advice.answers for r in a.ratios]
    said = ["Other paths, other machines, and messages whose memory is in a cache for another reason."]
    if sizes:
        said.append(f"Sizes below {style.size_text(min(sizes))} and above "
                    f"{style.size_text(max(sizes))} bytes, and between those tried.")
    if advice.path and not advice.path.traced:
        said.append("Copies that the kernel does not flag: it could not be asked.")
    if advice.seconds_more:
        said.append("What is open still: a budget of about "
                    f"{advice.seconds_more:.0f} s more would settle it.")
    if advice.interrupted:
        said.append("What would have been measured next: it was interrupted.")
    return said


def _row(answer: Advised, ratio: Ratio) -> tuple[str, ...]:
    return (METRICS[answer.metric], CALLS[answer.against], style.size_text(ratio.size),
            ratio.words, ratio.verdict, text.count(ratio.n))


def _tables(advice: Advice) -> list[Table]:
    tables = [Table(
        f"Zero-copy to the others; intervals in brackets reach {LEVEL}, better and worse are more "
        f"than {100 * MARGIN:g} % from 1", ("of", "against", "size (bytes)", "ratio", "zero-copy is", "blocks"),
        tuple(_row(a, r) for a in advice.answers for r in a.ratios))]
    if advice.program:
        tables.append(Table(
            f"Sends of {advice.program.what}",
            ("bytes a send", "without MSG_ZEROCOPY", "with it", "by sendfile and splice"),
            tuple((f"{text.count(c.low)} to {text.count(c.high)}", text.count(c.sends),
                   text.count(c.zerocopy_sends), text.count(c.other_sends))
                  for c in advice.program.classes)))
    return [table for table in tables if table.rows]


def answer(read: Read) -> Answer:
    advice = read.advice
    details = [_rests_on(advice), *(_limits(advice.path) if advice.path else []),
               *(f"Not shown: {one}" for one in _not_shown(advice))]
    known = sorted((r for a in advice.answers for r in a.ratios), key=lambda r: r.effect)
    ends = [f"{r.words} times at {style.size_text(r.size)}" for r in (*known[:1], *known[-1:])]
    return Answer(title(read), advice.recommendation, " to ".join(dict.fromkeys(ends)), " ".join(_compared(advice)),
                  f"sudo ./analyze advise --budget {advice.seconds_more + advice.elapsed_s:.0f}"
                  if advice.seconds_more else "", details=tuple(details), tables=tuple(_tables(advice)))
