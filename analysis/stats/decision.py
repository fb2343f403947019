# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Is a step along an axis one? A test, and its correction for being many.

It is significant when its interval, which does not take values for normal, leaves out "none", and a
t-test on logarithms, which does, says so even after Holm's correction for all the tests made together.
"""

import dataclasses
import math
import warnings

import numpy as np
import scipy.stats

from analysis.stats.interval import Estimate, median

ALPHA = 0.05


def paired_p(logs) -> float:
    """Two-sided p of the mean of logarithms of ratios being 0. NaN without two values."""
    logs = np.asarray(logs, dtype=float)
    if len(logs) < 2:
        return float("nan")
    # Without any noise, which no t-test takes, a difference is one, however small.
    if logs.std(ddof=1) / np.sqrt(len(logs)) <= 1e-15 * max(abs(logs.mean()), 1e-300):
        return float(logs.mean() == 0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Precision loss")  # of values that are nearly equal
        return float(scipy.stats.ttest_1samp(logs, 0).pvalue)


def holm(ps) -> np.ndarray:
    """The p values of tests made together, corrected: the chance of even one false alarm among
    those at most ALPHA is at most ALPHA. NaN (not tested) stays NaN and does not count."""
    ps = np.asarray(ps, dtype=float)
    order = np.argsort(ps)
    order = order[~np.isnan(ps[order])]
    left = len(order) - np.arange(len(order))
    corrected = np.full(len(ps), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(ps[order] * left), 1)
    return corrected


@dataclasses.dataclass(frozen=True)
class Ratio:
    """a / b over pairs. p is of there being no difference, uncorrected; logs are kept for what
    is asked further of the same pairs."""
    estimate: Estimate
    p: float
    logs: np.ndarray

    def is_significant(self, corrected_p: float) -> bool:
        """Not 1, both by its own interval and by its p after correction for all tests."""
        return self.estimate.excludes(1) and corrected_p <= ALPHA

    @property
    def sign(self) -> int:
        return int(np.sign(np.median(self.logs))) if len(self.logs) else 0


def of_logs(logs) -> Ratio:
    """Of logarithms of ratios. Without any, the estimate is NaN of 0 pairs."""
    logs = np.asarray(logs, dtype=float)
    if not len(logs):
        return Ratio(Estimate(math.nan, 0), math.nan, logs)
    return Ratio(median(logs).map(np.exp), paired_p(logs), logs)
