# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ratios between two ways of doing the same, of pairs that were measured together."""

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

    def more_repeats(self, tests: int) -> int | None:
        """How many more repeats might make it significant, of so many tests made together, if
        it is as large as it seems; None: none would."""
        if self.estimate.n < 2:
            return decision.FEWEST - self.estimate.n
        needed = decision.repeats_needed(self.logs, tests)
        return None if needed is None else max(needed - self.estimate.n, 1)

    @property
    def sign(self) -> int:
        return int(np.sign(np.median(self.logs))) if len(self.logs) else 0


def paired(a, b) -> Ratio:
    """The median of a[i] / b[i]; positive values, one pair a block, at least one."""
    logs = np.log(np.asarray(a, dtype=float)) - np.log(np.asarray(b, dtype=float))
    return of_logs(logs)


def of_logs(logs) -> Ratio:
    """Of logarithms of ratios. Without any, the estimate is NaN of 0 pairs."""
    logs = np.asarray(logs, dtype=float)
    if not len(logs):
        return Ratio(Estimate(math.nan, 0), math.nan, logs)
    return Ratio(median(logs).map(np.exp), decision.paired_p(logs), logs)
