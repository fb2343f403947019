# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests how often intervals include the median, on samples with a known one."""

import math

import numpy as np
import pytest
import scipy.stats

from analysis.stats.interval import Estimate, median, ranks

DRAWS = 1000
# Three standard deviations of a share of DRAWS.
SLACK = 3 * math.sqrt(0.95 * 0.05 / DRAWS)
SHAPES = {
    "normal": lambda random, n: random.normal(0, 1, n),
    "long-tailed": lambda random, n: random.standard_t(3, n),
    "skewed": lambda random, n: random.exponential(1, n) - math.log(2),
    "very skewed": lambda random, n: random.lognormal(0, 1, n) - 1,
    # Like times of zero-copy. The median of all values is in the larger mode, at its quantile 5/7.
    "bimodal": lambda random, n: np.where(random.random(n) < 0.7, random.normal(0, 0.2, n),
                                          random.normal(3, 0.2, n)) - BIMODAL_MEDIAN,
}
BIMODAL_MEDIAN = 0.2 * scipy.stats.norm.ppf(5 / 7)
# For these shapes, intervals include the median more or less often than their level.
DRIFTING = {"drifting": lambda random, n: np.linspace(-1, 1, n) + random.normal(0, 1, n)}
HALVES = {"halves": lambda random, n: random.choice((-1, 1), n) + random.normal(0, 0.3, n)}


def coverage(interval, shape, n, seed=1):
    """Returns the share of DRAWS samples of n values with median 0 whose interval includes 0."""
    random = np.random.default_rng(seed)
    return np.mean([low <= 0 <= high for low, high in (
        interval({**SHAPES, **DRIFTING, **HALVES}[shape](random, n)) for _ in range(DRAWS))])


def ours(values):
    estimate = median(values)
    return estimate.low, estimate.high


def bootstrapped(method):
    def interval(values):
        done = scipy.stats.bootstrap((values,), np.median, n_resamples=999, method=method,
                                     rng=np.random.default_rng(7))
        return done.confidence_interval
    return interval


@pytest.mark.simulation
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", (6, 7, 10, 15))
def test_95_percent_are_95_percent(n, shape):
    assert ranks(n)[2] == 0.95
    assert abs(coverage(ours, shape, n) - 0.95) < SLACK


@pytest.mark.simulation
@pytest.mark.parametrize("n", (5, 6, 7, 10, 15))
def test_95_percent_are_more_of_values_that_drift(n):
    assert coverage(ours, "drifting", n) > ranks(n)[2]


@pytest.mark.simulation
@pytest.mark.parametrize("n", (5, 6, 7, 10, 15))
def test_95_percent_are_fewer_of_two_equal_halves(n):
    """No value is near the median, so an end that is interpolated between two values is misplaced."""
    assert coverage(ours, "halves", n) > 0.86


@pytest.mark.simulation
@pytest.mark.parametrize("shape", SHAPES)
def test_the_level_of_five_repeats(shape, capsys):
    reached = ranks(5)[2]
    covered = coverage(ours, shape, 5)
    with capsys.disabled():
        print(f"\n  five repeats, {shape}: {100 * reached:.2f} % by theory, "
              f"{100 * covered:.1f} % of {DRAWS} samples", end="")
    assert reached == 0.9375
    assert abs(covered - reached) < SLACK
    assert median([1, 2, 3, 4, 5]) == Estimate(3, 5, 1, 5, 0.9375)


@pytest.mark.simulation
@pytest.mark.filterwarnings("ignore")
def test_the_bootstrap_has_lower_levels(capsys):
    """The bootstrap reaches less than its level with few values; this is the reason for our method."""
    plain = {(method, n): coverage(bootstrapped(method), "normal", n)
             for method in ("percentile", "BCa") for n in (7,)}
    with capsys.disabled():
        for (method, n), covered in plain.items():
            print(f"\n  {n} repeats, {method} bootstrap: {100 * covered:.1f} %", end="")
    assert max(plain.values()) < 0.95 - SLACK


def test_fewer_than_five_have_no_interval():
    for n in range(1, 5):
        assert median(range(n)).low is None and median(range(n)).level is None


def test_ends_move_inwards_with_more_repeats():
    values = np.linspace(0, 1, 101)
    widths = [median(values[::step]).high - median(values[::step]).low for step in (20, 10, 5, 1)]
    assert widths == sorted(widths, reverse=True)
