# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests paired ratios and decisions on tables with planted effects."""

import math

import made
import numpy as np
import polars as pl
import pytest

from analysis import result_sets_text, summary
from analysis.compare import judge
from analysis.figures.cells import sending
from analysis.stats import outliers

SIZES = (1024, 4096, 16384, 65536)
DRAWS = 400


def flat(level):
    return lambda size: level * size


def ratios(frame):
    """Returns the ratio of a to b at each size, as the report compares them."""
    return summary.compare(sending(frame), ["setting", "message_bytes"], "variant", [("a", "b")], "throughput_bps")


@pytest.mark.parametrize("seeds, then", [
    ((None, None), {"disturbed": "others"}), ((3, 4), {"disturbed": "others"}), ((3, 4), {"complete": False}), ((3, 4), None)])
def test_a_run_that_does_not_count_is_not_replaced_by_one_of_another_day(seeds, then):
    """On each day, a and b are equal; on the second day, both are twice as fast. On the first day, b was disturbed,
    failed, or was not run."""
    days = [made.sweep({"a": flat(day), "b": flat(day)}, SIZES, repeats=7, noise=0, seed=1).with_columns(
        pl.col("started") + pl.duration(days=day), seed=pl.lit(seed, pl.Int64)) for day, seed in zip((1, 2), seeds)]
    of_b = pl.col("variant") == "b"
    days[0] = days[0].filter(~of_b) if then is None else days[0].with_columns(
        pl.when(of_b).then(pl.lit(value)).otherwise(pl.col(name)).alias(name) for name, value in then.items())
    found = ratios(pl.concat(days))
    assert [(c.judgment.n, c.judgment.low, c.judgment.high) for c in found] == [(7, 1.0, 1.0)] * 4


@pytest.mark.simulation
def test_a_planted_effect_is_found_with_its_size():
    held, significant, seeds = [], [], 60
    for seed in range(seeds):
        frame = made.sweep({"a": flat(1.2), "b": flat(1.0)}, SIZES, repeats=8, block_noise=0.2,
                           seed=seed)
        found = ratios(frame)
        assert [c.judgment.n for c in found] == [8] * 4
        significant += [c.verdict == judge.BETTER for c in found]
        held += [c.judgment.low <= 1.2 <= c.judgment.high for c in found]
    assert np.mean(significant) > 0.9
    assert np.mean(held) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / (4 * seeds))


@pytest.mark.simulation
@pytest.mark.parametrize("spikes", (0, 0.15))
@pytest.mark.parametrize("repeats", (8, 10))
def test_no_effect_is_rarely_found(repeats, spikes):
    """The chance of any false alarm in the family of four stays below 5 %."""
    alarms = 0
    for seed in range(DRAWS):
        frame = made.sweep({"a": flat(1), "b": flat(1)}, SIZES, repeats, noise=0.1, seed=seed,
                           spikes=spikes)
        alarms += any(judge.SIGNS[c.verdict] for c in ratios(frame))
    assert alarms / DRAWS < 0.05 + 4 * math.sqrt(0.05 * 0.95 / DRAWS)


def test_a_slow_repeat_slows_both_sides():
    noisy = made.sweep({"a": flat(1.1), "b": flat(1)}, SIZES, 8, noise=0.005, block_noise=0.5)
    assert [c.verdict for c in ratios(noisy)] == [judge.BETTER] * len(SIZES)


def test_runs_without_repeats_are_paired_in_their_order():
    frame = made.sweep({"a": flat(1.1), "b": flat(1)}, SIZES, 8, noise=0.005, block_noise=0.5)
    found = ratios(frame.with_columns(repeat=pl.lit(None, pl.Int64)))
    assert [(c.verdict, c.sample().n) for c in found] == [(judge.BETTER, 8)] * len(SIZES)


def test_too_few_repeats_are_never_significant():
    frame = made.sweep({"a": flat(2), "b": flat(1)}, SIZES, repeats=5, noise=0.001)
    found = ratios(frame)
    assert [(judge.SIGNS[c.verdict], c.judgment.low, c.judgment.repeats) for c in found] == [(0, None, 6)] * 4
    frame = made.sweep({"a": flat(2), "b": flat(1)}, SIZES, repeats=7, noise=0.001)
    assert [(judge.SIGNS[c.verdict], c.judgment.repeats) for c in ratios(frame)] == [(0, 8)] * 4


def test_only_equal_conditions_are_compared():
    one = made.sweep({"a": flat(1)}, (4096,), 5, kernel="6.1")
    two = made.sweep({"b": flat(1)}, (4096,), 5, kernel="6.12")
    assert not ratios(pl.concat([one, two]))
    one, two = (frame.with_columns(variant=pl.lit(name)) for frame, name in ((one, "zerocopy"), (two, "twocopy")))
    assert not result_sets_text.zerocopy_pairs(pl.concat([one, two]))


def test_failed_runs_do_not_count():
    frame = made.sweep({"a": flat(1)}, (4096,), 6)
    frame = frame.with_columns(complete=pl.col("repeat") != 6)
    assert summary.medians(frame, "throughput_bps")["n"].to_list() == [5]


def test_an_outlier_is_flagged_and_still_counts():
    frame = made.sweep({"a": flat(1)}, (4096,), 6, noise=0.01)
    odd = frame.with_columns(throughput_bps=pl.when(pl.col("repeat") == 3).then(1.0).otherwise(
        "throughput_bps"))
    assert summary.flagged(odd, "throughput_bps")["repeat"].to_list() == [3]
    row = summary.medians(odd, "throughput_bps").to_dicts()[0]
    assert (row["n"], row["outliers"]) == (6, 1)


@pytest.mark.simulation
@pytest.mark.parametrize("n", (5, 10))
def test_among_equals_one_in_a_hundred_configurations_has_a_flag(n):
    random = np.random.default_rng(5)
    cells = 2000
    flags = outliers.flags(np.exp(random.normal(0, 0.1, (cells, n)))).any(axis=1).sum()
    assert abs(flags / cells - outliers.ALPHA) < 4 * math.sqrt(0.01 * 0.99 / cells)
