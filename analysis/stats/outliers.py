# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Flags outliers among the repeats of a configuration, and among hosts. Outliers are never removed."""

import numpy as np

# The chance that one of several repeats is flagged although none is an outlier.
ALPHA = 0.01
FEWEST = 5


def flags(rows) -> np.ndarray:
    """Returns which values of each row (any unit) are outliers, on a logarithmic scale if all values are positive. A
    row of fewer than five values has none.

    Each value is compared with the mean and the spread of the other values by the t-distribution (the externally
    studentised residual). The error level is ALPHA divided by the number of values, because each of them is tested.
    """
    rows = np.asarray(rows, dtype=float)
    n = rows.shape[-1]
    if n < FEWEST:
        return np.zeros(rows.shape, dtype=bool)
    from scipy.special import stdtrit  # the import takes as long as those of polars and numpy together

    positive = (rows > 0).all(axis=-1, keepdims=True)
    rows = np.where(positive, np.log(np.where(positive, rows, 1)), rows)
    mean, squares = rows.mean(axis=-1, keepdims=True), rows.var(axis=-1, keepdims=True) * n
    # The distance from the mean of the other values, and the variance of the other values.
    off = (rows - mean) * n / (n - 1)
    left = np.maximum(squares - off * (rows - mean), 0) / (n - 2)
    # Differences that rounding can explain make no outlier.
    spread = np.maximum(np.sqrt(left), 1e-9 * np.maximum(np.abs(mean), 1e-9))
    critical = stdtrit(n - 2, 1 - ALPHA / n / 2)
    return np.abs(off) > critical * spread * np.sqrt(n / (n - 1))


# The median of fewer hosts means little.
FEWEST_HOSTS = 4
# (bound, limit): among n < bound equal hosts with normal noise, the largest distance from the median, in robust
# standard deviations, exceeds the limit in less than 1 % of draws (tests/analysis/test_hosts.py).
LIMITS = ((6, 20.0), (16, 10.0), (1 << 62, 6.0))
NORMAL_MAD = 1.4826


def limit(n: int) -> float:
    """Returns the limit among n hosts, in robust standard deviations."""
    return next(distance for below, distance in LIMITS if n < below)


def names_of(values: dict[str, float], least: float, as_ratios: bool = False) -> list[str]:
    """Returns the names whose value differs from the median by more than limit() robust standard deviations
    (NORMAL_MAD times the median absolute deviation) and by more than `least`, which is a factor for ratios. A few
    outliers hardly change these two medians, so they cannot hide each other.
    """
    if len(values) < FEWEST_HOSTS:
        return []
    numbers = np.array(list(values.values()), dtype=float)
    if as_ratios:
        numbers, least = np.log(numbers), np.log(least)
    away = np.abs(numbers - np.median(numbers))
    bound = max(limit(len(values)) * NORMAL_MAD * np.median(away), least)
    return [name for name, distance in zip(values, away) if distance > bound * (1 + 1e-9)]
