# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the search for the size from which zero-copy pays, on machines with a known answer."""

import dataclasses
import math
import pathlib
import random
import sys
import types

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from analysis.compare import judge  # noqa: E402
from analysis.advise import advise, path_text as text  # noqa: E402
from analysis.advise.advise import Result, decide  # noqa: E402
from analysis.advise.runs import Path  # noqa: E402
from analysis.advise.search import LOOKS, SIZES, WRONG, Answer, Ratio, Run, Search, crossover  # noqa: E402

BLOCKS = 90
PATH = Path("none of 300 zero-copy sends to 10.9.0.2:40325 via eth0 was copied: zero-copy works here. " * 4,
            True, 0.0, False, None, True, None, "eth0", 131072, 8388608, 0.7,
            ("TCP congestion control bbr paces: rates are what it allows; --socket congestion=reno "
             "sends at once",))


def normal(draw, spread):
    return math.exp(draw.gauss(0, spread))


def skewed(draw, spread):
    """Draws noise in which one run in seven takes thrice as long."""
    return normal(draw, spread) * (3 if draw.random() < 1 / 7 else 1)


def two_modes(draw, spread):
    return normal(draw, spread / 3) * (1 + 3 * spread if draw.random() < 0.5 else 1)


class Machine:
    """A machine on which zero-copy's CPU time falls with size, and equals the others' at the size `crossing`."""

    def __init__(self, crossing, noise=normal, spread=0.05, slope=0.35, drift=0.0, seed=1):
        self.crossing, self.slope = crossing, slope
        self.noise, self.spread, self.drift = noise, spread, drift
        self.draw, self.count = random.Random(seed), 0

    def block(self, size):
        self.count += 1
        slower = math.exp(self.drift * self.count)  # the drift of a machine that warms up affects all runs
        gain = self.slope * math.log(size / self.crossing)
        return {variant: Run(1e9 / slower / self.noise(self.draw, self.spread),
                             1e-9 * slower * math.exp(by) * self.noise(self.draw, self.spread))
                for variant, by in (("twocopy", 0), ("onecopy", 0), ("zerocopy", -gain))}


def searched(machine, most=BLOCKS):
    search = Search()
    for _ in range(most):
        size = search.next_size()
        if size is None:
            break
        search.add(size, machine.block(size))
    return search


def wrong(answer, crossing):
    """Returns whether the answer is wrong."""
    if answer.kind == "from":
        return not (answer.worse or 0) <= crossing <= answer.better
    return {"always": crossing > SIZES[0], "never": crossing < SIZES[-1], "irregular": True,
            "unknown": crossing < answer.worse if answer.worse else False, "alike": False}[
                answer.kind]


def test_each_analysis_can_decide():
    assert all(judge.judge_one(judge.paired([1.0] * blocks), alpha=WRONG).verdict == judge.BETTER
               for blocks in LOOKS)


@pytest.mark.simulation
@pytest.mark.parametrize("noise", [normal, skewed, two_modes])
@pytest.mark.parametrize("spread", [0.03, 0.15])
def test_hardly_ever_is_an_answer_wrong(noise, spread):
    answered, wrong_answers = 0, 0
    for seed in range(60):
        crossing = math.exp(random.Random(seed).uniform(math.log(1500), math.log(700_000)))
        search = searched(Machine(crossing, noise, spread, drift=0.002, seed=seed))
        for answer in (search.answer(against, "cpu") for against in ("twocopy", "onecopy")):
            answered += answer.kind not in ("alike", "unknown")
            wrong_answers += wrong(answer, crossing)
    assert wrong_answers <= 1, wrong_answers
    assert answered >= 80  # of 120: most searches find an answer


@settings(max_examples=40)
@given(st.floats(600, 2_000_000), st.integers(0, 2**32))
def test_on_a_quiet_machine_the_bracket_is_next_to_the_truth(crossing, seed):
    # If the crossing is close to an end of SIZES, the right answer and "no difference there" are both correct.
    assume(all(abs(math.log(crossing / size)) > 0.1 for size in (SIZES[0], SIZES[-1])))
    search = searched(Machine(crossing, spread=0.001, seed=seed), 10 * BLOCKS)
    answer = search.answer("twocopy", "cpu")
    if crossing < SIZES[0]:
        assert answer.kind == "always"
    elif crossing > SIZES[-1]:
        assert answer.kind == "never"
    else:
        assert answer.kind == "from" and answer.worse <= crossing * 1.07
        assert crossing * 0.93 <= answer.better and answer.better / answer.worse <= 4


@pytest.mark.simulation
@pytest.mark.parametrize("noise", [normal, skewed, two_modes])
def test_without_a_difference_it_hardly_ever_advises(noise):
    advised = 0
    for seed in range(100):
        answers = searched(Machine(1, noise, 0.08, slope=0, seed=seed)).answers()
        advised += text.recommendation(PATH, answers) != (
            "Cannot tell whether MSG_ZEROCOPY pays on this path.")
    assert advised <= 2, advised


def test_no_size_is_tried_for_nothing():
    """If there is no difference, the search ends after the largest number of analyses."""
    search = searched(Machine(1, slope=0, spread=0.05, seed=3), 1000)
    assert search.next_size() is None
    assert all(len(blocks) <= LOOKS[-1] for blocks in search.blocks.values())
    assert {answer.kind for answer in search.answers()} == {"alike"}


def test_before_the_first_analysis_it_names_what_that_takes():
    search = searched(Machine(30_000, spread=0.1, seed=1), LOOKS[0] - 1)
    answers = search.answers()
    assert not any(answer.ratios for answer in answers)
    assert {search.blocks_needed(answer) for answer in answers} == {1 + LOOKS[0]}


@settings(max_examples=60)
@given(st.floats(600, 2_000_000), st.sampled_from([0.003, 0.1, 0.6]), st.integers(0, 2**32),
       st.integers(0, BLOCKS), st.sampled_from([None, 0.0, 0.5, 1.0]))
def test_it_fits_twelve_lines_of_eighty(crossing, spread, seed, most, copied):
    search = searched(Machine(crossing, spread=spread, seed=seed), most)
    result = Result(dataclasses.replace(PATH, copied=copied), search.answers() if most else [], most,
                    3600.0, 100.0, False)
    lines = text.lines(result)
    assert 1 < len(lines) <= 12 and max(map(len, lines)) <= 80, lines
    assert "..." not in lines[0] and not any("None" in line for line in lines)


class Disturbed(Machine):
    """A machine on which every third block is disturbed, and has wrong values."""

    def path(self):
        return dataclasses.replace(PATH, words="none was copied.")

    def block(self, size):
        block = super().block(size)
        why = "other programs took 26 % of the CPUs' time" if self.count % 3 == 0 else None
        return {variant: Run(1.0, 1.0) for variant in block} if why else block, why


class Progress:
    budget, elapsed = 1.0, 0.5

    def show(self, what):
        pass


def test_one_block_is_not_many():
    result = Result(dataclasses.replace(PATH, words="none was copied."), [], 1, 1.0, None, False)
    words = " ".join(" ".join(text.lines(result)).split())
    assert "; 1 block of three short runs in 1 s" in words


def test_disturbed_blocks_are_discarded_and_reported():
    result = decide(Disturbed(30_000, spread=0.001, seed=5), Progress())
    assert {(one.kind, one.worse, one.better) for one in result.answers if one.metric == "cpu"} == {
        ("from", 16 << 10, 32 << 10)}
    assert len(result.discarded) == result.blocks // 2
    words = " ".join(" ".join(text.lines(result)).split())
    assert f"{len(result.discarded)} of {result.blocks + len(result.discarded)} blocks left out: other" in words


@pytest.mark.parametrize("crossing, slope, seed, known", [(1e5, 0.03, 5, False), (2e5, 0.06, 1, True)])
def test_no_time_is_promised_for_more_blocks_than_are_made(crossing, slope, seed, known):
    """One of two sizes is undecided. If it needs more blocks than a search makes, no time is promised."""
    machine = Machine(crossing, spread=0.05, slope=slope, seed=seed)

    def block(size):
        if machine.count == 2 * LOOKS[0]:
            raise KeyboardInterrupt
        return machine.block(size), None

    result = decide(types.SimpleNamespace(path=lambda: PATH, block=block), Progress())
    assert result.blocks == 2 * LOOKS[0] and result.interrupted
    assert (result.seconds_more is not None) == known


def test_watching_a_program_is_not_in_the_budget(monkeypatch):
    now = [0.0]

    def watch(*_):
        now[0] += 60
        return types.SimpleNamespace(total=lambda *_: 0), False

    monkeypatch.setattr(advise, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(advise, "Engine", lambda *_: None)
    monkeypatch.setattr(advise, "Load", lambda *_: Disturbed(30_000, spread=0.001, seed=5))
    monkeypatch.setattr(advise, "watch", watch)
    options = advise.parse(["--pid=1", "--peer=10.0.0.2:1", "--watch=60s"])
    channel = types.SimpleNamespace(receive=lambda: None)
    result = advise._measure(options, channel, advise.Progress(options.budget))
    assert result.blocks > 0 and result.elapsed_s == 0


@pytest.mark.parametrize("verdicts, words", [
    ("better better", "better, 1K to 2K"), ("better same", "better from 1K on"),
    ("better inconclusive better", "better from 1K (open at 2K)"),
    ("worse worse", "worse, 1K to 2K"), ("same worse", "worse up to 2K"),
    ("inconclusive worse", "worse up to 2K (open at 1K)")])
def test_a_size_that_is_undecided_is_reported(verdicts, words):
    ratios = tuple(Ratio("zerocopy", "twocopy", "cpu", 1024 << i, verdict, None, 1.0, None, None, 11, None, None)
                   for i, verdict in enumerate(verdicts.split()))
    better = verdicts.startswith("better")
    assert text.changes(Answer("twocopy", "cpu", "always" if better else "never", None if better else ratios[-1].size,
                               1024 if better else None, ratios), text.size) == words


def cpu_of(send, sendmsg):
    """Returns the answers if zero-copy has these ratios of CPU time by size, and 1.3 times the throughput."""
    search = Search()
    for size, *ratios in zip(SIZES, send, sendmsg):
        for i in range(LOOKS[-1]):
            copied = (Run(1e9, 1 / ratio) for ratio in ratios)
            search.add(size, {"zerocopy": Run(1.3e9, 1.001 ** (i % 3)),
                              **dict(zip(("twocopy", "onecopy"), copied))})
    return search.answers()


NEVER, ALWAYS, UNKNOWN, NONE = [1.2] * 11, [0.8] * 11, [1.2] * 7 + [1.0] * 4, [1.0] * 11
LATER = [1.2] * 7 + [0.8] * 4
IRREGULAR = [0.8, *NONE[1:-1], 1.2]


@pytest.mark.parametrize("cpu, kinds, pays, costs, words", [
    ((NEVER, UNKNOWN), ["never", "unknown"], None, SIZES[-1], "MSG_ZEROCOPY is worse than send() up to 1M (1.2"),
    ((IRREGULAR, ALWAYS), ["irregular", "always"], None, None, "MSG_ZEROCOPY pays against sendmsg() from 1K on (0.80"),
    ((NEVER, LATER), ["never", "from"], None, SIZES[-1], "MSG_ZEROCOPY pays against sendmsg() from 128K on (0.80"),
    ((UNKNOWN, NONE), ["unknown", "alike"], None, 64 << 10, "Cannot tell"),
    ((IRREGULAR, NONE), ["irregular", "alike"], None, None, "Cannot tell"),
    ((NONE, NONE), ["alike", "alike"], SIZES[0], None, "Use MSG_ZEROCOPY for sends of 1K and more: 1.30 times the thr")])
def test_throughput_decides_only_where_cpu_time_shows_no_difference(cpu, kinds, pays, costs, words):
    answers = cpu_of(*cpu)
    assert [one.kind for one in answers] == [*kinds, "always", "always"]
    found = crossover(answers)
    assert (found.pays, found.costs) == (pays, costs)
    assert text.recommendation(PATH, answers).startswith(words)


def test_words_fit_every_kind():
    search = searched(Machine(30_000, spread=0.001, seed=5))
    assert text.changes(search.answer("twocopy", "cpu"), text.size) == "better from 32K on, worse up to 16K"
    never = searched(Machine(1e9, seed=5))
    assert text.changes(never.answer("onecopy", "cpu"), text.size) == "worse, 32K to 1M"
