# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What must hold of any data."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analysis.stats import crossover, decision, moved, outliers, steps
from analysis.stats.interval import median

FEW = settings(max_examples=100)
POSITIVE = st.floats(1e-6, 1e12)
SAMPLE = st.lists(POSITIVE, min_size=1, max_size=30)
# Blocks x sizes, with holes where a run failed. A logarithm of 1e-16 is of no ratio: 1 + 1e-16 is 1.
HOLED = arrays(float, st.tuples(st.integers(1, 8), st.integers(2, 9)),
               elements=st.floats(-3, 3).map(lambda log: round(log, 9)) | st.just(float("nan")))


@FEW
@given(SAMPLE)
def test_an_interval_is_around_its_median_and_within_the_data(values):
    estimate = median(values)
    assert estimate.value == pytest.approx(np.median(values))
    assert estimate.has_interval == (len(values) >= 5)
    if estimate.has_interval:
        assert min(values) <= estimate.low <= estimate.value * (1 + 1e-12)
        assert estimate.value * (1 - 1e-12) <= estimate.high <= max(values)
        assert 0.9 < estimate.level <= 0.95


@FEW
@given(SAMPLE, st.randoms(use_true_random=False), st.floats(1e-3, 1e3))
def test_neither_order_nor_unit_matters(values, choice, unit):
    shuffled = [value * unit for value in values]
    choice.shuffle(shuffled)
    a, b = median(values), median(shuffled)
    assert b.value == pytest.approx(a.value * unit)
    if a.has_interval:
        assert (b.low, b.high) == pytest.approx((a.low * unit, a.high * unit))


@FEW
@given(st.lists(st.floats(0, 1) | st.just(float("nan")), max_size=20))
def test_correction_only_makes_p_larger_and_keeps_their_order(ps):
    corrected = decision.holm(ps)
    for p, q in zip(ps, corrected):
        assert math.isnan(q) if math.isnan(p) else p <= q <= 1
    known = sorted((p, q) for p, q in zip(ps, corrected) if not math.isnan(p))
    assert [q for _, q in known] == sorted(q for _, q in known)


@FEW
@given(HOLED)
def test_any_holes_give_an_answer(logs):
    axis = [2.0**k for k in range(logs.shape[1])]
    found = crossover.find(axis, logs)
    assert found.answer in (crossover.CROSSES, crossover.NEVER, crossover.INCONCLUSIVE)
    for crossing in found.crossings:
        assert crossing.before <= crossing.low <= crossing.high <= crossing.after
    directions = [crossing.direction for crossing in found.crossings]
    assert all(a == -b for a, b in itertools.pairwise(directions))
    taken = steps.along(axis, logs)
    assert len(taken) == len(axis) - 1
    steps.dips(axis, logs, taken)
    moved.with_it(logs, {"self": (logs, logs)}, 0, 1)


@FEW
@given(HOLED)
def test_turning_the_ratio_round_turns_the_crossings(logs):
    axis = [2.0**k for k in range(logs.shape[1])]
    there, back = crossover.find(axis, logs), crossover.find(axis, -logs)
    assert (there.answer, there.side) == (back.answer, -back.side)
    assert [c.direction for c in there.crossings] == [-c.direction for c in back.crossings]


@FEW
@given(SAMPLE)
def test_each_value_has_a_flag(values):
    assert outliers.flags(np.array([values])).shape == (1, len(values))
