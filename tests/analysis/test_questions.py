# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that answers have the planted effects, and claim no difference if none is planted."""

import re

import pytest

import goldens
import made
import planted
from analysis import summary
from analysis.compare import judge, pairs
from analysis.figures.base import Data
from analysis.report.questions import RECORDS, answered, common, sending, servers, unexpected

DECIDED = {judge.BETTER, judge.WORSE, judge.SAME}


def claims(answer):
    """Returns the decided verdicts: of the answer, and of the rows of its tables."""
    rows = [row for table in answer.tables if "verdict" in table.header
            for row in table.rows if row[table.header.index("verdict")] in DECIDED]
    return rows + ([answer.verdict] if answer.verdict in DECIDED else [])


def test_one_copy_overtakes_where_it_was_planted(whole):
    answer = sending.one_copy(whole)
    found = re.findall(r"[Ff]rom about ([\d.]+)K \(([\d.]+)K? to ([\d.]+)K\) with (\d)", answer.answer)
    assert [threads for *_, threads in found] == ["1", "4"]
    assert all(float(size) == pytest.approx(2, rel=0.1) for size, *_ in found)


def test_zero_copy_never_does_and_the_answer_has_the_cause(whole):
    answer = sending.zero_copy(whole)
    assert (answer.verdict, answer.answer) == (judge.WORSE, "Never: zero-copy is slower than two-copy in all 10 configurations.")
    assert "All 100,000 zero-copy sends were copied (loopback, lo)." == answer.why
    assert "advise --peer" in answer.next and re.search(r"0\.\d+ times \(0\.\d+ to 0\.\d+\) at 256", answer.number)


def test_numbers_of_threads_are_pooled_where_too_few_repeats_decide_alone():
    answer = sending.one_copy(planted.data(planted.sends(repeats=5)))
    assert re.fullmatch(r"From about 2K \([\d.]+K to [\d.]+K\), over 1 and 4 threads together\.", answer.answer)
    assert not [row for row in answer.tables[0].rows if row[answer.tables[0].header.index("verdict")] in DECIDED]
    zero = sending.zero_copy(planted.data(planted.sends(repeats=5)))
    assert zero.answer == ("Never: zero-copy is slower than two-copy in all 5 configurations, over 1 and 4 threads "
                           "together. Single configurations need 6 repeats; these have 5.")


def test_pooled_configurations_are_in_order_though_one_number_of_threads_lacks_a_size():
    rows = [row for row in planted.sends(repeats=5) if row["threads"] > 1 or row["message_bytes"] != 4096]
    found = summary.compare(planted.data(rows).sending, ["setting", "threads", "message_bytes"], "variant",
                            [("onecopy", "twocopy")], "throughput_bps")
    sizes = [one.configuration["message_bytes"] for one in pairs.pooled(found, "threads")]
    assert sizes == sorted(sizes) and 4096 in sizes


def test_numbers_of_threads_that_contradict_each_other_are_not_pooled():
    rows = planted.sends()
    for row in rows:
        if row["variant"] == "onecopy" and row["threads"] == 4:
            row["throughput_bps"] = 1e18 / row["throughput_bps"]
    found = summary.compare(planted.data(rows).sending, ["setting", "threads", "message_bytes"], "variant",
                            [("onecopy", "twocopy")], "throughput_bps")
    assert {judge.BETTER, judge.WORSE} <= {c.verdict for c in found}
    assert pairs.pooled(found, "threads") == []
    assert pairs.pooled([c for c in found if c.configuration["threads"] == 1], "threads") == []


@pytest.mark.parametrize("commands, next_", [
    (("--variant zerocopy --profile", "--variant twocopy,onecopy --out S"),
     "sweep --variant twocopy,onecopy --out S --decide"),
    (("--variant twocopy --out A", "--variant onecopy --out B"), "sweep --variant twocopy,onecopy --decide --out DIR")])
@pytest.mark.parametrize("disturbed", [None, "busy"])
def test_the_next_command_runs_both_variants(commands, next_, disturbed):
    rows = [{**row, "disturbed": disturbed, "command": f"analyze sweep {command}"} for command in commands
            for row in planted.sends(repeats=2) if row["variant"] in command]
    assert sending.one_copy(planted.data(rows)).next == f"sudo ./analyze {next_}"


def test_after_a_timeline_the_next_command_is_of_a_named_grid():
    rows = [{**row, "command": "analyze timeline --variant twocopy"} for row in planted.sends()]
    assert sending.threads(planted.data([row for row in rows if row["threads"] == 1])).next == (
        "sudo ./analyze sweep --grid sizes --threads 1,2,4,8 --out DIR")


@pytest.mark.parametrize("repeats, disturbed", [(2, None), (10, "busy")])
def test_too_few_and_disturbed_repeats_claim_nothing_and_name_the_next_command(repeats, disturbed):
    rows = [{**row, "disturbed": disturbed, "command": "analyze sweep --grid sizes --out S"}
            for row in planted.sends(repeats=repeats) + planted.servers(repeats=repeats)]
    found = answered(planted.data(rows))
    assert not [claims(one) for one in found if claims(one)]
    assert not disturbed or [one.answer for one in found].count(common.NO_PAIRS) == 3  # two variants, and the servers
    (one, *_) = found
    assert one.verdict == judge.INCONCLUSIVE and one.next == "sudo ./analyze sweep --grid sizes --out S --decide"
    assert not disturbed or "300 of 300 runs are in no comparison" in one.caveats[0]


def test_without_difference_nothing_is_better_or_worse():
    """Uses a fixed seed: by chance, one seed of twenty may have a false alarm."""
    rows = planted.sends(counters=False, seed=5) + planted.servers()
    for row in rows:
        if row["variant"]:
            row["throughput_bps"] *= 1e9 / planted.throughput(row["variant"], row["message_bytes"], row["threads"])
        else:
            row["messages_per_s"] = 2000 + row["repeat"] * 7 % 5
    for one in (sending.one_copy, sending.zero_copy, sending.threads, servers.models):
        assert one(planted.data(rows)).verdict in (judge.SAME, judge.INCONCLUSIVE), one


def test_planted_differences_are_claimed(whole):
    """Shows that the tests of no claims can fail."""
    assert sum(bool(claims(one)) for one in answered(whole)) >= 6


@pytest.mark.parametrize("question", goldens.QUESTIONS, ids=lambda q: q.__name__)
def test_without_data_it_is_open(question):
    answer = question(Data(made.frame([])))
    assert answer.verdict is None and not answer.number and not answer.tables


def test_without_counters_the_answer_names_a_machine_with_them():
    data = planted.data(planted.sends(counters=False))
    assert "a machine with a PMU" in sending.caches(data).next
    assert sending.memory(data).next.endswith("--memory --out DIR")
    one_number = [row for row in planted.sends() if row["threads"] == 1]
    assert "--threads 1,2,4,8" in sending.threads(planted.data(one_number)).next


def test_two_cpus_show_no_scaling():
    rows = [{**row, "cpus": 2} for row in planted.sends()]
    answer = sending.threads(planted.data(rows))
    assert "No scaling can be seen on 2 CPUs" in answer.answer and "with 8 CPUs" in answer.next


def test_caches_and_memory_as_planted(whole):
    assert re.match(r"The L1 data cache: 3\d\.\d load misses less per KiB", sending.caches(whole).answer)
    memory = sending.memory(whole)
    assert memory.verdict == judge.BETTER and re.search(r"0\.49\d+ times .* and 0\.50\d+ times", memory.number)


def test_a_cache_gains_by_its_pairs_though_medians_say_the_opposite():
    """One pair of fifteen is an outlier, which reverses the order of the medians."""
    def misses(row):
        of_two = 2_000_000 * row["repeat"]
        return of_two if row["variant"] == "twocopy" else 10**9 if row["repeat"] == 1 else int(0.94 * of_two)
    rows = [{**row, "sender_l1d_misses": misses(row), "sender_llc_misses": None} for row in planted.sends(repeats=15)
            if row["message_bytes"] == 4096 and row["threads"] == 1]
    answer = sending.caches(planted.data(rows))
    assert answer.verdict == judge.BETTER and answer.answer.startswith("The L1 data cache: -")


def test_why_not_divides_the_kernel_time():
    why = goldens.answers("time divided into stages")[0].why
    assert re.search(r"at 64K a send saves 0\.6\d+ \u00b5s of copying and pays .*deep copy.*more on the CPU", why), why


def test_a_dip_of_records_is_found_with_the_smallest_visible_one():
    found = {one.question: one for one in answered(planted.data(planted.records(repeats=11)))}
    assert len(found) == len(RECORDS)
    dip, = (one for question, one in found.items() if "dip" in question)
    assert dip.verdict == judge.WORSE and "at 16 records (zero-copy" in dip.answer
    even = [{**row, "throughput_bps": 1e9 * (1 + (row["repeat"] + n) % 7 / 1000)}
            for n, row in enumerate(planted.records(repeats=11))]
    assert re.match(r"smallest dip that these data would have shown: [\d.]+ % where they are clearest",
                    unexpected.answer(planted.data(even)).number)


def test_a_fall_and_the_counters_that_change_with_it():
    answer, = goldens.answers("a fall, and what moves with it")
    assert "falls from 16K to 64K a message" in answer.answer and "sender context switches" in answer.why


def test_outliers_in_one_repeat_are_reported():
    rows = planted.sends()
    for row in rows[:7]:
        row.update(throughput_bps=row["throughput_bps"] * 0.1, disturbed="busy")
    why = unexpected.answer(planted.data(rows)).why
    assert re.search(r"7 runs of 300 are outliers, 7 of them in repeat 1, of which 7 of 30 runs ran on a busy machine", why), why


def test_failed_runs_are_reported():
    answer, = goldens.answers("a failed run")
    assert answer.tables[-1].rows == (("twocopy,256B,8f,1t", "1", "the receiver is gone"),)


def test_server_models_as_planted(whole):
    answer = servers.models(whole)
    assert answer.answer.startswith("Select answers most at 100 connections") or "select" in answer.answer.lower()
    server, client, compared = answer.tables
    assert "CPU per answer (ms)" in server.header and client.caption.startswith("Client")
    assert len(compared.rows) == 6


def test_the_answer_about_servers_has_the_waits_and_the_common_work():
    rows = [{**row, "sender_waited_share": 0.97 if row["server_model"] == "threaded" else 0.0008}
            for row in planted.servers()]
    answer = servers.why(planted.data(rows))
    assert re.search(r"The threaded server waits for a CPU in 97 % .*; (iterative|select) in 0\.\d+ %", answer.answer), answer
    assert "bound by the same work" in answer.why


def test_unmeasured_delays_of_servers_are_not_equal():
    rows = [{**row, "sender_waited_share": 0.6 if row["server_model"] == "threaded" else None} for row in planted.servers()]
    assert "not measured for all" in servers.why(planted.data(rows)).answer


def test_quick_answers_do_not_hide_connections_without_one():
    rows = [{**row, "unanswered": 500, "listen_overflows": 900} for row in planted.servers()]
    assert re.search(r"took a second; but [\d,]+ overflows .* connections without an answer",
                     servers.slow(planted.data(rows)).answer)
    unknown = [{**row, "answer_p99_ns": 2e9, **dict.fromkeys(name for name, _ in servers.COUNTS)} for row in rows]
    assert "were not counted" in servers.slow(planted.data(unknown)).answer


def test_slow_answers_have_their_causes():
    retransmitted, = goldens.answers("retransmitted SYNs")
    assert "30 retransmitted SYNs" in retransmitted.answer and "connect 1,020 ms" in retransmitted.why
    waited, = goldens.answers("slow answers without them")
    assert "nothing was dropped or retransmitted" in waited.answer and "40 % of the time" in waited.why
