# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that effects planted in runs along an axis are found."""

import math

import made
import numpy as np
import polars as pl
import pytest

from analysis import summary, sweeps
from analysis.compare import judge
from analysis.figures.cells import sending
from analysis.figures import judged
from analysis.figures.base import Data

SIZES = tuple(1024 * 4**k for k in range(6))


SIZES_KIND = next(kind for kind in judged.KINDS if kind.name == "sizes")


def compared(frame, a, b):
    """Returns the comparisons by size, as in a report."""
    return summary.compare(SIZES_KIND.over.runs(Data(frame)), ["setting", "threads", "message_bytes"], "variant",
                          [(a, b)], "throughput_bps")


def crossovers(frame, a, b):
    """Returns (number of threads, crossing) of each crossing."""
    return [(cell["threads"], one) for _, cell, one in judged.crossovers(SIZES_KIND, compared(frame, a, b))]


def overtaking(size):
    return lambda x: 1e9 * math.exp(0.1 * math.log2(x / size))


@pytest.mark.simulation
def test_crossovers_of_each_condition_and_of_no_other():
    """Each condition has one crossing. The intervals include it as often as their level requires."""
    held = []
    for seed in range(40):
        frame = pl.concat([made.sweep({"onecopy": overtaking(size), "twocopy": lambda x: 1e9},
                                      SIZES, 9, block_noise=0.2, threads=threads,
                                      seed=100 * threads + seed)
                           for threads, size in ((1, 10000), (4, 100000))])
        found = crossovers(frame, "onecopy", "twocopy")
        assert [(threads, one.direction) for threads, one in found] == [(1, 1), (4, 1)]
        held += [one.low <= size <= one.high for (_, one), size in zip(found, (10000, 100000))]
    assert np.mean(held) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 80)


def test_a_block_that_one_side_lacks_pairs_nothing():
    frame = made.sweep({"a": lambda x: 2e9, "b": lambda x: 1e9}, SIZES, 10)
    frame = frame.filter(~((pl.col("variant") == "a") & (pl.col("repeat") == 1)))
    assert {(c.verdict, c.judgment.n) for c in compared(frame, "a", "b")} == {("better", 9)}


def test_messages_in_flight_that_follow_the_size_divide_no_series():
    frame = made.sweep({"a": lambda x: 1e9 * x, "b": lambda x: 4096e9}, SIZES, 9)
    follows = frame.with_columns(inflight=(1 << 20) // pl.col("message_bytes"))
    assert len(crossovers(follows, "a", "b")) == 1
    asked_for = pl.concat([frame.with_columns(inflight=pl.lit(n, pl.Int64)) for n in (8, 32)])
    assert len(crossovers(asked_for, "a", "b")) == 2


def test_a_dip_along_fields_and_the_counters_that_changed_with_it():
    dip = made.sweep({"zerocopy": lambda n: 1e9 * (0.8 if n == 16 else 1)}, range(8, 24), 11)
    random = np.random.default_rng(1)
    frame = dip.with_columns(
        fields=pl.col("message_bytes"), message_bytes=pl.col("message_bytes") * 128,
        memory_read_bytes=pl.Series([int(1e9 * (3 if n == 16 else 1) * (1 + random.normal(0, .01)))
                                     for n in dip["message_bytes"]]))
    course, = sweeps.courses(frame, "throughput_bps", "fields")
    assert [(d.before, d.bottom, d.after) for d in course.dips] == [(15, 16, 17)]
    assert [m.name for m in course.moved[(15, 16)]] == ["memory_read_bytes"]


def test_counters_that_depend_on_throughput_have_not_changed_with_it():
    """Runs are equally long, so a run with lower throughput has fewer messages. A counter that is 0, has a constant
    rate, or counts per message has not changed. A counter that rises while messages fall has changed."""
    fall = made.sweep({"onecopy": lambda n: 1e9 * (0.2 if n > 16 else 1)}, range(13, 20), 9)
    frame = fall.with_columns(
        fields=pl.col("message_bytes"), message_bytes=pl.col("message_bytes") * 128,
        elapsed_s=pl.lit(1.0), messages=(pl.col("throughput_bps") / 1e4).cast(pl.Int64)
    ).with_columns(
        retransmits=pl.lit(0), sends=pl.col("messages"),
        sender_context_switches=pl.lit(1000), sender_cpu_migrations=pl.lit(0),
        memory_read_bytes=10 ** 12 // pl.col("messages"))
    course, = sweeps.courses(frame, "throughput_bps", "fields")
    assert [m.name for m in course.moved[(16, 17)]] == ["memory_read_bytes"]


def test_records_of_two_sizes_are_two_series():
    one, other = (made.sweep({"a": lambda n: 1e9 * n}, range(1, 9), 5).with_columns(
        fields=pl.col("message_bytes"), field_size_bytes=pl.lit(size, pl.Int64),
        message_bytes=pl.col("message_bytes") * size) for size in (128, 1024))
    other = other.with_columns(throughput_bps=pl.col("throughput_bps") * 8)
    found = sweeps.courses(pl.concat([one, other]), "throughput_bps", "fields", counters=())
    assert [course.conditions["field_size_bytes"] for course in found] == [128, 1024]
    alone, both = ([step.ratio.value for step in course.steps] for course in found)
    assert alone == pytest.approx(both) and len(both) == 7


def threads(truth, counts=(1, 2, 4, 8), repeats=7):
    random = np.random.default_rng(1)
    return made.frame([{"variant": variant, "message_bytes": 4096, "threads": count,
                        "connections": count, "repeat": repeat,
                        "throughput_bps": truth(variant, count) * math.exp(random.normal(0, .02))}
                       for repeat in range(1, repeats + 1) for count in counts
                       for variant in ("a", "b")])


def against_one_thread(frame):
    return summary.compare(sending(frame), ["variant"], "threads",
                               [(count, 1) for count in (2, 4, 8)], "throughput_bps")


def test_scaling_grows_and_stops():
    frame = threads(lambda variant, count: 1e9 * min(count, 4))
    first, second = sweeps.courses(frame, "throughput_bps", "threads")
    for course in (first, second):
        assert course.axis == (1, 2, 4, 8)
        assert [step.direction for step in course.steps] == [1, 1, 0]
    found = against_one_thread(frame)
    assert [(c.configuration["variant"], c.a, judge.SIGNS[c.verdict]) for c in found] == [
        (variant, count, 1) for count in (2, 4, 8) for variant in ("a", "b")]
    for comparison, speedup in zip(found, (2, 2, 4, 4, 4, 4)):
        assert comparison.judgment.value == pytest.approx(speedup, rel=0.1)


def test_a_variant_that_collapses_with_threads_falls():
    found = against_one_thread(threads(
        lambda variant, count: 1e9 * (count if variant == "a" else min(count, 2) / count)))
    assert {c.a: judge.SIGNS[c.verdict] for c in found if c.configuration["variant"] == "a"} == {2: 1, 4: 1, 8: 1}
    assert {c.a: judge.SIGNS[c.verdict] for c in found if c.configuration["variant"] == "b"} == {2: 0, 4: -1, 8: -1}


def test_no_threads_no_scaling():
    assert against_one_thread(made.sweep({"a": lambda x: 1}, SIZES, 5)) == []
