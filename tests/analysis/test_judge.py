# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the rule that decides all comparisons, with SciPy's distributions and planted effects."""

import math
import sys

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st

import made
import simulate
from analysis import result_sets, result_sets_text, summary
from analysis.compare import judge
from analysis.figures.cells import sending
from analysis.compare.judge import BETTER, FEW, INCONCLUSIVE, NONE, SAME, WIDE, WORSE

from analysis.advise import search  # noqa: E402 (it needs the path)
from analysis.text.cells import Cells  # noqa: E402

DRAWS = 1000
LOGS = st.lists(st.floats(-2, 2).map(lambda log: round(log, 6)), min_size=1, max_size=14)
FAMILY = st.lists(LOGS, min_size=1, max_size=8)
OPPOSITE = {BETTER: WORSE, WORSE: BETTER, SAME: SAME, INCONCLUSIVE: INCONCLUSIVE}


def two_sided(sample):
    """Returns the p-value of "no difference", from the number of points on the smaller side of 0."""
    fewer = min(sum(point <= 0 for point in sample.points), sum(point >= 0 for point in sample.points))
    return min(1, 2 * sample.chances[fewer])


@pytest.mark.parametrize("n", (1, 2, 5, 6, 7, 10, 20, 50, 80, 300))
def test_pairs_by_wilcoxon_s_distribution(n):
    values = np.random.default_rng(n).normal(0.1, 0.3, n)
    expected = scipy.stats.wilcoxon(values, method="exact" if n <= judge.EXACT else "approx",
                                    correction=True).pvalue
    assert two_sided(judge.paired(values)) == pytest.approx(expected, rel=1e-9 if n <= 200 else 0.05)


@pytest.mark.parametrize("n, m", ((1, 1), (3, 4), (5, 5), (7, 10), (50, 50), (12, 200), (60, 80), (300, 250)))
def test_two_samples_by_the_distribution_of_mann_and_whitney(n, m):
    random = np.random.default_rng(n)
    a, b = random.normal(0.1, 0.3, n), random.normal(0, 0.3, m)
    expected = scipy.stats.mannwhitneyu(
        a, b, method="exact" if n * m <= judge.EXACT**2 else "asymptotic").pvalue
    found = two_sided(judge.unpaired(np.exp(a), np.exp(b)))
    assert found == pytest.approx(expected, rel=1e-9 if max(n, m) <= judge.LARGEST else 0.05)


@pytest.mark.parametrize("n, m", ((5, 500), (3, 800), (10, 250)))
def test_a_few_and_very_many_are_judged_by_all_their_differences(n, m):
    random = np.random.default_rng(n)
    held = []
    for _ in range(40):
        found = judge.judge_one(judge.unpaired(np.exp(random.normal(0.5, 0.1, n)), np.exp(random.normal(0, 0.1, m))))
        assert found.low <= found.value <= found.high
        held.append(found.low <= math.exp(0.5) <= found.high)
    assert np.mean(held) >= 0.8


@pytest.mark.parametrize("family, pairs, of_two", ((1, 6, 4), (2, 7, 5), (8, 9, 6), (24, 10, 7), (48, 11, 7)))
def test_fewest_repeats(family, pairs, of_two):
    step = judge.ALPHA / family
    for sample, fewest in ((judge.paired([1.0]), pairs), (judge.unpaired([1.0], [1.0]), of_two)):
        assert sample.fewest(step) == fewest
    enough, few = ([judge.paired(np.linspace(1, 1.1, n))] * family for n in (pairs, pairs - 1))
    assert {found.verdict for found in judge.judge(enough)} == {BETTER}
    assert {(found.verdict, found.reason) for found in judge.judge(few)} == {(INCONCLUSIVE, FEW)}


def test_verdicts():
    def of(*logs, better=1):
        return judge.judge_one(judge.paired(logs, better))[::6]
    near, far = np.linspace(-0.01, 0.01, 8), np.linspace(0.1, 0.2, 8)
    assert of(*near) == (SAME, "") and of(*far) == (BETTER, "") and of(*-far) == (WORSE, "")
    assert of(*far, better=-1) == (WORSE, "") and of(*-far, better=-1) == (BETTER, "")
    assert of(*near * 10) == (INCONCLUSIVE, WIDE) and of(*far[:5]) == (INCONCLUSIVE, FEW)
    assert of() == (INCONCLUSIVE, NONE)
    equal = judge.judge_one(judge.paired([0.5] * 6))
    assert equal[:4] == (BETTER, *[pytest.approx(math.exp(0.5))] * 3)
    assert judge.judge_one(judge.unpaired([0.5] * 4, [0.0] * 4, -1, is_share=True))[:4] == (
        WORSE, 0.5, 0.5, 0.5)


@given(FAMILY, st.floats(0.001, 1000), st.sampled_from([1, -1]))
def test_neither_unit_nor_order_matters_and_swapped_sides_give_the_opposite(family, unit, better):
    for made in (judge.paired, lambda logs: judge.unpaired(np.exp(logs), [1.0, 1.1, 1.3, 1.7, 2.0])):
        there = judge.judge([made(logs) for logs in family])
        again = judge.judge([made(logs[::-1]) for logs in family])
        assert [(one.verdict, one.n, one.reason) for one in there] == [
            (one.verdict, one.n, one.reason) for one in again]
        assert np.allclose([one.value for one in there], [one.value for one in again])
    pairs = [[(unit * math.exp(log), unit) for log in logs] for logs in family]
    there = judge.judge([judge.paired(judge.ratio_logs(some), better) for some in pairs])
    back = judge.judge([judge.paired(judge.ratio_logs([pair[::-1] for pair in some]), better)
                        for some in pairs])
    for one, other in zip(there, back):
        assert one.value * other.value == pytest.approx(1)
        assert (one.low is None) == (other.low is None)
        if one.low is not None:
            assert one.low * other.high == pytest.approx(1)
        if one.low is None or all(abs(abs(math.log(end)) - math.log1p(judge.MARGIN)) > 1e-9
                                  for end in (one.low, one.high)):
            assert one.verdict == OPPOSITE[other.verdict]


@given(FAMILY, st.floats(0.001, 1), st.sampled_from([1, -1]), st.sampled_from([0.0, judge.BUCKET]))
def test_the_verdict_follows_from_the_interval(family, margin, better, bucket_width):
    for one in judge.judge([judge.paired(logs, better, bucket_width) for logs in family], margin):
        assert (one.reason == "") == (one.verdict != INCONCLUSIVE)
        assert one.repeats is None or one.verdict == INCONCLUSIVE and one.repeats > one.n
        if one.low is None:
            assert (one.reason, one.level) == (FEW, None) and one.n < 6
            continue
        assert one.low <= one.value <= one.high and 0.95 <= one.level < 1
        shows = (SAME if 1 / (1 + margin) <= one.low and one.high <= 1 + margin else
                 (BETTER, WORSE)[better < 0] if one.low > 1 + margin else
                 (BETTER, WORSE)[better > 0] if one.high < 1 / (1 + margin) else INCONCLUSIVE)
        nearest = min(abs(abs(math.log(end)) - math.log1p(margin)) for end in (one.low, one.high))
        assert one.verdict == shows or one.reason == FEW or nearest < 1e-9


@given(FAMILY, LOGS)
def test_a_larger_family_decides_no_more(family, another):
    alone = judge.judge(list(map(judge.paired, family)))
    larger = judge.judge(list(map(judge.paired, [*family, another])))
    for one, other in zip(alone, larger):
        assert other.verdict in (one.verdict, INCONCLUSIVE)
        assert one.low is None or other.low <= one.low and one.high <= other.high


def test_a_difference_below_the_bucket_width_decides_nothing():
    a_bucket_more = [judge.BUCKET] * 8
    assert judge.judge_one(judge.paired(a_bucket_more)).verdict == BETTER
    assert judge.judge_one(judge.paired(a_bucket_more, bucket_width=judge.BUCKET)).verdict == INCONCLUSIVE
    assert judge.judge_one(judge.paired([0.0] * 8, bucket_width=judge.BUCKET)).verdict == INCONCLUSIVE
    assert judge.judge_one(judge.paired([0.0] * 8, bucket_width=0.01)).verdict == SAME
    assert judge.judge_one(judge.paired([0.2] * 8, bucket_width=judge.BUCKET)).verdict == BETTER


def test_samples_that_cannot_be_decided_do_not_count():
    clear, few = judge.paired([0.5] * 6), judge.paired([0.5] * 5)
    assert [one.verdict for one in judge.judge([few, clear, few])] == [INCONCLUSIVE, BETTER, INCONCLUSIVE]
    assert judge.judge([clear, clear])[0].verdict == INCONCLUSIVE


@pytest.mark.simulation
@pytest.mark.parametrize("noise", simulate.KINDS)
@pytest.mark.parametrize("design", simulate.DESIGNS)
def test_no_effect_is_rarely_found_by_the_rule(noise, design):
    for rule in (simulate.by_ranks, simulate.on_the_edge):
        wrong = simulate.wrong(rule, design, noise, repeats=10, family=8, draws=DRAWS)
        assert wrong < 0.05 + 3 * math.sqrt(0.05 * 0.95 / DRAWS)


@pytest.mark.simulation
@pytest.mark.parametrize("noise", simulate.KINDS)
@pytest.mark.parametrize("design", simulate.DESIGNS)
def test_95_percent_of_the_rule_are_95_percent(noise, design):
    held = simulate.coverage(design, noise, repeats=12, draws=DRAWS)
    slack = 3 * math.sqrt(0.95 * 0.05 / DRAWS)
    # Two sets that drift equally vary more than independent runs, so more intervals include the truth.
    assert 0.95 - slack < held < (1.01 if (design, noise) == (simulate.TWO_SETS, "drifting") else 0.96 + slack)


@pytest.mark.simulation
def test_the_recommended_repeats_suffice():
    random = np.random.default_rng(4)
    asked = [judge.judge_one(judge.paired(random.normal(0.1, 0.08, 6))).repeats for _ in range(100)]
    needed = judge._repeats(judge.paired([0.0] * 6)._replace(spread=0.08), 0.1 - math.log1p(judge.MARGIN), 0.05)
    assert needed / 3 < np.median([one for one in asked if one]) < needed * 3
    decided = np.mean([judge.judge_one(judge.paired(random.normal(0.1, 0.08, needed))).verdict == BETTER
                       for _ in range(400)])
    assert 0.7 < decided < 0.9


def test_looks_cost_confidence_and_verdicts_stay():
    clear, unclear = [0.5] * 20, [0.5, -0.5] * 10
    first, both = (judge.judge([judge.paired(logs[:n], repeats=range(1, n + 1), first_look=9)
                                for logs in (clear, unclear)]) for n in (9, 20))
    assert [one.verdict for one in first] == [one.verdict for one in both] == [BETTER, INCONCLUSIVE]
    assert both[0] == first[0] and both[0].n == 9 and both[1].n == 14
    assert first == judge.judge([judge.paired(logs[:9]) for logs in (clear, unclear)], alpha=judge.ALPHA / 2)
    assert list(judge.looks(9))[:4] == [9, 14, 21, 32] and max(judge.looks(9)) <= judge.MOST_REPEATS
    assert sum(1 / (k * (k + 1)) for k in range(1, 1000)) < 1


@settings(max_examples=20)
@given(st.lists(st.floats(0.1, 3), min_size=1, max_size=4), st.sampled_from(sorted(simulate.KINDS)),
       st.integers(2, 40), st.sampled_from([0, 0.1, 0.5]), st.sampled_from([None, 6]), st.integers(0, 2**32))
@example([1.0] * 4, "bimodal", 8, 0.5, 6, 63)  # here, some sizes have no undisturbed pair
def test_the_terminal_the_report_compare_and_advise_agree(effects, noise, repeats, busy, first_look, seed):
    """The verdicts, intervals and levels on the same records are equal."""
    draw = np.random.default_rng(seed)
    logs = simulate.KINDS[noise](draw, (repeats, len(effects), 2)) + np.stack(
        [np.zeros(len(effects)), np.log(effects)], axis=1)
    loads = [{"variant": variant, "message_bytes": 1024 << size, "repeat": repeat + 1,
              "first_look": first_look, "throughput_bps": 1e9 * math.exp(logs[repeat, size, way]),
              "disturbed": "busy" if draw.random() < busy else None}
             for repeat in range(repeats) for size in range(len(effects))
             for way, variant in enumerate(("twocopy", "zerocopy"))]
    cells = Cells()
    for load in loads:
        cells.add({"run": {"cell": f"{load['variant']} {load['message_bytes']}", "repeat": load["repeat"],
                           "first_look": first_look},
                   "load": {**load, "threads": 1, "fields": 8, "link": "loopback"}, "calls": [{"sends": 1}],
                   "zerocopy": {"requests": 1} if load["variant"] == "zerocopy" else None,
                   "app": {"throughput_bps": load["throughput_bps"]},
                   "noise": {"disturbed": load["disturbed"]}})
    cells.name()
    frame = made.frame(loads)
    terminal = {cell.at("load/message_bytes"): cell.comparisons["throughput"] for cell in cells
                if cell.comparisons and cell.comparisons["throughput"]["n"]}
    report = {one.configuration["message_bytes"]: one.judgment for one in summary.compare(
        sending(frame), ["setting", "threads", "message_bytes"], "variant", [("zerocopy", "twocopy")], "throughput_bps")
        if one.judgment.n}
    beside = {one.configuration["message_bytes"]: one.judgment for one in result_sets_text.zerocopy_pairs(frame) if one.judgment.n}
    assert terminal.keys() == report.keys() == beside.keys()
    assert len(terminal) == len(effects) or busy
    for size, one in terminal.items():
        for other in (report[size], beside[size]):
            other = judge.comparison(one["of"], one["against"], one["metric"], other, one["discarded"])
            assert one == {**other, **{key: pytest.approx(other[key]) for key in ("effect", "interval", "resolved")}}
    assert not contradictions(terminal, advised(loads)) | contradictions(terminal, compared(frame))


def advised(loads):
    """Returns advise's verdicts by size, from the same runs as blocks."""
    found = search.Search()
    for both in zip(loads[::2], loads[1::2]):
        if not any(load["disturbed"] for load in both):
            found.add(both[0]["message_bytes"], {
                load["variant"]: search.Run(load["throughput_bps"], 1 / load["throughput_bps"])
                for load in (*both, {**both[0], "variant": "onecopy"})})
    return {ratio.size: ratio.verdict for ratio in found.answer("twocopy", "throughput").ratios}


def compared(frame):
    """Returns compare's verdicts by size, with the two variants as two result sets."""
    a, b = (frame.filter(pl.col("variant") == name).with_columns(variant=pl.lit("a way"))
            for name in ("twocopy", "zerocopy"))
    return {found.configuration["message_bytes"]: found.verdict for found in result_sets.compare(a, b).differences
            if found.metric.column == "throughput_bps"}


def contradictions(some, others):
    """Returns the sizes at which one of the two verdicts is better and the other is worse."""
    return {size for size, verdict in others.items()
            if size in some and {some[size]["verdict"], verdict} == {BETTER, WORSE}}


def test_a_row_is_along_sizes_or_threads_and_the_keys_that_change_with_them():
    def cell(fields, size, threads=1):
        return {"message_bytes": fields * size, "threads": threads, "connections": threads, "fields": fields,
                "field_size_bytes": size}
    for count, cells in ((2, [cell(n, size) for size in (128, 1024) for n in range(1, 33)]),
                         (1, [cell(8, size) for size in (128, 512, 2048)]),
                         (2, [cell(8, size, threads) for size in (128, 512) for threads in (1, 4)]),
                         (1, [cell(8, 2048, threads) for threads in (1, 2, 4)])):
        assert len(set(judge.rows(cells))) == count
