# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Answers say what was planted, and claim nothing where nothing is."""

import re

import pytest

import goldens
import made
import planted
from analysis.figures.base import Data
from analysis.report import conditions
from analysis.report.questions import QUESTIONS, caches, memory, one_copy, servers, threads
from analysis.report.questions import zero_copy

COUNTED = re.compile(r"significantly (?:\w+ ){1,5}?in (\d+)|significantly falls in (\d+)")
CLAIM = re.compile(r"(?<!No server model )significantly (more|less|fewer|rises|falls|answers more) "
                   r"(at|than)|overtakes \w+ at about|"
                   r"is (faster|slower) than|saves? most|\| (more|less|fewer|faster|slower)$")


def claims(line):
    """What is said to be significant, and not of none."""
    counts = [int(a or b) for a, b in COUNTED.findall(line)]
    return sum(counts) or CLAIM.search(COUNTED.sub("", line))


def told(module, data):
    answer = module.QUESTION.answer(data)
    return " ".join([answer.short, *answer.sentences])


def lines(answer):
    """Every line that a reader sees."""
    yield answer.short
    yield from answer.sentences
    yield from answer.not_shown
    for table in answer.tables:
        yield from (" | ".join(row) for row in table.rows)


@pytest.fixture(scope="module")
def whole():
    return planted.all_data()


def test_one_copy_overtakes_where_it_was_planted(whole):
    answer = one_copy.QUESTION.answer(whole)
    assert re.findall(r"\b[14]\b(?= and|\ threads?,)", " ".join(answer.sentences)) == ["1", "4"]
    for sentence in answer.sentences:
        found = re.search(r"onecopy overtakes twocopy at about ([\d.]+)K? bytes \(([\d.]+)K? to "
                          r"([\d.]+)K; between 1K and 4K\)", sentence)
        assert found, sentence
        assert float(found[1]) == pytest.approx(2, rel=0.1)


def test_many_inconclusive_sizes_are_one_range():
    rows = [row for row in planted.records(repeats=8) if row["field_size_bytes"] == 1024]
    said = zero_copy.QUESTION.answer(planted.data(rows)).sentences
    assert re.search(r"inconclusive at 32 sizes from 1K to 32K \(\d+ repeats might do",
                     said[0])


def test_cannot_tell_says_how_many_repeats_would_do():
    rows = planted.sends(repeats=8)
    for n, row in enumerate(rows):
        # As much noise as there is difference, in a fixed order.
        row["throughput_bps"] *= 1 + 0.5 * ((n * 7919) % 13 - 6) / 6
    text = told(one_copy, planted.data(rows))
    assert re.search(r"inconclusive \(in brackets: how many repeats might do.*\) at "
                     r".*1K \((over )?[\d,]+\)", text)


def test_fewer_than_six_repeats_claim_nothing():
    data = planted.data(planted.sends(repeats=5) + planted.servers(repeats=5))
    for question in QUESTIONS:
        for line in lines(question.answer(data)):
            assert not claims(line), (question.name, line)


def test_disturbed_runs_claim_nothing():
    """Their medians and figures stay; nothing is compared, and the reason stands beside."""
    why = "other programs took 48 % of the CPUs' time"
    rows = [{**row, "disturbed": why} for row in planted.sends() + planted.servers()]
    data = planted.data(rows)
    for question in QUESTIONS:
        for line in lines(question.answer(data)):
            assert not claims(line), (question.name, line)
    assert re.search(rf"; ([\d,]+) runs of \1 are left out of comparisons, because the machine was "
                     rf"busy \({why}\)", conditions.beside(data.runs, "")[2])


def test_null_data_give_no_claims():
    """No difference planted: of all that is told, nothing is significant. (One of twenty seeds
    may have a false alarm.)"""
    rows = planted.sends(counters=False, seed=5) + planted.servers()
    for row in rows:
        if row["variant"]:
            same = planted.throughput("twocopy", 4096, 1)
            row["throughput_bps"] = same * row["throughput_bps"] / planted.throughput(
                row["variant"], row["message_bytes"], row["threads"])
        else:
            row["messages_per_s"] = 2000 + row["repeat"] * 7 % 5
    data = planted.data(rows)
    for module in (one_copy, zero_copy, threads, servers):
        for line in lines(module.QUESTION.answer(data)):
            assert not claims(line), line


def test_claims_are_seen(whole):
    """What the tests of no claims look for, there is where differences are planted."""
    for question in QUESTIONS:
        if question.name not in ("unexpected", "slow-answers"):
            assert any(map(claims, lines(question.answer(whole)))), question.name


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.name)
def test_without_data_it_says_what_is_not_shown(question):
    answer = question.answer(Data(made.frame([])))
    assert answer.short.startswith("These data") and answer.not_shown
    assert not answer.sentences and not answer.tables


@pytest.mark.parametrize("rate,what", [(1.0, "100 % copied"), (0.25, "25.0 % copied")])
def test_what_was_copied_stands_in_the_line_of_every_zero_copy_figure(rate, what):
    data = planted.data(planted.sends(rate=rate))
    for question in QUESTIONS:
        for line in lines(question.answer(data)):
            if "zerocopy" in line and re.search(r"\d", line):
                assert what in line, (question.name, line)


def test_why_not_divides_the_kernel_time():
    (_, answer), = goldens.answers("time divided into stages")
    (table,) = [t for t in answer.tables if t.caption.startswith("Where the kernel time")]
    row = next(row for row in table.rows if row[-7:][0] == "deep copy")
    assert row[-6:] == ("4.00", "80.0", "15.6", "", "", "")


def test_the_level_that_gains_most_is_the_first(whole):
    text = told(caches, whole)
    assert re.search("save most in the L1 data cache: 3[89]", text)


def test_without_one_copy_the_cache_is_told_of_zero_copy():
    short = caches.QUESTION.answer(planted.data(planted.records(repeats=8, numbers=range(1, 6)))).short
    assert re.search(r"L1 data cache: 3[789].* per KiB with zerocopy \(100 % copied\)", short), short


def test_without_counters_caches_cannot_be_told():
    assert not any(answer.tables for _, answer in goldens.answers("no counters"))


def test_threads_scale_as_planted(whole):
    text = told(threads, whole)
    assert re.search(r"From 1 thread to 4, the throughput of twocopy significantly rises at .*"
                     r"256 \((1.9|2.0)\d times", text), text


def test_outliers_are_flagged_and_stay():
    (_, answer), = goldens.answers("an outlier")
    assert len(answer.tables[0].rows) == 1


def test_failed_runs_are_told():
    (_, answer), = goldens.answers("a failed run")
    assert answer.tables[-1].rows == (("twocopy,256B,8f,1t", "1", "the receiver is gone"),)


def test_server_models_as_planted(whole):
    answer = servers.QUESTION.answer(whole)
    assert any(re.fullmatch(r"With 100 connections: select significantly answers more than iterative "
                            r"\((1.9|2.0)\d times .*\) and threaded \(.*\)\.", s)
               for s in answer.sentences), answer.sentences


def test_the_client_of_server_models_has_its_counters():
    rows = [{**row, "receiver_task_clock_ns": 13_590_000, "receiver_branch_miss_rate": 0.121}
            for row in planted.servers()]
    server, client = servers.QUESTION.answer(planted.data(rows)).tables
    assert "server CPU per answer (ms)" in server.header and "Server" in server.caption
    assert client.header[-2:] == ("client task clock (ms)", "client branch misses (%)")
    assert all(row[-2].startswith("13.6") and row[-1].startswith("12.1") for row in client.rows)


def test_memory_traffic_as_planted(whole):
    text = told(memory, whole)
    assert re.search(r"by onecopy, against twocopy: significantly less in 10 \(0\.(49|50)\d* to "
                     r"0\.50\d* times\)", text), text
