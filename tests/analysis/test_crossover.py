# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that exactly the planted crossovers are found."""

import math

import numpy as np
import pytest

from analysis.compare import judge
from analysis.stats import crossover

SIZES = tuple(1024 * 4**k for k in range(6))
DRAWS = 300


def blocks(truth, repeats, noise, seed, sizes=SIZES):
    """Returns log(a / b), blocks x sizes: truth(log2 of the size), and noise."""
    random = np.random.default_rng(seed)
    return np.array([[truth(math.log2(size)) + random.normal(0, noise) for size in sizes]
                     for _ in range(repeats)])


def one_at(size, slope=0.1):
    """Returns a truth for blocks() in which a overtakes b at this size."""
    return lambda x: slope * (x - math.log2(size))


@pytest.mark.simulation
@pytest.mark.parametrize("repeats", (9, 12))
def test_one_planted_crossing(repeats):
    """The crossing is found near its size, and its interval includes that size as often as the level requires."""
    level = judge.judge_one(judge.paired([0.0] * repeats)).level
    found = [crossover.find_crossings(SIZES, blocks(one_at(10000), repeats, 0.03, seed))
             for seed in range(DRAWS)]
    significant = list(filter(None, found))
    assert len(significant) > 0.95 * DRAWS
    assert all(len(crossings) == 1 and crossings[0].direction == 1 for crossings in significant)
    assert abs(np.median([c[0].size for c in significant]) / 10000 - 1) < 0.03
    held = np.mean([c[0].low <= 10000 <= c[0].high for c in significant])
    assert held > level - 4 * math.sqrt(level * (1 - level) / DRAWS)
    assert {c[0].level for c in significant} == {level}
    assert np.median([c[0].high / c[0].low for c in significant]) < 2


@pytest.mark.simulation
def test_several_crossings_each_with_its_direction():
    """The ratio is above 1 up to 8 KiB, below 1 up to 128 KiB, and then above 1 again."""
    def truth(x):
        return 0.3 * math.sin((x - 9) * math.pi / 4)
    sizes = tuple(2**k for k in range(10, 20))
    held = []
    for seed in range(60):
        found = crossover.find_crossings(sizes, blocks(truth, 9, 0.01, seed, sizes))
        assert [c.direction for c in found] == [-1, 1]
        held += [c.low <= size <= c.high
                 for c, size in zip(found, (2**13, 2**17))]
    assert np.mean(held) > 0.95 - 4 * math.sqrt(0.95 * 0.05 / 120)


@pytest.mark.parametrize("side", (-1, 1))
def test_never(side):
    found = crossover.find_crossings(SIZES, blocks(lambda x: side * 0.2, 9, 0.02, 1))
    assert found == []


@pytest.mark.simulation
@pytest.mark.parametrize("repeats", (9, 12))
def test_no_difference_is_no_crossing(repeats):
    alarms = sum(crossover.find_crossings(SIZES, blocks(lambda x: 0, repeats, 0.1, seed)) != [] for seed in range(DRAWS))
    assert alarms / DRAWS < 0.05


def test_fewer_than_six_repeats_show_nothing():
    found = crossover.find_crossings(SIZES, blocks(one_at(10000), 5, 0.001, 1))
    assert found == []


def test_inconclusive_sizes_within_a_crossing_do_not_hide_it():
    sizes = (1024, 4096, 16384)
    logs = blocks(lambda x: {10: -0.3, 12: 0, 14: 0.3}[x], 8, 0.02, 2, sizes)
    found = crossover.find_crossings(sizes, logs)
    crossing, = found
    assert crossing.low <= 4096 <= crossing.high
    assert (crossing.before, crossing.after) == (1024, 16384)


def test_a_missing_run_takes_only_its_block():
    logs = blocks(one_at(10000), 10, 0.01, 1)
    logs[2, 3] = np.nan
    assert len(crossover.find_crossings(SIZES, logs)) == 1
