# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ratios of what was measured together: of one value of an axis to the one before."""

import dataclasses
import math

import numpy as np

from analysis.stats import decision
from analysis.stats.interval import Estimate, median


@dataclasses.dataclass(frozen=True)
class Ratio:
    """a / b over pairs. p is of there being no difference, uncorrected; logs are kept for what
    is asked further of the same pairs."""
    estimate: Estimate
    p: float
    logs: np.ndarray

    def is_significant(self, corrected_p: float) -> bool:
        """Not 1, both by its own interval and by its p after correction for all tests."""
        return self.estimate.excludes(1) and corrected_p <= decision.ALPHA

    @property
    def sign(self) -> int:
        return int(np.sign(np.median(self.logs))) if len(self.logs) else 0


def of_logs(logs) -> Ratio:
    """Of logarithms of ratios. Without any, the estimate is NaN of 0 pairs."""
    logs = np.asarray(logs, dtype=float)
    if not len(logs):
        return Ratio(Estimate(math.nan, 0), math.nan, logs)
    return Ratio(median(logs).map(np.exp), decision.paired_p(logs), logs)
