# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What moved when something else did. That is correlation, and no cause is told.

A counter is compared a message and a second. One that goes on at its own pace falls a message
where throughput rises, and one that belongs to each message rises a second: only what moves in the
same direction in both has moved by more than throughput did.
"""

import dataclasses

import numpy as np
import scipy.stats

from analysis.stats import decision
from analysis.stats.interval import Estimate
from analysis.stats.decision import of_logs
from analysis.stats.steps import logs_between


@dataclasses.dataclass(frozen=True)
class Moved:
    """A counter that changed significantly between the same two values, by ratio a message and
    by per_second. correlation: of its steps a message along the whole axis with those of what is
    explained (Spearman), over so many steps."""
    name: str
    ratio: Estimate
    per_second: Estimate
    p: float
    correlation: float | None
    steps: int


def with_it(logs, counters: dict, i: int, j: int) -> list[Moved]:
    """Which counters moved between columns i and j, the most correlated first.

    logs, and of each of counters two, a message and a second: a row a block, a column a value of
    the axis. The greater p of the two is corrected for the number of counters.
    """
    changes = {name: [of_logs(logs_between(rate, i, j)) for rate in rates]
               for name, rates in counters.items()}
    changes = {name: both for name, both in changes.items() if all(len(rate.logs) for rate in both)}
    corrected = decision.holm([max(rate.p for rate in both) for both in changes.values()])
    found = [Moved(name, *(rate.estimate for rate in both), float(p),
                   *_correlation(logs, counters[name][0]))
             for (name, both), p in zip(changes.items(), corrected)
             if both[0].sign == both[1].sign and all(rate.is_significant(p) for rate in both)]
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
