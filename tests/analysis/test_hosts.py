# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that exactly the planted outliers among hosts are found, and that memory does not grow with the runs."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from conftest import ROOT, analysis, changed, samples, write
from hypothesis import given, settings
from hypothesis import strategies as st

import fleet as made_up
import goldens
import made
import planted
from analysis import hosts, table
from analysis.report.build import build
from analysis.report.questions import hosts as question
from analysis.report.write import html as to_html
from goldens import TAP
from test_report import EVIL, Page
from analysis.stats import outliers

def found(rows):
    return {(one.host, one.metric) for one in hosts.find_outliers(planted.data(rows).fleet)}


def test_a_tap_is_named_with_its_device():
    answer, = goldens.answers("a host with a tap")
    assert answer.tables[0].rows[0][:5] == ("c", "d", "60", "100 %", "packet tap on eth0")
    assert found(planted.hosts(c=TAP)) == {("c", hosts.COPIED)}


def test_copies_that_all_hosts_have_are_no_outlier():
    assert not found(planted.hosts(**{name: TAP for name in "abcdef"}))


def test_a_cause_on_differently_named_devices_is_one_cause():
    rows = planted.hosts(**{name: {"zc_copied": 1000, "fallback_causes": f"local_delivery@eth{name}:1000"}
                            for name in "abcdef"})
    assert not found(rows)


@pytest.mark.parametrize("change,metric", [
    ({"send_mean_ns": 40_000.0}, hosts.TIME), ({"throughput_bps": 1e6}, hosts.RATE)])
def test_a_slow_host_is_named_with_the_facts_that_only_it_has(change, metric):
    rows = planted.hosts(b={**change, "kernel": "5.10"})
    assert found(rows) == {("b", metric)}
    assert [len(one.causes) for one in hosts.find_outliers(planted.data(rows).fleet)] == [1]
    assert not any(one.causes for one in hosts.find_outliers(planted.data(planted.hosts(b=change)).fleet))


def test_copies_without_a_cause_are_an_outlier_of_unknown_cause():
    one, = hosts.find_outliers(planted.data(planted.hosts(e=goldens.UNCAUSED)).fleet)
    assert (one.host, one.metric, one.value, one.causes) == ("e", hosts.COPIED, 0.9, ())


def test_three_hosts_have_no_outlier():
    answer, = goldens.answers("three hosts")
    assert not found(planted.hosts("abc", b=TAP))
    assert len(answer.tables[0].rows) == 3


def test_counts_of_disturbed_hosts_are_exact():
    fleet = goldens.busy_hosts(goldens.VARIANTS).fleet
    assert hosts.rates(fleet)[hosts.TIME].null_count() == 6
    assert [(one.host, one.metric) for one in hosts.find_outliers(fleet)] == [("c", hosts.COPIED)]


def test_configurations_of_a_single_host_are_not_compared():
    rows = [row for row in planted.hosts(a={"send_mean_ns": 90_000.0})
            if row["host"] != "a" or row["message_bytes"] == 256]
    rows += [{**rows[0], "host": "a", "message_bytes": 77, "cell": "other", "repeat": n} for n in range(50)]
    fleet = planted.data(rows).fleet
    assert hosts.rates(fleet).filter(pl.col("host") == "a")[hosts.TIME].item() > 5


def test_receivers_are_named_as_the_plan_named_them():
    rows = [{**row, "peer": peer} for row, peer in zip(planted.hosts("ab"), (
        "b:9436", "10.0.0.2:9436", "[fd00::2]:9436", None))]
    assert planted.data(rows).fleet.sums["receiver"].unique().sort().to_list() == [
        "10.0.0.2", "b", "fd00::2", "itself"]


VALUES = st.dictionaries(st.text(min_size=1, max_size=4), st.floats(1e-3, 1e6), min_size=4, max_size=40)


@given(VALUES, st.floats(0.01, 100), st.randoms(use_true_random=False))
def test_unit_and_order_do_not_matter(values, unit, random):
    shuffled = list(values.items())
    random.shuffle(shuffled)
    apart = outliers.names_of(values, 1.25, as_ratios=True)
    assert set(outliers.names_of(dict(shuffled), 1.25, as_ratios=True)) == set(apart)
    # A value exactly at the bound may be rounded across it in another unit.
    wider = outliers.names_of({k: v * unit for k, v in values.items()}, 1.25 * (1 - 1e-6), as_ratios=True)
    narrower = outliers.names_of({k: v * unit for k, v in values.items()}, 1.25 * (1 + 1e-6), as_ratios=True)
    assert set(narrower) <= set(wider) and len(apart) < len(values) / 2 + 1


@given(st.integers(4, 60), st.floats(0.3, 1e6), st.data())
def test_less_than_half_of_equal_hosts_cannot_hide(count, away, data):
    bad = data.draw(st.integers(1, (count - 1) // 2))
    values = {str(i): 1.0 + away * (i < bad) for i in range(count)}
    assert set(outliers.names_of(values, 1.25, as_ratios=True)) == {str(i) for i in range(bad)}


@pytest.mark.simulation
@pytest.mark.parametrize("count", [4, 5, 6, 8, 15, 16, 32, 100])
def test_equal_hosts_are_outliers_in_one_of_a_hundred_fleets(count):
    random = np.random.default_rng(count)
    alarms = sum(bool(outliers.names_of(dict(enumerate(random.normal(0, 1, count))), 0)) for _ in range(3000))
    assert alarms / 3000 < 0.017


@settings(max_examples=8)
@given(parts=st.integers(2, 9), copies=st.integers(1, 3))
def test_parts_and_copies_of_runs_change_nothing(parts, copies):
    runs = made.frame(planted.hosts("abcd", b=TAP, c={"lost_calls": 3, "complete": None}))
    whole = hosts.gather(runs.lazy(), 0)
    rows = runs.height * copies
    before, hosts.ROWS_OF_A_PART = hosts.ROWS_OF_A_PART, -(-rows // parts)
    try:
        again = hosts.gather(pl.concat([runs] * copies).lazy(), rows)
    finally:
        hosts.ROWS_OF_A_PART = before
    assert hosts.find_outliers(again) == hosts.find_outliers(whole)
    for name in ("sums", "causes", "facts", "totals"):
        one, other = ((frame.sort(pl.all()) if name != "totals" else frame)
                      for frame in (getattr(whole, name), getattr(again, name)))
        assert one.equals(other) or np.allclose(one.select(pl.col(pl.Float64)).to_numpy(),
                                                other.select(pl.col(pl.Float64)).to_numpy()), name


def asked(report):
    return [answer.question for answer in (*(row.answer for row in report.rows), *report.open)]


def test_the_question_of_hosts_needs_several_and_is_the_only_one_of_many():
    one = build(planted.data(planted.hosts("a")), None, [], [], draws=False)
    assert question.QUESTION not in asked(one)
    few = build(planted.data(planted.hosts("abcd")), None, [], [], draws=False)
    assert asked(few)[0] == question.QUESTION and len(asked(few)) > 1
    many = build(planted.data(planted.hosts("abcdefghi", c=TAP)), None, [], [], draws=False)
    assert asked(many) == [question.QUESTION]
    assert many.title == "How hosts compare" and "a report of a few hosts" in many.asked[-1]


def test_folders_of_hosts_make_a_report(folder, only_figures):
    """Makes the report by the command line, from records as the program writes them."""
    only_figures("hosts")
    record = next(r for r in samples() if r["load"] and r["load"]["variant"] == "zerocopy")
    for at, name in enumerate("abcd"):
        causes = [{**record["zerocopy"]["causes"][0], "cause": "packet_tap" if name == "c" else "loopback",
                   "device": "eth0"}]
        (folder / name).mkdir()
        write(folder / name / "runs.jsonl", [changed(
            record, host__name=name, run__id=f"{name}-1", zerocopy__causes=causes,
            load__peer=f"{'abcd'[(at + 1) % 4]}:9436")])
    done = analysis("report", folder, "--out", folder / "report")
    assert done.returncode == 0, done.stderr
    assert "host c: packet tap on eth0" in done.stdout
    page = (folder / "report/report.md").read_text()
    assert "## Which hosts are outliers, and why?" in page
    assert (folder / "report/figures/hosts.svg").exists()


def test_names_of_hosts_are_no_markup(only_figures):
    only_figures("hosts")
    rows = [{**row, "host": EVIL if row["host"] == "c" else row["host"]} for row in planted.hosts(c=TAP)]
    page = to_html(build(planted.data(rows), None, [], []))
    parsed = Page(page)
    assert not parsed.handlers and "onerror=alert(1)&gt;" in page and "<img src=x" not in page


PEAK = """
import resource, sys
from analysis.command_line import main
status = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
sys.exit(status)
"""


def peak_mib(folder, rows):
    """Returns the answers of a report on these rows, and its peak memory in MiB."""
    files = made_up.write(folder / f"{rows}", rows)
    done = subprocess.run([sys.executable, "-c", PEAK, "report", *files, "--out", folder / "report",
                           "--figures", "svg"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{rows:,d} runs of 100 hosts" in (folder / "report/report.html").read_text()
    assert f"host {made_up.TAPPED}: packet tap on eth0" in done.stdout
    return int(done.stdout.split()[-1])


@pytest.mark.slow
def test_a_million_runs_take_no_more_memory_than_a_quarter(folder):
    quarter, million = peak_mib(folder, 250_000), peak_mib(folder, 1_000_000)
    assert million < 1.15 * quarter, (quarter, million)


def test_streamed_sums_equal_those_in_memory(folder):
    files = made_up.write(folder, 30_000, hosts=12)
    whole = planted.Data(table.load(files).frame).fleet
    before, table.ROWS_IN_MEMORY, hosts.ROWS_OF_A_PART = table.ROWS_IN_MEMORY, 1000, 7000
    try:
        streamed = table.stream_fleet(files)
    finally:
        table.ROWS_IN_MEMORY = hosts.ROWS_OF_A_PART = before
    assert streamed.hosts == whole.hosts and streamed.totals.equals(whole.totals)
    # The streamed sums were added in another order.
    for one, other in zip(hosts.rates(streamed).iter_rows(), hosts.rates(whole).iter_rows()):
        assert one[:6] == other[:6]
        assert one[6:] == pytest.approx(other[6:])


def test_a_table_that_is_cut_off_is_one_line(folder):
    file = folder / "cut.parquet"
    file.write_bytes(b"PAR1" + b"\0" * 100)
    done = analysis("report", file)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "cut.parquet: cannot be read as Parquet" in done.stderr
