# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Answers say what was planted, and claim nothing where nothing is."""

import re

import pytest

import made
import planted
from analysis.figures.base import Data
from analysis.report import conditions
from analysis.report.questions import QUESTIONS, caches, memory, one_copy, servers, slow_answers
from analysis.report.questions import threads, unexpected, why_not_zero_copy, zero_copy

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
    assert len(answer.sentences) == len(planted.THREADS)
    for sentence in answer.sentences:
        found = re.search(r"onecopy overtakes twocopy at about ([\d.]+)K? bytes \(([\d.]+)K? to "
                          r"([\d.]+)K; between 1K and 4K\)", sentence)
        assert found, sentence
        assert float(found[1]) == pytest.approx(2, rel=0.1)
    assert "onecopy overtakes twocopy at about 2K bytes" in answer.short.replace("1.9", "2")


def test_crossings_the_other_way_are_told_with_their_direction():
    rows = planted.sends()
    for row in rows:
        if row["variant"] == "onecopy":
            size = row["message_bytes"]
            row["throughput_bps"] *= (planted.CROSSING / size)**0.5
    text = told(one_copy, planted.data(rows))
    assert "onecopy falls behind twocopy at about 2" in text and "overtakes" not in text


def test_zero_copy_that_never_overtakes(whole):
    text = told(zero_copy, whole)
    assert "zerocopy (100 % copied) never overtakes twocopy, within the sizes tried" in text


def test_what_is_the_same_with_each_number_of_threads_is_said_once(whole):
    said = zero_copy.QUESTION.answer(whole).sentences
    assert len(said) == 1 and said[0].startswith("With 1 and 4 threads, zerocopy"), said


def test_many_inconclusive_sizes_are_one_range():
    rows = [row for row in planted.records() if row["field_size_bytes"] == 1024]
    said = zero_copy.QUESTION.answer(planted.data(rows)).sentences
    assert re.search(r"inconclusive at 32 sizes from 1K to 32K \(\d+ more repeats might do",
                     said[0])


def test_cannot_tell_says_how_many_repeats_would_do():
    rows = planted.sends(repeats=5)
    for n, row in enumerate(rows):
        # As much noise as there is difference, in a fixed order.
        row["throughput_bps"] *= 1 + 0.3 * ((n * 7919) % 13 - 6) / 6
    text = told(one_copy, planted.data(rows))
    assert re.search(r"inconclusive \(in brackets: how many more repeats might do.*\) at "
                     r".*1K \((over )?[\d,]+\)", text)


def test_fewer_than_five_repeats_claim_nothing():
    data = planted.data(planted.sends(repeats=4) + planted.servers(repeats=4))
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


def test_zero_copy_that_is_not_copied_carries_no_rate():
    data = planted.data(planted.sends(rate=0.0))
    text = told(zero_copy, data) + told(why_not_zero_copy, data)
    assert "zerocopy (" not in text and "copied 0 after all (0 % copied)" in text


def test_why_not_divides_the_kernel_time():
    rows = planted.sends()
    data = planted.data(rows, stages=planted.stages(rows))
    answer = why_not_zero_copy.QUESTION.answer(data)
    (said,) = [line for line in answer.sentences if line.startswith("At 256, ")]
    assert said == ("At 256, a send saves 0.600 µs of copying and pages, and pays 0.300 for "
                    "pinning, 4.00 for the deep copy, 0.150 for completions and 0.350 for the "
                    "rest: 4.20 µs more on the CPU in the call than twocopy.")
    (table,) = [t for t in answer.tables if t.caption.startswith("Where the kernel time")]
    row = next(row for row in table.rows if row[-7:][0] == "deep copy")
    assert row[-6:] == ("4.00", "80.0", "15.6", "", "", "")


def test_tracepoints_divide_no_more_than_they_see():
    rows = planted.sends()
    seen = {variant: {"softirq": 300, "unaccounted": 500} for variant in planted.DIVIDED}
    seen["zerocopy"] = {"softirq": 3000, "unaccounted": 900}
    data = planted.data(rows, stages=planted.stages(rows, seen))
    text = told(why_not_zero_copy, data)
    assert ("At 256, network softirqs take 3.00 µs of the send, 0.300 of one of twocopy; in all it "
            "is 3.10 µs more on the CPU in the call than twocopy.") in text
    assert "saves" not in text


def test_why_not_tells_causes_and_costs(whole):
    text = told(why_not_zero_copy, whole)
    assert "Of 100,000 zero-copy sends that completed, the kernel copied 100,000" in text
    assert "loopback on lo (100,000 sends)" in text
    assert "Mean kernel time of a send of zerocopy (100 % copied), against twocopy: " \
           "significantly more " \
        "in 10" in text
    assert "90.0 µs at the p50" in text
    assert "significantly less in 10" in text  # of CPU time: half is planted


def test_two_links_are_answered_apart():
    rows = planted.sends() + [
        {**row, "link": "veth", "throughput_bps": row["throughput_bps"] * (
            8 if row["variant"] == "zerocopy" else 1)} for row in planted.sends(rate=0.0, seed=3)]
    data = planted.data(rows)
    text = told(zero_copy, data)
    assert "with 1 thread (veth), zerocopy is faster than twocopy" in text
    assert "with 1 thread (loopback), zerocopy (100 % copied) never overtakes twocopy" in text
    why = why_not_zero_copy.QUESTION.answer(data).sentences
    assert "On veth: Zerocopy moves significantly more data than twocopy in 10, and " \
           "significantly less in 0, of " \
        "10 configurations (size, threads, options)." in why
    assert any(s.startswith("On loopback: Of 100,000 zero-copy sends that completed, the kernel "
                            "copied 100,000") for s in why)
    assert "significantly rises at 256 on loopback" in told(threads, data)


def test_silent_copies_and_refusals_are_told():
    rows = [{**row, "zc_copied_silent": 700, "zc_refused": 5} if row["variant"] == "zerocopy"
            else row for row in planted.sends()]
    text = told(why_not_zero_copy, planted.data(rows))
    assert "70,000 of them were copied without a flag" in text
    assert "500 zero-copy sends were refused" in text and "100 % copied" in text


def test_the_level_that_gains_most_is_the_first(whole):
    text = told(caches, whole)
    assert re.search("save most in the L1 data cache: 3[89]", text)
    assert "Load misses of the last-level cache with onecopy, against twocopy: " \
           "significantly different " \
        "in none" in text


def test_without_one_copy_the_cache_is_told_of_zero_copy():
    short = caches.QUESTION.answer(planted.data(planted.records(numbers=range(1, 6)))).short
    assert re.search(r"L1 data cache: 3[789].* per KiB with zerocopy \(100 % copied\)", short), short


def test_server_models_that_compare_alike_are_said_once():
    rows = [row for row in planted.servers() if row["server_model"] != "select"]
    said = servers.QUESTION.answer(planted.data(rows)).sentences
    assert said[0].startswith("With 10 and 100 connections: no significant difference"), said


def test_without_counters_caches_cannot_be_told():
    data = planted.data(planted.sends(counters=False))
    for module in (caches, memory):
        answer = module.QUESTION.answer(data)
        assert answer.short.startswith("These data give no answer") and not answer.tables


def test_threads_scale_as_planted(whole):
    text = told(threads, whole)
    assert re.search(r"From 1 thread to 4, the throughput of twocopy significantly rises at .*"
                     r"256 \((1.9|2.0)\d times", text), text
    assert "falls at" not in text


def test_times_that_threads_cost_are_told():
    rows = planted.sends()
    for row in rows:
        if row["variant"] == "zerocopy" and row["threads"] == 4:
            row["message_p99_ns"] *= 50
    text = told(threads, planted.data(rows))
    assert re.search(r"the p99 of a message of zerocopy \(100 % copied\) significantly rises at "
                     r"256 "
                     r"\((49|50)\.\d times", text)
    assert "the p99 of a message of twocopy has no significant change in 5 of 5 configurations" in text


def test_a_planted_fall_and_what_moved_with_it():
    rows = planted.sends()
    for row in rows:
        if row["variant"] == "onecopy" and row["message_bytes"] == 65536:
            row["throughput_bps"] *= 0.2
            row["sender_context_switches"] = 900
        elif row["variant"] == "onecopy":
            row["sender_context_switches"] = 90
    text = told(unexpected, planted.data(rows))
    assert "The throughput of onecopy falls from 16K bytes a message to 64K bytes a message" in text
    assert "With it moved: sender context switches (9.90 times (9.90 to 9.90) a message, 9.90 " \
           "times (9.90 to 9.90) a second, rank correlation" in text
    assert "That is correlation; it shows no cause." in text


def test_outliers_are_flagged_and_stay():
    rows = planted.sends()
    rows[0]["throughput_bps"] *= 0.1
    answer = unexpected.QUESTION.answer(planted.data(rows))
    assert "1 run of 300 is an outlier among the repeats of its configuration; flagged, not " \
           "removed." \
        in answer.sentences
    assert len(answer.tables[0].rows) == 1


def test_failed_runs_are_told():
    rows = planted.sends()
    rows[3].update(complete=False, error="the receiver is gone")
    text = told(unexpected, planted.data(rows))
    table = unexpected.QUESTION.answer(planted.data(rows)).tables[-1]
    assert table.rows == (("twocopy,1024B,8f,1t", "1", "the receiver is gone"),)
    assert "1 run failed or was interrupted, and is left out everywhere else" in text
    assert "the receiver is gone (1 run)" in text


def test_server_models_as_planted(whole):
    answer = servers.QUESTION.answer(whole)
    assert any(re.fullmatch(r"With 100 connections: select significantly answers more than iterative "
                            r"\((1.9|2.0)\d times .*\) and threaded \(.*\)\.", s)
               for s in answer.sentences), answer.sentences
    assert "With 10 connections: no significant difference between iterative, threaded and select." \
        in answer.sentences


def test_the_client_of_server_models_has_its_counters():
    rows = [{**row, "receiver_task_clock_ns": 13_590_000, "receiver_branch_miss_rate": 0.121}
            for row in planted.servers()]
    server, client = servers.QUESTION.answer(planted.data(rows)).tables
    assert "server CPU per answer (ms)" in server.header and "Server" in server.caption
    assert client.header[-2:] == ("client task clock (ms)", "client branch misses (%)")
    assert all(row[-2].startswith("13.6") and row[-1].startswith("12.1") for row in client.rows)


def test_a_retransmitted_syn_is_not_blamed_on_threads():
    text = told(slow_answers, planted.data(planted.servers(syns=3, slow=True)))
    assert "In 10 of 60 runs the slowest hundredth of answers took a second or more." in text
    assert "Retransmitted SYNs or SYN-ACKs: 30, in 10 runs of 60 (threaded); in 10 of these" \
        in text
    assert "connecting 1,020 ms" in text


def test_slow_answers_without_drops_say_so():
    text = told(slow_answers, planted.data(planted.servers(slow=True)))
    assert "the server waited for a CPU in 40.0 % of the time in which it could run" in text
    assert "In none of these runs were there overflows of a listen queue" in text


def test_memory_traffic_as_planted(whole):
    text = told(memory, whole)
    assert re.search(r"by onecopy, against twocopy: significantly less in 10 \(0\.(49|50)\d* to "
                     r"0\.50\d* times\)", text), text
