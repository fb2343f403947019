# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the comparison of two result sets: planted changes are found, and equal sets have none."""

import json
import math

import polars as pl
import pytest
from conftest import analysis, program

import made
from analysis import result_sets, result_sets_text, table
from analysis.compare import judge
from analysis.report import conditions
from goldens import COMPARED, runs

DRAWS, AT = 150, f"{made.BEGIN:%Y-%m-%d %H:%M}"


def test_a_planted_regression_is_worse_and_the_rest_is_not():
    found = result_sets.compare(runs(), runs(factor=0.7, seed=2, kernel="6.99"))
    assert {d.configuration["variant"] for d in found.of(judge.WORSE)} == {"zerocopy"}
    assert len(found.of(judge.WORSE)) == 3
    assert [(c.setting, c.a, c.b) for c in found.changes] == [("kernel", ("6.12",), ("6.99",))]
    assert all(d.change.low <= 0.7 <= d.change.high for d in found.of(judge.WORSE))


def test_an_improvement_is_better():
    found = result_sets.compare(runs(), runs(factor=1.4, seed=2))
    assert len(found.of(judge.BETTER)) == 3 and not found.of(judge.WORSE)


def test_less_is_better_for_some_metrics():
    wide = runs().with_columns(message_p99_ns=pl.lit(1000), message_span=pl.lit("message"))
    slow = wide.with_columns(message_p99_ns=pl.lit(2000))
    found = result_sets.compare(wide, slow).of(judge.WORSE)
    assert {d.metric.column for d in found} == {"message_p99_ns"}


@pytest.mark.simulation
@pytest.mark.parametrize("repeats, spikes", ((5, 0), (5, 0.15), (10, 0.15)))
def test_the_same_twice_is_rarely_different(repeats, spikes):
    alarms = sum(bool([d for d in result_sets.compare(
        runs(repeats, seed=seed, noise=0.1, spikes=spikes),
        runs(repeats, seed=seed + DRAWS, noise=0.1, spikes=spikes)).differences
                       if d.verdict in (judge.WORSE, judge.BETTER)])
                 for seed in range(DRAWS))
    assert alarms / DRAWS < 0.05 + 4 * math.sqrt(0.05 * 0.95 / DRAWS)


def test_loopback_against_a_network_shows_the_copies():
    found = result_sets.compare(*COMPARED["loopback against a network"]())
    assert {d.metric.column for d in found.of(judge.BETTER)} == {"throughput_bps",
                                                                   "fallback_rate"}
    assert ("link", ("loopback",), (None,)) in [(c.setting, c.a, c.b) for c in found.changes]


def test_a_setting_of_1_is_not_true():
    text = result_sets_text.text(result_sets.compare(runs(), runs(seed=2, cpus=1, virtual=True)))
    assert {"cpus 8 1", "virtual none yes"} <= {" ".join(line.split()) for line in text.splitlines()}


def test_an_inconclusive_comparison_names_the_repeats():
    found = result_sets.compare(*COMPARED["too noisy to tell"]())
    assert any(d.change.repeats for d in found.of(judge.INCONCLUSIVE))


def test_configurations_that_one_lacks_are_named():
    found = result_sets.compare(*COMPARED["loads that one lacks"]())
    assert len(found.only_a) == 2 and not found.only_b


def test_settings_and_devices_that_changed_are_named():
    a = runs().with_columns(settings=pl.lit("optmem_max=20480;smt=on"),
                            devices=pl.lit("eth0=e1000e MTU 1500 scatter_gather"))
    b = runs().with_columns(settings=pl.lit("optmem_max=131072;smt=on"),
                            devices=pl.lit("eth0=e1000e MTU 9000 scatter_gather"))
    found = result_sets.compare(a, b)
    assert [(c.setting, c.a, c.b) for c in found.changes] == [
        ("optmem_max", ("20480",), ("131072",)),
        ("device eth0", ("e1000e MTU 1500 scatter_gather",), ("e1000e MTU 9000 scatter_gather",))]
    assert result_sets.compare(runs(), b).changes == []


def test_findings_that_only_one_has_are_a_change():
    a, b = (runs().with_columns(findings=pl.lit(codes)) for codes in ("works", "copied_packet_tap;queue_never_read"))
    (change,) = result_sets.compare(a, b).changes
    assert (change.setting, change.a, change.b) == ("findings", ("works",), ("copied_packet_tap;queue_never_read",))
    assert "copied packet tap, queue never read" in result_sets_text.text(result_sets.compare(a, b))


def test_a_setting_of_several_numbers_is_one_line():
    a, b = (runs().with_columns(settings=pl.lit(f"tcp_rmem=4096\t{usual}\t6291456")) for usual in (131072, 16384))
    text = result_sets_text.text(result_sets.compare(a, b))
    assert "tcp_rmem" in text and "4096 131072 6291456  4096 16384 6291456" in text


def test_messages_in_flight_that_follow_the_size_are_a_setting():
    a = runs().with_columns(inflight=pl.lit(32, pl.Int64))
    b = runs().with_columns(inflight=1048576 // pl.col("message_bytes") + 32)
    found = result_sets.compare(a, b)
    assert len(found.differences) == 6 and not found.only_a
    assert [change.setting for change in found.changes] == ["inflight"]
    asked = pl.concat([a, a.with_columns(inflight=pl.lit(1, pl.Int64), run_id="run_id")])
    assert "inflight" in result_sets.compare(asked, asked).differences[0].configuration


@pytest.mark.parametrize("other", [{"workload": None}, {"complete": False, "link": None}])
def test_incomplete_runs_are_no_changed_setting(other):
    a, b = runs(), runs().with_columns(link=pl.lit("veth"))
    beside = a.head(1).with_columns(pl.lit(value).cast(a.schema[name]).alias(name) for name, value in other.items())
    found = result_sets.compare(pl.concat([a, beside]), b)
    assert len(found.differences) == 6 and [change.setting for change in found.changes] == ["link"]


def test_settings_of_loads_that_only_one_has_are_no_change():
    def waking(frame):
        return frame.with_columns(rcvlowat_bytes=pl.col("message_bytes"))
    a, b = waking(runs()), waking(runs()).filter(pl.col("message_bytes") != 1024)
    assert result_sets.compare(a, b).changes == []


def test_times_of_different_spans_are_not_compared():
    a = runs().with_columns(message_p99_ns=pl.lit(1000), message_span=pl.lit("message"))
    b = a.with_columns(message_span=pl.lit("message_due"))
    found = result_sets.compare(a, b)
    assert {d.metric.column for d in found.differences} == {"throughput_bps"}
    assert "message_span" in [change.setting for change in found.changes]


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    tmp_path, paths = tmp_path_factory.mktemp("sets"), []
    for name, frame in (("a", runs()), ("b", runs(seed=2)), ("worse", runs(factor=0.5, seed=3)),
                        ("few", runs(repeats=3)), ("other", runs(threads=9))):
        paths.append(str(tmp_path / f"{name}.parquet"))
        table.write_parquet(frame, paths[-1])
    return dict(zip(("a", "b", "worse", "few", "other"), paths))


def test_disturbed_runs_are_left_out_and_counted(sets, tmp_path):
    busy = str(tmp_path / "busy.parquet")
    why = "other programs took 26 % of the CPUs' time"
    table.write_parquet(runs().with_columns(disturbed=pl.when(pl.col("repeat") < 3).then(pl.lit(why))), busy)
    told = analysis("compare", sets["a"], busy).stdout
    assert f"0 runs of A and 12 of B left out, as the machine was busy ({why})" in " ".join(told.split())
    table.write_parquet(runs().with_columns(disturbed=pl.lit(why)), busy)
    nothing = analysis("compare", sets["a"], busy)
    assert nothing.returncode == 1 and nothing.stderr.endswith(
        f"have no load in common on a quiet machine: 0 runs of A and 48 of B left out, as the machine was busy ({why}): measure again\n")


def test_values_of_0_have_no_ratio_and_are_counted(sets, tmp_path):
    zero, some = str(tmp_path / "zero.parquet"), pl.col("variant") == "zerocopy"
    table.write_parquet(runs().with_columns(pl.when(~some).then("throughput_bps").otherwise(0.0)), zero)
    told = json.loads(analysis("compare", sets["a"], zero, "--json", "-").stdout)
    assert told["zeros"] == [0, runs().filter(some).height]
    table.write_parquet(runs().with_columns(throughput_bps=0.0), zero)
    nothing = analysis("compare", sets["a"], zero, "--metric", "throughput_bps")
    assert nothing.returncode == 1 and "0 values of A and 48 of B left out" in nothing.stderr


@pytest.mark.parametrize("known, machine", [
    ({}, "Linux 6.12 x86_64, 8 CPUs"), ({"cpus": 1}, "Linux 6.12 x86_64, 1 CPU"),
    ({"kernel": None, "cpus": None}, "Linux x86_64")])
def test_a_machine_is_described_by_its_known_values(known, machine):
    run = made.frame([known])
    assert result_sets_text.describe("A", "a", run).endswith(f"a: 1 run, {AT} UTC; a machine, {machine}")
    assert conditions.asked(run)[-1] == f"{machine.replace(' x86_64', '')}, no PMU"


def test_exit_status_is_for_ci(sets):
    assert analysis("compare", sets["a"], sets["b"]).returncode == 0
    assert program("compare", sets["a"], sets["worse"]).returncode == 4
    assert analysis("compare", sets["a"], sets["few"]).returncode == 0
    assert program("compare", "--strict", sets["a"], sets["few"]).returncode == 5
    nothing = analysis("compare", sets["a"], sets["other"])
    assert nothing.returncode == 1 and nothing.stderr.count("\n") == 1
    assert analysis("compare", "--threshold", "x", sets["a"], sets["b"]).returncode == 2


def test_for_programs(sets):
    done = analysis("compare", sets["a"], sets["worse"], "--json", "-")
    told = json.loads(done.stdout)
    assert told["schema"] == "sendpath.compare/3" and len(told["differences"]) == 6
    assert {d["verdict"] for d in told["differences"] if d["cell"]["variant"] == "zerocopy"} == {
        "worse"}
