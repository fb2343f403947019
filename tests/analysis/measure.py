# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the tables of docs/statistics.md anew (some minutes):

analysis/.venv/bin/python3 tests/analysis/measure.py
"""

import pathlib
import sys
import warnings

import numpy as np
import scipy.stats

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from analysis.stats import crossover, decision, steps  # noqa: E402
from analysis.stats.interval import median  # noqa: E402
from analysis.stats.ratio import of_logs  # noqa: E402

DRAWS = 2000
SIZES = (1, 2, 4, 8, 16, 32)
NOISE = 0.1


def ours(values):
    found = median(values)
    return found.low, found.high


def bootstrapped(method):
    def interval(values):
        return scipy.stats.bootstrap((values,), np.median, n_resamples=999, method=method,
                                     rng=np.random.default_rng(7)).confidence_interval
    return interval


def coverage(interval, repeats, random):
    """Of samples whose median is 0, the share whose interval holds it."""
    return np.mean([low <= 0 <= high for low, high in (
        interval(random.normal(0, 1, repeats)) for _ in range(DRAWS))])


def normal(random, shape):
    return random.normal(0, NOISE, shape)


def disturbed(random, shape):
    """One run in seven is three times slower."""
    return normal(random, shape) - np.where(random.random(shape) < 0.15, np.log(3), 0)


def any_sure(ratios):
    corrected = decision.holm([ratio.p for ratio in ratios])
    return any(ratio.is_significant(p) for ratio, p in zip(ratios, corrected))


def of_pairs(random, repeats, noise):
    logs = noise(random, (repeats, 6)) - noise(random, (repeats, 6))
    return any_sure([of_logs(column) for column in logs.T])


def of_crossovers(random, repeats, noise):
    logs = noise(random, (repeats, 6)) - noise(random, (repeats, 6))
    return crossover.find(SIZES, logs).answer != crossover.INCONCLUSIVE


def of_falls(random, repeats, noise):
    return any(step.direction for step in steps.along(range(1, 33), noise(random, (repeats, 32))))


def least_found(repeats, tests, noise=0.03):
    """The least difference that is found in four of five experiments, as a share."""
    low, high = 1e-4, 3.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        needed = decision.needed_for(middle, np.sqrt(2) * noise, tests)
        low, high = (low, middle) if needed and needed <= repeats else (middle, high)
    return np.expm1(high)


def main():
    warnings.simplefilter("ignore")  # a bootstrap of equal values
    random = np.random.default_rng(1)
    print("level reached where 95 % are asked for: repeats, ours, percentile, BCa bootstrap")
    for repeats in (5, 6, 7, 8, 10, 15, 20):
        print(repeats, *(f"{100 * coverage(interval, repeats, random):.1f} %" for interval in
                         (ours, bootstrapped("percentile"), bootstrapped("BCa"))), flush=True)
    print("false alarms: noise, repeats, ratios in pairs, crossover, fall")
    for noise in (normal, disturbed):
        for repeats in (5, 10):
            print(noise.__name__, repeats, *(
                f"{100 * np.mean([alarm(random, repeats, noise) for _ in range(DRAWS)]):.1f} %"
                for alarm in (of_pairs, of_crossovers, of_falls)), flush=True)
    print("least difference that is found, runs varying by 3 %: repeats, of 1, 6, 24 comparisons")
    for repeats in (5, 7, 10, 20):
        print(repeats, *(f"{100 * least_found(repeats, tests):.0f} %" for tests in (1, 6, 24)))


if __name__ == "__main__":
    main()
