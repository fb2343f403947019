# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Decides whether A is better than B, by the one rule of docs/statistics.md. Pure.

The effect is a ratio: the Hodges-Lehmann estimate, computed from logarithms. Its points are the averages of every
two values (for pairs), or all differences between two samples; their median is the effect. The interval ends at
two of the points, which the distribution of the signed-rank sum or of the rank sum selects. The rule assumes no
distribution of values, only that noise is the same for A and B. The interval and the margin decide the verdict.
"""

import bisect
import collections
import functools
import itertools
import math

from analysis.compare import settings

MARGIN = 0.03
ALPHA = 0.05  # the chance of one wrong verdict or more in a family
POWER = 0.8
MOST_REPEATS = 1000
PRACTICAL = 100  # repeats; a report never recommends more
BETTER, WORSE, SAME, INCONCLUSIVE = "better", "worse", "same", "inconclusive"
SIGNS = {BETTER: 1, WORSE: -1, SAME: 0, INCONCLUSIVE: 0}
NONE, FEW, WIDE = "no repeats", "too few repeats", "the interval is too wide"
EXACT = 50  # repeats; with more, the normal distribution replaces the exact one
LARGEST = 200  # a sample of more values is reduced to this number of quantiles
BUCKET = math.log1p(1 / 16)  # the width of a bucket, which is the error of percentiles from a histogram

# points: sorted. chances[i]: the chance of at most i points on one side of the true effect. fewest(alpha): the fewest
# repeats whose interval can reach the level 1 - alpha. better: 1 if more is better, -1 if less is better. bucket_width:
# the largest error of a value. looks: the Samples of a sequential experiment, one for each look.
Sample = collections.namedtuple("Sample", "points chances n spread fewest better bucket_width is_share looks",
                                defaults=((),))


class Judgment(collections.namedtuple("Judgment", "verdict value low high level n reason resolved repeats")):
    """A verdict. value, low and high are ratios, or differences of shares; low, high and level are None if the widest
    interval does not reach the level 1 - alpha. resolved: the smallest effect that an interval of this width
    shows, as ratio - 1 or difference of shares. repeats: the number of repeats that would decide in four cases of
    five; None: the verdict is decided, or the number is above PRACTICAL.
    """
    __slots__ = ()

    @property
    def has_interval(self):
        return self.low is not None


def comparison(of, against, metric, found, discarded=(), **more):
    """Returns a Judgment and its subject as an object of JSON (docs/run-record.md#comparisons)."""
    known = found.has_interval and found.high < math.inf
    return {"of": of, "against": against, "metric": metric, **more, "verdict": found.verdict,
            "reason": found.reason or None, "effect": found.value if math.isfinite(found.value) else None,
            "interval": [found.low, found.high] if known else None,
            "level": found.level if known else None, "n": found.n,
            "resolved": found.resolved if known and math.isfinite(found.resolved) else None,
            "repeats": found.repeats, "discarded": list(discarded)}


def looks(first):
    """Yields the numbers of repeats after which a sequential experiment is judged: each is half as large again."""
    while 0 < first <= MOST_REPEATS:
        yield first
        first += (first + 1) // 2


def paired(logs, better=1, bucket_width=0.0, repeats=(), first_look=None):
    """Returns the Sample of logs: logarithms of ratios, one for each pair of runs. For a sequential experiment, repeats
    has the repeat of each pair, and first_look the number of repeats before the first look.
    """
    if first_look:
        whole = [look for look in looks(first_look) if look <= max(repeats, default=0)] or [first_look]
        some = [paired([log for log, repeat in zip(logs, repeats) if repeat <= look], better, bucket_width)
                for look in whole]
        return some[-1]._replace(looks=tuple(some))
    some = _some(logs)
    points = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(some, 2))
    return Sample(points, _signed_ranks(len(logs)), len(logs), _deviation(logs),
                  functools.partial(_fewest, lambda n: 2**n), better, bucket_width, False)


def unpaired(a, b, better=1, bucket_width=0.0, is_share=False):
    """Returns the Sample of a / b, or for shares of a - b, for unpaired values. Drops values that have no ratio."""
    if not is_share:
        a, b = ([math.log(value) for value in values if 0 < value < math.inf] for values in (a, b))
    # The exact distribution applies only to all points.
    some, other = (a, b) if len(a) * len(b) <= EXACT**2 else (_some(a), _some(b))
    points = sorted(x - y for x in some for y in other)
    return Sample(points, _rank_sums(len(a), len(b)), min(len(a), len(b)),
                  math.hypot(_deviation(a), _deviation(b)),
                  functools.partial(_fewest, lambda n: math.comb(2 * n, n)), better, bucket_width, is_share)


def ratio_logs(pairs):
    """Returns the logarithms of a / b, for pairs that have one."""
    return [math.log(a) - math.log(b) for a, b in pairs if 0 < a < math.inf and 0 < b < math.inf]


def judge(samples, margin=MARGIN, alpha=ALPHA):
    """Returns a Judgment of each sample. The samples are one family.

    Look k of a sequential experiment may be wrong with the chance alpha / (k (k + 1)); these chances add up to alpha.
    A sample keeps its first verdict, and the samples that have none are the family of the next look.
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
    """Judges samples at one look, by Holm's procedure.

    The clearest of n samples is judged at the level 1 - alpha / n, the next one at 1 - alpha / (n - 1), until one is
    inconclusive. All later samples are judged at the level of that one. Samples that could not be decided even alone,
    at the level 1 - alpha, do not count in n.
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


# Comparisons form rows along the first of these keys that varies.
AXES = ("message_bytes", "threads", "connections", "fields")


def with_followers(axis):
    """Returns the axis and the keys whose values follow from it."""
    return {axis, *(key for of, key in settings.FOLLOW if of == axis)}


def rows(configurations):
    """Returns the row of each configuration: a tuple of the values that do not change along the row. Configurations are
    dicts with equal keys and hashable values. Along sizes either the number of fields or their size changes.
    """
    def distinct(key):
        return len({one.get(key) for one in configurations})
    axis = next((axis for axis in AXES if distinct(axis) > 1), None)
    follow = with_followers(axis)
    if axis == "message_bytes" and configurations[0].keys() >= {"fields", "field_size_bytes"}:
        follow.add(max("field_size_bytes", "fields", key=distinct))
    return [tuple(value for key, value in one.items() if key not in follow) for one in configurations]


def judge_rows(samples, rows):
    """Returns a Judgment of each sample. Samples with equal rows are one family. rows: hashable, one per sample."""
    families = {}
    for sample, row in zip(samples, rows):
        families.setdefault(row, []).append(sample)
    found = {row: iter(judge(family)) for row, family in families.items()}
    return [next(found[row]) for row in rows]


def judge_one(sample, alpha=ALPHA):
    """Returns the Judgment of a sample that is a family of its own."""
    return judge([sample], alpha=alpha)[0]


def _rank(sample, alpha):
    """Returns r: the interval goes from the r-th smallest to the r-th largest point; 0: none reaches 1 - alpha."""
    return bisect.bisect_right(sample.chances, alpha / 2) if sample.points else 0


def _p(sample, edge):
    """Returns the least alpha at which the interval decides: it follows from how many points contradict the verdict."""
    def outside(edge):
        """Returns the numbers of points below -edge and above edge."""
        return bisect.bisect_left(points, -edge), len(points) - bisect.bisect_right(points, edge)
    points = sample.points
    return 2 * sample.chances[min(len(points) - max(outside(edge + sample.bucket_width)),
                                  max(outside(edge - sample.bucket_width)))]


def _judged(sample, edge, alpha, step):
    """Returns the Judgment of a sample. alpha: the family's error level. step: this sample's, by Holm's procedure."""
    points, rank, shown = sample.points, _rank(sample, step), float if sample.is_share else _exp
    if not points:
        return Judgment(INCONCLUSIVE, math.nan, None, None, None, 0, NONE, None, sample.fewest(step))
    effect = (points[(len(points) - 1) // 2] + points[len(points) // 2]) / 2
    repeats = _repeats(sample, abs(abs(effect) - edge), step)
    end = rank or min(_rank(sample, alpha), 1)
    if not end:
        return Judgment(INCONCLUSIVE, shown(effect), None, None, None, sample.n, FEW, None, repeats)
    low, high = points[end - 1] - sample.bucket_width, points[-end] + sample.bucket_width
    verdict = _verdict(low, high, edge, sample.better) if rank else INCONCLUSIVE
    reason = FEW if not rank else WIDE if verdict == INCONCLUSIVE else ""
    return Judgment(verdict, shown(effect), shown(low), shown(high), 1 - 2 * sample.chances[end - 1],
                    sample.n, reason, shown(edge + max(effect - low, high - effect)) - shown(0),
                    repeats if reason else None)


def _verdict(low, high, edge, better):
    """Returns the verdict of an interval; the margin is from -edge to edge."""
    if low > edge or high < -edge:
        return BETTER if (low > edge) == (better > 0) else WORSE
    return SAME if -edge <= low and high <= edge else INCONCLUSIVE


def _repeats(sample, gap, step):
    """Returns how many repeats would make the interval end before the margin, which is gap away from the effect; None:
    more than PRACTICAL."""
    width = (_quantile(1 - step / 2) + _quantile(POWER)) * math.sqrt(math.pi / 3) * sample.spread
    needed = max((width / gap)**2 if gap else math.inf, sample.fewest(step), sample.n + 1)
    return math.ceil(needed) if needed <= PRACTICAL else None


def _fewest(arrangements, alpha):
    """Returns the fewest repeats whose widest interval reaches the level 1 - alpha."""
    return next(n for n in itertools.count(1) if 2 / arrangements(n) <= alpha)


def _some(values):
    ordered, count = sorted(map(float, values)), len(values)
    return ordered if count <= LARGEST else [ordered[(2 * i + 1) * count // (2 * LARGEST)]
                                             for i in range(LARGEST)]


def _deviation(values):
    """Returns the standard deviation; 0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean)**2 for value in values) / (len(values) - 1))


@functools.lru_cache(None)
def _signed_ranks(n):
    """Returns Sample.chances for n pairs, from the number of subsets of 1..n with each sum."""
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
    """Returns Sample.chances for n x m differences: multiplies the Gaussian binomial out, factor by factor."""
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
    """Returns Sample.chances by the normal distribution. most, variance: largest value and variance of the rank sum."""
    deviation = most / math.sqrt(2 * variance)
    return [math.erfc((0.5 - (count + 0.5) / points) * deviation) / 2 for count in range(points + 1)]


@functools.lru_cache(None)
def _quantile(chance):
    """Returns a quantile of the normal distribution, in standard deviations."""
    low, high = -40.0, 40.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if math.erfc(-middle / math.sqrt(2)) / 2 < chance else (low, middle)
    return middle


def _exp(logarithm):
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf
