# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Change points: where along a sweep a curve changes its course.

The curve is taken as pieces that are straight on logarithmic axes and joined at values that
were tried: the fewest pieces that repeats do not contradict. What repeats of one value differ
by is the noise; what the pieces miss beyond that (an F-test of lack of fit) asks for one more.
"""

import dataclasses
import itertools

import numpy as np
import scipy.stats

from analysis.stats.decision import ALPHA

MOST = 3
FEWEST_REPEATS = 3


@dataclasses.dataclass(frozen=True)
class Bend:
    """At x, which may as well be anywhere in low..high, the course changes. before and after:
    by which factor the value changes for a doubling of x."""
    x: float
    low: float
    high: float
    before: float
    after: float


@dataclasses.dataclass(frozen=True)
class Bends:
    """bends: none if one straight piece will do. fits: False where even MOST bends do not
    describe the curve, and none are told. p: of the pieces that are told describing it."""
    bends: tuple[Bend, ...]
    fits: bool
    p: float


def find(axis, logs) -> Bends | None:
    """axis: k >= 4 rising positive values; logs: a row a block, a column a value: log of what
    is followed. Blocks that lack a value are left out; None with fewer than three others."""
    axis, logs = np.log2(np.asarray(axis, dtype=float)), np.asarray(logs, dtype=float)
    logs = logs[~np.isnan(logs).any(axis=1)]
    repeats, k = logs.shape
    if repeats < FEWEST_REPEATS or k < 4:
        return None
    curve, noise, freedom = _noise(logs)
    for count in range(min(MOST, k - 3) + 1):
        fits = _fits(axis, curve, count)
        best = min(fits, key=lambda fit: fit[0])
        p = _lack_of_fit(best[0] * repeats, k - 2 - count, noise, freedom)
        if p > ALPHA:
            slack = scipy.stats.f.ppf(1 - ALPHA, 1, freedom) * noise / repeats
            return Bends(tuple(_bends(axis, fits, best, slack)), True, p)
    return Bends((), False, p)


def _noise(logs):
    """The mean curve; variance of a value about it, what a block has in common taken out, and
    its degrees of freedom."""
    repeats, k = logs.shape
    curve = logs.mean(axis=0)
    rest = logs - curve - logs.mean(axis=1, keepdims=True) + logs.mean()
    freedom = (repeats - 1) * (k - 1)
    return curve, max(float((rest**2).sum()) / freedom, 1e-18), freedom


def _lack_of_fit(missed, freedom_of_fit, noise, freedom):
    return float(scipy.stats.f.sf(missed / freedom_of_fit / noise, freedom_of_fit, freedom))


def _design(axis, knots):
    return np.column_stack([np.ones_like(axis), axis] +
                           [np.maximum(axis - axis[knot], 0) for knot in knots])


def _fits(axis, curve, count):
    """(squares missed, knots, coefficients) of every choice of that many knots."""
    fits = []
    for knots in itertools.combinations(range(1, len(axis) - 1), count):
        design = _design(axis, knots)
        coefficients = np.linalg.lstsq(design, curve, rcond=None)[0]
        fits.append((float(((design @ coefficients - curve)**2).sum()), knots, coefficients))
    return fits


def _bends(axis, fits, best, slack):
    missed, knots, coefficients = best
    slopes = np.cumsum(coefficients[1:])
    for i, knot in enumerate(knots):
        near = [fit[1][i] for fit in fits if fit[0] <= missed + slack]
        yield Bend(*(float(2**axis[j]) for j in (knot, min(near), max(near))),
                   float(np.exp(slopes[i])), float(np.exp(slopes[i + 1])))
