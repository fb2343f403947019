# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the tables of docs/statistics.md (some minutes):

analysis/.venv/bin/python3 tests/analysis/measure.py
"""

import pathlib
import sys
import warnings

import numpy as np
import scipy.stats

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from analysis.stats.interval import median  # noqa: E402

DRAWS = 2000


def ours(values):
    found = median(values)
    return found.low, found.high


def bootstrapped(method):
    def interval(values):
        return scipy.stats.bootstrap((values,), np.median, n_resamples=999, method=method,
                                     rng=np.random.default_rng(7)).confidence_interval
    return interval


def coverage(interval, repeats, random):
    """Returns the share of samples with the median 0 whose interval includes 0."""
    return np.mean([low <= 0 <= high for low, high in (
        interval(random.normal(0, 1, repeats)) for _ in range(DRAWS))])


def main():
    warnings.simplefilter("ignore")  # a bootstrap of equal values warns
    random = np.random.default_rng(1)
    print("level reached where 95 % are asked for: repeats, ours, percentile, BCa bootstrap")
    for repeats in (5, 6, 7, 8, 10, 15, 20):
        print(repeats, *(f"{100 * coverage(interval, repeats, random):.1f} %" for interval in
                         (ours, bootstrapped("percentile"), bootstrapped("BCa"))), flush=True)


if __name__ == "__main__":
    main()
