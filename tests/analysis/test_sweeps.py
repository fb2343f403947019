# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that planted falls and dips along a sweep are found, and none in noise."""

import math

import numpy as np
import pytest
import scipy.stats

from analysis.stats import steps

FIELDS = tuple(range(1, 33))
DRAWS = 200


def curve(truth, repeats=11, noise=0.01, seed=1, axis=FIELDS, block_noise=0.1):
    """Returns logarithms of truth(x) with noise, blocks x axis."""
    random = np.random.default_rng(seed)
    return np.array([[math.log(truth(x)) + shift + random.normal(0, noise) for x in axis]
                     for shift in random.normal(0, block_noise, repeats)])


def flat_with_dip(x):
    """Returns a truth that grows to 8 fields and is then flat, except for a dip of 15 % at 16 and 17."""
    return min(x, 8) * (0.85 if x in (16, 17) else 1)


def test_a_planted_dip():
    logs = curve(flat_with_dip)
    dips = steps.dips(FIELDS, logs, steps.along(FIELDS, logs))
    assert [(d.before, d.after) for d in dips] == [(15, 18)]
    assert dips[0].bottom in (16, 17)
    assert dips[0].depth.low <= 0.85 <= dips[0].depth.high


def test_a_fall_that_stays_is_no_dip():
    logs = curve(lambda x: 10 if x < 16 else 8.5)
    found = steps.along(FIELDS, logs)
    assert [(s.before, s.after, s.direction) for s in found if s.direction] == [(15, 16, -1)]
    assert steps.dips(FIELDS, logs, found) == []


@pytest.mark.simulation
@pytest.mark.parametrize("repeats", (11, 14))
def test_noise_is_no_fall(repeats):
    """The chance of any false alarm along the whole sweep is below 5 %."""
    alarms = sum(any(s.direction for s in steps.along(FIELDS, curve(
        lambda x: 1, repeats, noise=0.05, seed=seed))) for seed in range(DRAWS))
    assert alarms / DRAWS < 0.05 + 4 * math.sqrt(0.05 * 0.95 / DRAWS)


def test_counters_that_changed_with_a_dip_are_named_and_others_not():
    logs = curve(flat_with_dip)
    random = np.random.default_rng(2)
    reads = curve(lambda x: 3.0 if x in (16, 17) else 1.0, seed=5)
    quiet = random.normal(0, 0.1, reads.shape)
    # All runs take the same time. A counter of 0 is constant per second: per message it is the inverse of throughput.
    counters = {"reads": (reads, reads + logs), "quiet": (quiet, quiet + logs),
                "zero": (-logs, 0 * logs), "of each message": (0 * logs, logs)}
    found = steps.moved_with(logs, counters, FIELDS.index(15), FIELDS.index(16))
    assert [m.name for m in found] == ["reads"]
    assert found[0].ratio.low <= 3 <= found[0].ratio.high
    assert found[0].steps == 31


@pytest.mark.parametrize("noise", (0.01, 0.0))  # without noise, steps are equal
def test_a_correlation_is_spearmans(noise):
    logs = curve(flat_with_dip)
    reads = curve(lambda x: 3.0 if x in (16, 17) else 1.0, seed=5, noise=noise, block_noise=0)
    found, = steps.moved_with(logs, {"reads": (reads, reads + logs)}, FIELDS.index(15), FIELDS.index(16))
    assert found.correlation == pytest.approx(scipy.stats.spearmanr(
        *(np.diff(np.median(values, axis=0)) for values in (logs, reads))).statistic)


@pytest.mark.simulation
def test_no_counter_changes_with_noise():
    axis = FIELDS[10:20]
    logs, random = curve(flat_with_dip, axis=axis), np.random.default_rng(3)
    alarms = sum(bool(steps.moved_with(logs, {str(k): (noise, noise)
                                           for k in range(10)
                                           for noise in [random.normal(0, 1, logs.shape)]}, 4, 5))
                 for _ in range(DRAWS))
    assert alarms / DRAWS < 0.05 + 4 * math.sqrt(0.05 * 0.95 / DRAWS)
