# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Is there a difference? Tests, their correction for being many, and repeats that would do.

A difference is significant when its interval, which does not take values for normal, leaves out
"none", and a t-test on logarithms, which does, says so even after Holm's correction for all the
tests made together.
The second is needed because no test without assumptions can be significant with five repeats: all
five on one side happens by chance in one of sixteen cases.
"""

import bisect
import warnings

import numpy as np
import scipy.stats

ALPHA = 0.05
POWER = 0.8
MOST_REPEATS = 1000


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


def repeats_needed(logs, tests: int = 1) -> int | None:
    """How many pairs would make a difference such as is seen significant, in four cases of
    five, if it is real and the noise stays what it is; None: more than MOST_REPEATS.

    logs: logarithms of the ratios seen, two or more. tests: how many are made together.
    """
    logs = np.asarray(logs, dtype=float)
    return needed_for(float(np.median(logs)), float(np.std(logs, ddof=1)), tests)


def needed_for(difference: float, spread: float, tests: int = 1) -> int | None:
    """The same from a difference of logarithms, and the standard deviation of what it is of."""
    effect = abs(difference) / max(spread, 1e-12)
    # The interval must leave out "none" too, and a median varies more than a mean.
    by_interval = (MEDIAN_SPREAD * (NORMAL_LEVEL + NORMAL_POWER) / max(effect, 1e-12))**2
    if by_interval > MOST_REPEATS:
        return None
    fewest = max(FEWEST, int(np.ceil(by_interval)))
    enough = range(fewest, MOST_REPEATS + 1)
    found = bisect.bisect_left(enough, POWER, key=lambda n: _power(effect, n, tests))
    return enough[found] if found < len(enough) else None


# The interval of fewer leaves nothing out.
FEWEST = 5
# Of the median of normal values, in standard deviations of their mean.
MEDIAN_SPREAD = np.sqrt(np.pi / 2)
NORMAL_LEVEL = float(scipy.stats.norm.ppf(1 - ALPHA / 2))
NORMAL_POWER = float(scipy.stats.norm.ppf(POWER))


def _power(effect, n, tests):
    """Of the t-test of n pairs that differ by effect standard deviations, of which more than 30
    standard errors are as good as 30."""
    critical = scipy.stats.t.isf(ALPHA / tests / 2, n - 1)
    return scipy.stats.nct.sf(critical, n - 1, min(effect * np.sqrt(n), 30))
