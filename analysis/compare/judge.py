# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whether A is better than B: the one rule, described in docs/statistics.md. Pure.

The effect is the ratio by Hodges and Lehmann: the median of the averages of all two values (pairs), or
of all differences between two samples, of logarithms. Its interval ends at two of these points, by the
distribution of the signed-rank sum or of the rank sum. It assumes no distribution, only that noise is
the same for both. A verdict follows from that interval and the margin.
"""

import bisect
import collections
import functools
import itertools
import math

MARGIN = 0.03
ALPHA = 0.05  # the chance of one wrong verdict or more in a family
POWER = 0.8
MOST_REPEATS = 1000
PRACTICAL = 100  # repeats; nobody is advised to make more
BETTER, WORSE, SAME, INCONCLUSIVE = "better", "worse", "same", "inconclusive"
SIGNS = {BETTER: 1, WORSE: -1, SAME: 0, INCONCLUSIVE: 0}
NONE, FEW, WIDE = "no repeats", "too few repeats", "the interval is too wide"
EXACT = 50  # repeats; the sum of more is nearly normal
LARGEST = 200  # values of a sample; of a larger one so many quantiles stand in for it
BUCKET = math.log1p(1 / 16)  # the grain of percentiles, which are known to a bucket of their histogram

# points: in order. chances: of so many points or fewer on one side of the truth. fewest: repeats of which
# an interval reaches 1 - its argument. better: 1 more is, -1 less is. grain: by so much the truth of any
# value may be off.
# looks: the Samples that a sequential experiment had at each of its looks.
Sample = collections.namedtuple("Sample", "points chances n spread fewest better grain is_share looks",
                                defaults=((),))


class Judgment(collections.namedtuple("Judgment", "verdict value low high level n reason resolved repeats")):
    """low, high and level are None where the widest interval does not reach 1 - alpha. value, low and
    high are ratios, of shares differences; resolved, less 1, is the smallest effect that so wide an
    interval shows. repeats: so many might decide, in four cases of five; None: it is decided, or needs
    more than PRACTICAL.
    """
    __slots__ = ()

    @property
    def has_interval(self):
        return self.low is not None


def comparison(of, against, metric, found, discarded=(), **more):
    """A Judgment as an object of JSON, with what was compared (docs/run-record.md#comparisons)."""
    known = found.has_interval and found.high < math.inf
    return {"of": of, "against": against, "metric": metric, **more, "verdict": found.verdict,
            "reason": found.reason or None, "effect": found.value if math.isfinite(found.value) else None,
            "interval": [found.low, found.high] if known else None,
            "level": found.level if known else None, "n": found.n,
            "resolved": found.resolved if known and math.isfinite(found.resolved) else None,
            "repeats": found.repeats, "discarded": list(discarded)}


def looks(first):
    """After so many repeats a sequential experiment is judged: half as many more each time."""
    while 0 < first <= MOST_REPEATS:
        yield first
        first += (first + 1) // 2


def paired(logs, better=1, grain=0.0, repeats=(), first_look=None):
    """The Sample of logarithms of ratios, each of two runs that were made together. Of a sequential
    experiment: in which repeats, and after how many it was judged first.
    """
    if first_look:
        whole = [look for look in looks(first_look) if look <= max(repeats, default=0)] or [first_look]
        some = [paired([log for log, repeat in zip(logs, repeats) if repeat <= look], better, grain)
                for look in whole]
        return some[-1]._replace(looks=tuple(some))
    some = _some(logs)
    points = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(some, 2))
    return Sample(points, _signed_ranks(len(logs)), len(logs), _deviation(logs),
                  functools.partial(_fewest, lambda n: 2**n), better, grain, False)


def unpaired(a, b, better=1, grain=0.0, is_share=False):
    """The Sample of a / b, of shares a - b, of two independent samples; what has no ratio does not count."""
    if not is_share:
        a, b = ([math.log(value) for value in values if 0 < value < math.inf] for values in (a, b))
    # Where the chances are exact, they are of all points.
    some, other = (a, b) if len(a) * len(b) <= EXACT**2 else (_some(a), _some(b))
    points = sorted(x - y for x in some for y in other)
    return Sample(points, _rank_sums(len(a), len(b)), min(len(a), len(b)),
                  math.hypot(_deviation(a), _deviation(b)),
                  functools.partial(_fewest, lambda n: math.comb(2 * n, n)), better, grain, is_share)


def ratio_logs(pairs):
    """Logarithms of a / b, of those pairs that have one."""
    return [math.log(a) - math.log(b) for a, b in pairs if 0 < a < math.inf and 0 < b < math.inf]


def judge(samples, margin=MARGIN, alpha=ALPHA):
    """A Judgment of each sample; together they are one family.

    Of a sequential experiment look k may be wrong in alpha / (k (k + 1)), which adds up to alpha; a
    verdict stays, and the family of the next look are the samples that have none.
    """
    found, undecided = {}, list(range(len(samples)))
    for k in range(max((len(sample.looks) or 1 for sample in samples), default=0)):
        now = [i for i in undecided if k < (len(samples[i].looks) or 1)]
        spent = alpha / ((k + 1) * (k + 2)) if any(samples[i].looks for i in now) else alpha
        found.update(zip(now, _judge([samples[i].looks[k] if samples[i].looks else samples[i]
                                      for i in now], margin, spent)))
        undecided = [i for i in now if found[i].verdict == INCONCLUSIVE]
    return [found[i] for i in range(len(samples))]


def _judge(samples, margin, alpha):
    """At one look.

    By Holm's procedure: the clearest verdict is made at 1 - alpha / their number, the next one at 1 -
    alpha / the number left, until one is inconclusive; the rest is judged at the level of that step.
    A sample that could not be decided alone does not count.
    """
    edges = [margin if sample.is_share else math.log1p(margin) for sample in samples]
    tested = sorted((_p(sample, edge), i) for i, (sample, edge) in enumerate(zip(samples, edges))
                    if _rank(sample, alpha))
    left, steps = len(tested), {}
    for p, i in tested:
        steps[i] = alpha / left
        left -= p <= steps[i]
    return [_judged(sample, edge, alpha, steps.get(i, alpha / max(left, 1)))
            for i, (sample, edge) in enumerate(zip(samples, edges))]


# A row of comparisons is along the first of these that varies.
AXES = ("message_bytes", "threads", "connections", "fields")
# What follows from the axis: connections are as many as threads, and memory in flight follows from sizes.
FOLLOW = {("threads", "connections"), ("message_bytes", "inflight")}


def with_followers(axis):
    """Returns the axis and the keys whose values follow from it."""
    return {axis, *(key for of, key in FOLLOW if of == axis)}


def rows(cells):
    """Which row each of these cells is in: what it has but for the axis of the row. Cells are objects with
    equal keys and values that can be hashed. Along sizes either the number of fields or their size follows.
    """
    def distinct(key):
        return len({cell.get(key) for cell in cells})
    axis = next((axis for axis in AXES if distinct(axis) > 1), None)
    follow = with_followers(axis)
    if axis == "message_bytes" and cells[0].keys() >= {"fields", "field_size_bytes"}:
        follow.add(max("field_size_bytes", "fields", key=distinct))
    return [tuple(value for key, value in cell.items() if key not in follow) for cell in cells]


def judge_rows(samples, rows):
    """The same where samples with equal rows, which can be hashed, are a family each."""
    families = {}
    for sample, row in zip(samples, rows):
        families.setdefault(row, []).append(sample)
    found = {row: iter(judge(family)) for row, family in families.items()}
    return [next(found[row]) for row in rows]


def judge_one(sample, alpha=ALPHA):
    """The Judgment of a sample that is a family of its own."""
    return judge([sample], alpha=alpha)[0]


def _rank(sample, alpha):
    """The interval ends at this point from below and from above; 0: none reaches 1 - alpha."""
    return bisect.bisect_right(sample.chances, alpha / 2) if sample.points else 0


def _p(sample, edge):
    """The least alpha of which the interval decides: by the points that contradict the verdict."""
    def outside(edge):
        """How many points are below it on the one side, and above it on the other."""
        return bisect.bisect_left(points, -edge), len(points) - bisect.bisect_right(points, edge)
    points = sample.points
    return 2 * sample.chances[min(len(points) - max(outside(edge + sample.grain)),
                                  max(outside(edge - sample.grain)))]


def _judged(sample, edge, alpha, step):
    """alpha: of the family; step: of this sample."""
    points, rank, shown = sample.points, _rank(sample, step), float if sample.is_share else _exp
    if not points:
        return Judgment(INCONCLUSIVE, math.nan, None, None, None, 0, NONE, None, sample.fewest(step))
    effect = (points[(len(points) - 1) // 2] + points[len(points) // 2]) / 2
    repeats = _repeats(sample, abs(abs(effect) - edge), step)
    end = rank or min(_rank(sample, alpha), 1)
    if not end:
        return Judgment(INCONCLUSIVE, shown(effect), None, None, None, sample.n, FEW, None, repeats)
    low, high = points[end - 1] - sample.grain, points[-end] + sample.grain
    verdict = _verdict(low, high, edge, sample.better) if rank else INCONCLUSIVE
    reason = FEW if not rank else WIDE if verdict == INCONCLUSIVE else ""
    return Judgment(verdict, shown(effect), shown(low), shown(high), 1 - 2 * sample.chances[end - 1],
                    sample.n, reason, shown(edge + max(effect - low, high - effect)) - shown(0),
                    repeats if reason else None)


def _verdict(low, high, edge, better):
    """Of an interval beside the margin, from -edge to edge."""
    if low > edge or high < -edge:
        return BETTER if (low > edge) == (better > 0) else WORSE
    return SAME if -edge <= low and high <= edge else INCONCLUSIVE


def _repeats(sample, gap, step):
    """How many would have the interval end before the margin, which is so far from the effect."""
    width = (_quantile(1 - step / 2) + _quantile(POWER)) * math.sqrt(math.pi / 3) * sample.spread
    needed = max((width / gap)**2 if gap else math.inf, sample.fewest(step), sample.n + 1)
    return math.ceil(needed) if needed <= PRACTICAL else None


def _fewest(arrangements, alpha):
    """Repeats of which the widest interval reaches 1 - alpha."""
    return next(n for n in itertools.count(1) if 2 / arrangements(n) <= alpha)


def _some(values):
    ordered, count = sorted(map(float, values)), len(values)
    return ordered if count <= LARGEST else [ordered[(2 * i + 1) * count // (2 * LARGEST)]
                                             for i in range(LARGEST)]


def _deviation(values):
    """The standard deviation; 0 of fewer than two values, which show none."""
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean)**2 for value in values) / (len(values) - 1))


@functools.lru_cache(None)
def _signed_ranks(n):
    """chances of n pairs: subsets of 1..n by their sums."""
    most = n * (n + 1) // 2
    if n > EXACT:
        some = min(n, LARGEST)
        return _normal(some * (some + 1) // 2, most, n * (n + 1) * (2 * n + 1) / 24)
    subsets = [1] + [0] * most
    for one in range(1, n + 1):
        for total in range(most, one - 1, -1):
            subsets[total] += subsets[total - one]
    return [count / 2**n for count in itertools.accumulate(subsets)]


@functools.lru_cache(None)
def _rank_sums(n, m):
    """chances of n x m differences: the coefficients of the Gaussian binomial, product by quotient."""
    if n * m > EXACT**2:
        return _normal(min(n, LARGEST) * min(m, LARGEST), n * m, n * m * (n + m + 1) / 12)
    counts = [1] + [0] * (n * m)
    for one in range(1, min(n, m) + 1):
        for total in range(n * m, max(n, m) + one - 1, -1):
            counts[total] -= counts[total - max(n, m) - one]
        for total in range(one, n * m + 1):
            counts[total] += counts[total - one]
    return [count / math.comb(n + m, n) for count in itertools.accumulate(counts)]


def _normal(points, most, variance):
    """chances of points, which stand for so many."""
    deviation = most / math.sqrt(2 * variance)
    return [math.erfc((0.5 - (count + 0.5) / points) * deviation) / 2 for count in range(points + 1)]


@functools.lru_cache(None)
def _quantile(chance):
    """Of the normal distribution, in standard deviations."""
    low, high = -40.0, 40.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if math.erfc(-middle / math.sqrt(2)) / 2 < chance else (low, middle)
    return middle


def _exp(logarithm):
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf
