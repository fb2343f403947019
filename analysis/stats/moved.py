# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What moved when something else did. That is correlation, and no cause is told."""

import dataclasses

import numpy as np
import scipy.stats

from analysis.stats import decision
from analysis.stats.interval import Estimate
from analysis.stats.ratio import of_logs
from analysis.stats.steps import logs_between


@dataclasses.dataclass(frozen=True)
class Moved:
    """A counter that changed significantly between the same two values. correlation: of its
    steps along the whole axis with those of what is explained (Spearman), over so many steps."""
    name: str
    ratio: Estimate
    p: float
    correlation: float | None
    steps: int


def with_it(logs, counters: dict, i: int, j: int) -> list[Moved]:
    """Which counters moved between columns i and j, the most correlated first.

    logs, and each of counters: a row a block, a column a value of the axis. A p is corrected
    for the number of counters.
    """
    changes = {name: of_logs(logs_between(values, i, j)) for name, values in counters.items()
               if len(logs_between(values, i, j))}
    corrected = decision.holm([change.p for change in changes.values()])
    found = [Moved(name, change.estimate, float(p), *_correlation(logs, counters[name]))
             for (name, change), p in zip(changes.items(), corrected) if change.is_significant(p)]
    return sorted(found, key=lambda m: (-abs(m.correlation or 0), m.name))


def _correlation(logs, counter):
    steps = [np.diff(_medians(values)) for values in (logs, counter)]
    both = ~np.isnan(steps[0]) & ~np.isnan(steps[1])
    a, b = steps[0][both], steps[1][both]
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None, len(a)
    return float(scipy.stats.spearmanr(a, b).statistic), len(a)


def _medians(logs):
    logs = np.asarray(logs, dtype=float)
    return np.array([np.median(column[~np.isnan(column)]) if (~np.isnan(column)).any()
                     else np.nan for column in logs.T])
