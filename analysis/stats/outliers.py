# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What stands apart: repeats from the others of their cell, hosts from the other hosts. They are
flagged, never removed."""

import numpy as np
import scipy.special

# The chance that one is flagged among repeats of which none stands apart.
ALPHA = 0.01
FEWEST = 5


def flags(rows) -> np.ndarray:
    """Which of these values (of any unit; of a matrix, of each row) stand apart from the others,
    on a logarithmic scale where all are positive. Fewer than five do not show that.

    Each is compared with the mean and the spread of the others, by the t-distribution that
    such a comparison has among equals (the externally studentised residual), ALPHA divided by
    their number because the oddest of them is looked for.
    """
    rows = np.asarray(rows, dtype=float)
    n = rows.shape[-1]
    if n < FEWEST:
        return np.zeros(rows.shape, dtype=bool)
    positive = (rows > 0).all(axis=-1, keepdims=True)
    rows = np.where(positive, np.log(np.where(positive, rows, 1)), rows)
    mean, squares = rows.mean(axis=-1, keepdims=True), rows.var(axis=-1, keepdims=True) * n
    # Of the others, without each in turn.
    off = (rows - mean) * n / (n - 1)
    left = np.maximum(squares - off * (rows - mean), 0) / (n - 2)
    # What is equal to the last digits but for rounding does not stand apart.
    spread = np.maximum(np.sqrt(left), 1e-9 * np.maximum(np.abs(mean), 1e-9))
    critical = scipy.special.stdtrit(n - 2, 1 - ALPHA / n / 2)
    return np.abs(off) > critical * spread * np.sqrt(n / (n - 1))


# Fewer hosts have no middle to be apart from.
FEWEST_HOSTS = 4
# Among so many equals, the largest distance from their median in robust standard deviations passes
# this in less than one of a hundred draws (normal noise; tests/analysis/test_hosts.py).
LIMITS = ((6, 20.0), (16, 10.0), (1 << 62, 6.0))
NORMAL_MAD = 1.4826


def limit(n: int) -> float:
    """In robust standard deviations, among n."""
    return next(distance for below, distance in LIMITS if n < below)


def apart(values: dict[str, float], least: float, as_ratios: bool = False) -> list[str]:
    """The names whose value is away from the median of all: by more than limit() times the median
    absolute deviation, as a standard deviation of normal noise, and by more than least (of ratios, a
    factor). Few among many do not move these medians, so that they cannot hide each other.
    """
    if len(values) < FEWEST_HOSTS:
        return []
    numbers = np.array(list(values.values()), dtype=float)
    if as_ratios:
        numbers, least = np.log(numbers), np.log(least)
    away = np.abs(numbers - np.median(numbers))
    bound = max(limit(len(values)) * NORMAL_MAD * np.median(away), least)
    return [name for name, distance in zip(values, away) if distance > bound * (1 + 1e-9)]
