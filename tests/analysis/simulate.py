# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the tables of the rule in docs/statistics.md, and the numbers of docs/advise.md (minutes):

analysis/.venv/bin/python3 tests/analysis/simulate.py

Compares the rule of analysis/compare/judge.py with a t-test of logarithms with Holm's correction; for pairs, the t-test
counts only if the interval of the median also excludes 0.
"""

import functools
import itertools
import pathlib
import random
import sys

import numpy as np
import scipy.stats

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analysis.compare import judge  # noqa: E402

DRAWS = 2000
NOISE = 0.03
PAIRS, TWO_SETS = DESIGNS = "pairs", "two sets"


def normal(draw, shape):
    return draw.normal(0, NOISE, shape)


def skewed(draw, shape):
    return NOISE * draw.lognormal(0, 1, shape)


def bimodal(draw, shape):
    return normal(draw, shape) / 3 + np.where(draw.random(shape) < 0.3, 4 * NOISE, 0)


def drifting(draw, shape):
    """Makes all runs of a repeat (a row) slower than those of the previous repeat."""
    return normal(draw, shape) - NOISE * np.linspace(0, 4, shape[0]).reshape(-1, *[1] * (len(shape) - 1))


def wandering(draw, shape):
    """Makes each set a random walk, so that its runs are not independent."""
    walk = np.cumsum(draw.normal(0, NOISE / 3, shape[0]))
    return normal(draw, shape) + walk.reshape(-1, *[1] * (len(shape) - 1))


def heavy_tailed(draw, shape):
    return NOISE * draw.standard_t(2, shape)


def spiked(draw, shape):
    """Makes one run in seven three times slower."""
    return normal(draw, shape) - np.where(draw.random(shape) < 1 / 7, np.log(3), 0)


KINDS = {kind.__name__: kind for kind in (normal, skewed, bimodal, drifting, heavy_tailed, spiked)}
ALL = {**KINDS, "wandering": wandering}


@functools.cache
def experiments(design, noise, repeats, family, draws, seed=1):
    """Returns logarithms of two variants without any difference: draws x family comparisons, each of two sides with
    `repeats` runs. Runs of a pair drift together."""
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(draws):
        if design == PAIRS:
            sides = ALL[noise](draw, (repeats, family, 2))
            made.append((sides[..., 0].T, sides[..., 1].T))
        else:
            made.append(tuple(ALL[noise](draw, (repeats, family)).T for _ in range(2)))
    return made


def by_judge(design, a, b, margin=judge.MARGIN):
    """Returns for each comparison (a row of logarithms) whether judge.py finds a difference."""
    samples = [judge.paired(x - y) if design == PAIRS else judge.unpaired(np.exp(x), np.exp(y))
               for x, y in zip(a, b)]
    return [found.verdict in (judge.BETTER, judge.WORSE) for found in judge.judge(samples, margin=margin)]


def by_ranks(design, a, b):
    """Does the same as by_judge(), but without a margin, because the rules that it is compared with have none."""
    return by_judge(design, a, b, 0.0)


def on_the_edge(design, a, b):
    """Does the same as by_judge(), after adding a difference of exactly the margin, which must not be found."""
    return by_judge(design, a + np.log1p(judge.MARGIN), b)


def by_looks(design, a, b):
    """Does the same as by_judge(), but analyses the repeats several times while they are made, as sweep --decide
    does."""
    assert design == PAIRS
    return [found.verdict in (judge.BETTER, judge.WORSE) for found in judge.judge(
        [judge.paired(logs, repeats=range(1, len(logs) + 1), first_look=9) for logs in a - b], margin=0.0)]


def by_t_and_median(design, a, b):
    """Returns for each comparison whether the corrected t-test finds a difference. For pairs, the median's interval
    between the second values from both ends (97.9 % for ten) must also exclude 0."""
    if design == PAIRS:
        p, ordered = scipy.stats.ttest_rel(a, b, axis=1).pvalue, np.sort(a - b, axis=1)
        agreed = (ordered[:, 1] > 0) | (ordered[:, -2] < 0)
    else:
        p, agreed = scipy.stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue, np.full(len(a), True)
    order = np.argsort(p)
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return agreed & (corrected <= judge.ALPHA)


def wrong(rule, design, noise, repeats, family, draws=DRAWS):
    """Returns the share of families in which the rule finds any difference."""
    return np.mean([any(rule(design, a, b))
                    for a, b in experiments(design, noise, repeats, family, draws)])


def power(rule, design, noise, repeats, family, effect, draws=500):
    """Returns the share of comparisons in which the rule finds an effect. All comparisons have the effect."""
    return np.mean([rule(design, a + np.log(effect), b)
                    for a, b in experiments(design, noise, repeats, family, draws)])


def coverage(design, noise, repeats, draws=DRAWS):
    """Returns the share of intervals of single comparisons that include the truth."""
    held = []
    for (a,), (b,) in experiments(design, noise, repeats, 1, draws):
        found = judge.judge_one(judge.paired(a - b) if design == PAIRS else
                                judge.unpaired(np.exp(a), np.exp(b)))
        held.append(found.low <= 1 <= found.high)
    return np.mean(held)


def percent(share):
    return f"{100 * share:.1f} %"


def main():
    print("fewest repeats, pairs and two sets, by the size of the family")
    for family in (1, 2, 4, 8, 12, 24, 48):
        print(family, *(sample.fewest(judge.ALPHA / family) for sample in (
            judge.paired([0.0]), judge.unpaired([1.0], [1.0]))))
    print("intervals that hold the truth, at 95 %: noise; pairs, 10 and 20; two sets, 10 and 20")
    for noise in KINDS:
        print(noise, *(percent(coverage(design, noise, repeats)) for design in DESIGNS for repeats in (10, 20)),
              flush=True)
    for design, family in itertools.product(DESIGNS, (1, 8)):
        print(f"{design}, 10 repeats, family of {family}: any difference found where there is none, by the rule "
              "without its margin and by the t-test; where all are as large as the margin, by the rule; "
              "of differences of 8 %, found by the rule without its margin, the t-test, the rule")
        for noise in KINDS:
            print(noise, *(percent(wrong(rule, design, noise, 10, family))
                           for rule in (by_ranks, by_t_and_median, on_the_edge)),
                  *(percent(power(rule, design, noise, 10, family, 1.08))
                    for rule in (by_ranks, by_t_and_median, by_judge)), flush=True)
    print("two sets that wander by themselves, 8 comparisons:",
          percent(wrong(by_judge, TWO_SETS, "wandering", 10, 8)))
    of_looks()
    of_advise()


def of_looks(draws=DRAWS):
    print("a wrong verdict of 8 sequential comparisons without any difference, up to 72 repeats:")
    for noise in KINDS:
        print(noise, percent(wrong(by_looks, PAIRS, noise, 72, 8, draws)), flush=True)


def of_advise(seeds=120):
    """Simulates advise on drifting machines with a known crossover, and on some without any difference."""
    sys.path.insert(0, str(ROOT / "tests/unit"))
    import test_search as search  # pylint: disable=import-outside-toplevel
    searches = answered = wrong_answers = advised = alike = 0
    for noise, spread, seed in itertools.product((search.normal, search.skewed, search.two_modes),
                                                 (0.03, 0.15, 0.25), range(seeds)):
        size = np.exp(random.Random(seed).uniform(np.log(1500), np.log(700_000)))
        found = search.searched(search.Machine(size, noise, spread, drift=0.002, seed=seed))
        answers = [found.answer(against, "cpu") for against in ("twocopy", "onecopy")]
        searches += 1
        answered += sum(answer.kind not in ("alike", "unknown") for answer in answers)
        wrong_answers += sum(search.wrong(answer, size) for answer in answers)
        found = search.searched(search.Machine(1, noise, spread, slope=0, drift=0.002, seed=seed))
        alike += 1
        advised += search.text.recommendation(search.PATH, found.answers()) != (
            "Cannot tell whether MSG_ZEROCOPY pays on this path.")
    print(f"advise, {searches} machines with a crossover: {answered} answers, {wrong_answers} wrong; "
          f"{alike} without a difference: {advised} recommendations")


if __name__ == "__main__":
    main()
