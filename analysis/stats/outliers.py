# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Repeats that stand apart from the others of their cell. They are flagged, never removed."""

import numpy as np
import scipy.stats

# The chance that one is flagged among repeats of which none stands apart.
ALPHA = 0.01
FEWEST = 5


def flags(rows: np.ndarray, alpha: float = ALPHA) -> np.ndarray:
    """Which values of each row of a matrix (of any unit) stand apart from the others of their
    row, on a logarithmic scale where all are positive. Fewer than five do not show that.

    Each is compared with the mean and the spread of the others, by the t-distribution that
    such a comparison has among equals (the externally studentised residual), alpha divided by
    their number because the oddest of them is looked for.
    """
    n = rows.shape[1]
    if n < FEWEST:
        return np.zeros(rows.shape, dtype=bool)
    positive = (rows > 0).all(axis=1, keepdims=True)
    rows = np.where(positive, np.log(np.where(positive, rows, 1)), rows)
    mean, squares = rows.mean(axis=1, keepdims=True), rows.var(axis=1, keepdims=True) * n
    # Of the others, without each in turn.
    off = (rows - mean) * n / (n - 1)
    left = np.maximum(squares - off * (rows - mean), 0) / (n - 2)
    # What is equal to the last digits but for rounding does not stand apart.
    spread = np.maximum(np.sqrt(left), 1e-9 * np.maximum(np.abs(mean), 1e-9))
    critical = scipy.stats.t.ppf(1 - alpha / n / 2, n - 2)
    return np.abs(off) > critical * spread * np.sqrt(n / (n - 1))
