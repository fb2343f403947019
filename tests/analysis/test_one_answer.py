# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the terminal and the page agree about one folder: pairs, ratios, intervals, verdicts, sentences."""

import math
import random

import pytest

from analysis import table, words
from analysis.figures.base import Data
from analysis.figures.judged import KINDS
from analysis.findings import rules, sentences
from analysis.report.questions import sending
from analysis.text import answer
from analysis.text.cells import Cells
from conftest import changed, samples, write

COPYING = next(one for one in samples() if one["load"]["variant"] == "zerocopy")
SIZES_KIND = next(kind for kind in KINDS if kind.name == "sizes")
BASE = {"noise": {}} | next(one for one in samples() if one["load"] and one["load"]["variant"] == "twocopy")
SPEED = {"twocopy": 1e9, "onecopy": 1.1e9, "zerocopy": 0.6e9}


def swept(seed):
    """Yields random records of a folder: of one or two machines, with one or two sessions each. The mechanism differs
    between some of them; some runs are disturbed and repeated, some are missing.
    """
    dice = random.Random(seed)
    sizes = dice.sample([256, 1024, 4096, 16384], dice.randint(1, 3))
    threads = dice.sample([1, 2, 4], dice.randint(1, 2))
    noise, missing, disturbed = dice.choice([0.001, 0.05, 0.5]), dice.choice([0, 0.2]), dice.choice([0, 0.2])
    for host in dice.choice([["one"], ["one", "other"]]):
        for session in range(dice.choice([1, 2])):
            tier = dice.choice(["tracepoint", "kprobe"])
            for repeat in range(1, dice.choice([1, 2, 6, 10]) + 1):
                for size in sizes:
                    for number in threads:
                        for variant in dice.sample(list(SPEED), 3):
                            for again in (False, True):
                                made = run(dice, noise, host, (seed, session), tier, repeat, size, number, variant)
                                if dice.random() < missing:
                                    continue
                                if not again and dice.random() < disturbed:
                                    yield changed(made, noise__disturbed="other programs took 30 % of the CPUs' time")
                                    continue
                                yield made
                                break


def run(dice, noise, host, session, tier, repeat, size, threads, variant):
    run.count += 1
    speed = SPEED[variant] * size ** (0.5 if variant == "zerocopy" else 0.4) * math.exp(dice.gauss(0, noise))
    return changed(
        BASE, run__id=f"run {run.count}", run__cell=f"{variant},{size}B,8f,{threads}t", run__repeat=repeat,
        run__seed=hash(session) % 2**31, run__first_look=None, noise__disturbed=None, host__name=host, plan__tier=tier,
        started=f"2026-01-01T{run.count // 3600 % 24:02}:{run.count // 60 % 60:02}:{run.count % 60:02}Z",
        load__variant=variant, load__message_bytes=size, load__threads=threads, load__connections=threads,
        load__fields=8, app__throughput_bps=speed, app__error=None, warnings=[])


run.count = 0


@pytest.mark.parametrize("seed", range(20))
def test_terminal_and_page_word_copies_equally(folder, seed):
    dice = random.Random(seed)
    done = dice.choice([5, 200, 10_000])
    copied = dice.choice([0, 1, done // 2, done])
    causes = [{**COPYING["zerocopy"]["causes"][0], "cause": cause, "count": dice.randint(1, copied)}
              for cause in dice.sample(["loopback", "packet_tap", "unclassified"], dice.randint(0, 2)) if copied]
    record = changed(COPYING, zerocopy__requests=done, zerocopy__completions=done, zerocopy__copied=copied,
                     zerocopy__causes=causes, zerocopy__unflagged=dice.choice([0, None]), zerocopy__errqueue_copied=None)
    runs = Data(table.load([write(folder / "runs.jsonl", [record])]).frame).sending
    assert sending.copied_sentence(runs, sending.copies_of(runs)) == sentences.paragraphs(rules.of_records([record]))[0][0]


def rounded(found):
    return None if found is None else tuple(round(value, 9) for value in found)


@pytest.mark.parametrize("seed", range(20))
def test_terminal_and_page_agree(folder, seed):
    records = list(swept(seed))
    cells = Cells()
    for record in records:
        cells.add(record)
    cells.name()
    data = Data(table.load([write(folder / "runs.jsonl", records)]).frame)
    page = sorted((c.a, c.configuration["message_bytes"], c.configuration["threads"], c.verdict, c.judgment.n,
                   rounded([c.judgment.value]), rounded((c.judgment.low, c.judgment.high)) if c.judgment.has_interval
                   else None, rounded(sorted(c.logs))) for c in SIZES_KIND.compare(data))
    terminal = sorted((c.a, c.configuration["message_bytes"], c.configuration["threads"], one["verdict"], one["n"],
                       rounded([one["effect"]]), rounded(one["interval"]), rounded(sorted(c.logs)))
                      for cell in cells for c, one in [(cell.compared.get("throughput"),
                                                        cell.comparisons.get("throughput"))] if c)
    assert terminal == page and (page or not seed)
    for variant, question in ("onecopy", sending.one_copy), ("zerocopy", sending.zero_copy):
        some = [cell for cell in cells if cell.way == variant and cell.comparisons]
        found = question(data)
        if len(some) > 1 and found.answer and "from about" not in found.answer and found.verdict is not None:
            said = " ".join(words.sentence(one) for one in answer.of_several(some, None))
            assert found.answer.removeprefix("Never: ").lower() == said.lower()
