# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests properties that hold for any data."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analysis.stats import crossover, outliers, steps
from analysis.stats.interval import median

POSITIVE = st.floats(1e-6, 1e12)
SAMPLE = st.lists(POSITIVE, min_size=1, max_size=30)
# Logarithms of ratios, blocks x sizes; NaN is a failed run. They are rounded, because exp(1e-16) is exactly 1.
HOLED = arrays(float, st.tuples(st.integers(1, 8), st.integers(2, 9)),
               elements=st.floats(-3, 3).map(lambda log: round(log, 9)) | st.just(float("nan")))


@given(SAMPLE)
def test_an_interval_is_around_its_median_and_within_the_data(values):
    estimate = median(values)
    assert estimate.value == pytest.approx(np.median(values))
    assert estimate.has_interval == (len(values) >= 5)
    if estimate.has_interval:
        assert min(values) <= estimate.low <= estimate.value * (1 + 1e-12)
        assert estimate.value * (1 - 1e-12) <= estimate.high <= max(values)
        assert 0.9 < estimate.level <= 0.95


@given(SAMPLE, st.randoms(use_true_random=False), st.floats(1e-3, 1e3))
def test_neither_order_nor_unit_matters(values, choice, unit):
    shuffled = [value * unit for value in values]
    choice.shuffle(shuffled)
    a, b = median(values), median(shuffled)
    assert b.value == pytest.approx(a.value * unit)
    if a.has_interval:
        assert (b.low, b.high) == pytest.approx((a.low * unit, a.high * unit))


@given(HOLED)
def test_any_holes_give_an_answer(logs):
    axis = [2.0**k for k in range(logs.shape[1])]
    found = crossover.find_crossings(axis, logs)
    for crossing in found:
        assert crossing.before <= crossing.low <= crossing.high <= crossing.after
    directions = [crossing.direction for crossing in found]
    assert all(a == -b for a, b in itertools.pairwise(directions))
    taken = steps.along(axis, logs)
    assert len(taken) == len(axis) - 1
    steps.dips(axis, logs, taken)
    steps.moved_with(logs, {"self": (logs, logs)}, 0, 1)


@given(HOLED)
def test_inverting_the_ratio_inverts_the_crossings(logs):
    axis = [2.0**k for k in range(logs.shape[1])]
    there, back = crossover.find_crossings(axis, logs), crossover.find_crossings(axis, -logs)
    assert [c.direction for c in there] == [-c.direction for c in back]


@given(SAMPLE)
def test_each_value_has_a_flag(values):
    assert outliers.flags(np.array([values])).shape == (1, len(values))
