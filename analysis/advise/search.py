# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Finds the size from which zero-copy pays: decides what to measure next, and what the results show. Pure.

A block has one short run of each variant at one size, made one after the other; its ratios are paired. A
size is judged after fixed numbers of blocks (LOOKS), each time at a very high confidence level. All looks at
all sizes, for four questions, therefore hardly ever find a difference that does not exist.
"""

from __future__ import annotations

import dataclasses
from typing import Optional

from analysis.compare import judge
from analysis.tables.advice import CALLS, METRICS

SIZES = tuple(1 << n for n in range(10, 21))
FIRST = (SIZES[-1], 32 << 10)
LOOKS = (11, 16, 22, 30)
WRONG = 0.001  # the chance that the interval of one look misses the ratio


@dataclasses.dataclass(frozen=True)
class Run:
    """The throughput in bit/s, and the CPU time of both ends in seconds per byte."""
    throughput: float
    cpu: float


@dataclasses.dataclass(frozen=True)
class Ratio:
    """The ratio of zero-copy to another way of sending at one size, from n blocks. Fields: as in judge.comparison()."""
    of: str
    against: str
    metric: str
    size: int
    verdict: str
    reason: Optional[str]
    effect: Optional[float]
    interval: Optional[tuple[float, ...]]
    level: Optional[float]
    n: int
    resolved: Optional[float]
    repeats: Optional[int]
    discarded: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Answer:
    """How zero-copy compares with one other way of sending by one metric. kind is one of

    from: zero-copy is better from size `better` on, and worse up to size `worse` (None: unknown);
    always, never: better, or worse, at every size tried; irregular: better at a size below one where it is worse;
    alike: no difference was found; unknown: worse up to size `worse`, and unknown above this size.
    """
    against: str
    metric: str
    kind: str
    worse: Optional[int]
    better: Optional[int]
    ratios: tuple[Ratio, ...]


@dataclasses.dataclass(frozen=True)
class Crossover:
    """The sizes that decide. From size `pays` on, zero-copy is better than both other ways by the metric of `best`;
    up to size `costs` it is worse than one of them. None: no such size was found."""
    costs: int | None
    pays: int | None
    best: Answer | None


def deciding(answers: list[Answer]) -> list[Answer]:
    """Returns the answers by CPU time, or the answers by throughput if CPU time shows no difference to any call."""
    of = [[a for a in answers if a.metric == metric] for metric in METRICS]
    return next((some for some in of if any(a.kind != "alike" for a in some)), [])


def crossover(answers: list[Answer]) -> Crossover:
    """Returns the Crossover by the metric that decides."""
    of = deciding(answers)
    costs = max((a.worse for a in of if a.worse and a.kind != "irregular"), default=None)
    if of and all(a.kind in ("from", "always") for a in of):
        last = max(of, key=lambda a: a.better)
        return Crossover(costs, last.better, last)
    return Crossover(costs, None, None)


class Search:
    """The blocks so far. A block is {variant: Run}."""

    def __init__(self):
        self.blocks = {}

    def add(self, size: int, block: dict[str, Run]) -> None:
        self.blocks.setdefault(size, []).append(block)

    def _logs(self, size, against, metric):
        return judge.ratio_logs([(getattr(block["zerocopy"], metric), getattr(block[against], metric))
                                 for block in self.blocks[size]])

    def judged(self, size: int, against: str, metric: str) -> judge.Judgment | None:
        """Returns the Judgment at the first look that decides, or else at the latest look; None before the first."""
        found, logs = None, self._logs(size, against, metric)
        for look in LOOKS:
            if look > len(logs) or found and found.verdict != judge.INCONCLUSIVE:
                break
            found = judge.judge_one(judge.paired(logs[:look], 1 if metric == "throughput" else -1),
                                    alpha=WRONG)
        return found

    def answer(self, against: str, metric: str) -> Answer:
        judged = [(size, self.judged(size, against, metric)) for size in sorted(self.blocks)]
        ratios = tuple(Ratio(**judge.comparison("zerocopy", against, metric, one, size=size))
                       for size, one in judged if one)
        worse = [r.size for r in ratios if r.verdict == judge.WORSE]
        better = [r.size for r in ratios if r.verdict == judge.BETTER]
        ends = (max(worse, default=None), min(better, default=None))
        if worse and better:
            kind = "from" if ends[0] < ends[1] else "irregular"
        elif better:
            kind = "always" if ends[1] == SIZES[0] else "from"
        elif worse:
            kind = "never" if ends[0] == SIZES[-1] else "unknown"
        else:
            kind = "alike"
        return Answer(against, metric, kind, *ends, ratios)

    def answers(self) -> list[Answer]:
        return [self.answer(against, metric) for metric in METRICS for against in CALLS]

    def next_size(self) -> int | None:
        """Returns the size to measure next; None: all is decided, or no allowed number of blocks would decide it."""
        for size in FIRST:
            if len(self.blocks.get(size, ())) < LOOKS[0]:
                return size
        for size, blocks in self.blocks.items():  # first complete the blocks that the next look at a size needs
            if len(blocks) not in LOOKS and len(blocks) < LOOKS[-1]:
                return size
        wanted = (find(answer) for answer in self.answers() for find in (self._undecided, self._untried))
        return next(filter(None, wanted), None)

    def _undecided(self, answer):
        """Returns the largest size at which more blocks could decide: zero-copy gains most there."""
        return max((size for size, one in self._open(answer)
                    if one.n < LOOKS[-1] and size < (answer.better or 2 * SIZES[-1])), default=None)

    def _open(self, answer):
        """Yields the inconclusive sizes above those at which zero-copy is worse, with their Judgments."""
        for r in answer.ratios:
            one = self.judged(r.size, answer.against, answer.metric)
            if one.verdict == judge.INCONCLUSIVE and r.size > (answer.worse or 0):
                yield r.size, one

    def _untried(self, answer):
        """Returns a size that was not tried, in the middle of a gap. The gap lies below the smallest size at which
        zero-copy is better, or else above the largest size at which it is worse. Returns None if there is no gap, or
        unless zero-copy is better from some size on."""
        if answer.kind != "from":
            return None
        tried = [0, *(r.size for r in answer.ratios)]
        below = max(size for size in tried if size < answer.better)
        above = min(size for size in tried if size > (answer.worse or 0))
        for low, high in (below, answer.better), (answer.worse or 0, above):
            between = [size for size in SIZES if low < size < high]
            if between:
                return between[len(between) // 2]
        return None

    def blocks_needed(self, answer: Answer) -> int | None:
        """Returns how many more blocks would decide all undecided sizes if the ratios stay the same; None: a size would
        need more blocks than are allowed."""
        if not answer.ratios:  # no size was judged yet
            return sum(LOOKS[0] - len(self.blocks.get(size, ())) for size in FIRST)
        more = [one.repeats - one.n if one.repeats and one.repeats <= LOOKS[-1] else None
                for _, one in self._open(answer)]
        return sum(more) if None not in more else None
