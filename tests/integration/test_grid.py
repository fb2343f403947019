# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that lists make a grid with interleaved repeats; the records and the text agree."""

import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import ANALYZE, LOADGEN, NONE, ROOT, analyze, needs_bpf, on_a_terminal, printed, records, run, unwrapped

pytestmark = needs_bpf


def test_grid_order_and_cells(untouched):
    got = records("--variant", "twocopy,onecopy", "--size", "64,4K", "--threads", "1,2",
                  "--messages", "10", "--repeat", "2", "--warmup", "0", *NONE)
    order = [(r["run"]["repeat"], r["load"]["message_bytes"], r["load"]["threads"],
              r["load"]["variant"]) for r in got]
    assert order == [(repeat, size, threads, variant) for repeat in (1, 2) for size in (64, 4096)
                     for threads in (1, 2) for variant in ("twocopy", "onecopy")]
    assert len({r["run"]["id"] for r in got}) == 16
    assert len({r["run"]["cell"] for r in got}) == 8


def test_text_report_agrees_with_the_record(tmp_path, untouched):
    path = tmp_path / "runs.json"
    result = analyze("--variant", "all", "--messages", "2000", "--repeat", "2", "--json", path)
    assert result.returncode == 0, result.stderr
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert result.stdout == printed(*rows)
    assert "\x1b" not in result.stdout + result.stderr


def order(text, *starts):
    """Asserts that lines with these beginnings follow each other in the text."""
    found = [("\n" + text).index("\n" + start) for start in starts]
    assert found == sorted(found), text


def test_the_answer_comes_first_in_80_columns(untouched):
    text = analyze("--variant", "all", "--messages", "1000", "--repeat", 2).stdout
    assert max(map(len, text.splitlines())) <= 80, text
    lines = text.splitlines()
    assert len(lines) <= 30, text
    answer = lines[lines.index("") + 1:]
    assert answer.index("") <= 3 and "ll 2,000 zero-copy sends were copied" in " ".join(text.split())
    order(text, "sendpath ", "variant ", "kernel time of a send, ns")
    assert re.fullmatch(r"(\d warnings? and )?\d things not measured: see --details", lines[-1])


def test_the_details_have_the_rest(untouched):
    text = analyze("--variant", "twocopy,zerocopy", "--messages", "1000", "--details").stdout
    order(unwrapped(text), "sendpath ", "variant ", "zerocopy: 1,000 sends to 127.0.0.1", "kernel time of a "
          "send: twocopy", "kernel time of a send: zerocopy", "counters", "not measured: ")


def test_one_variant_is_a_screen(untouched):
    assert len(analyze("--variant", "zerocopy", "--messages", "1000").stdout.splitlines()) <= 24


def test_many_configurations_are_a_table_and_a_line(untouched):
    options = ["--variant", "twocopy,zerocopy", "--size", "1K,64K", "--messages", "50", "--warmup", 0,
               "--socket", "congestion=reno"]
    text = analyze(*options).stdout
    assert "\nkernel time of a send" not in text
    assert max(map(len, text.splitlines())) <= 80, text
    assert analyze(*options, "--details").stdout.count("\nkernel time of a send") == 4


def test_colour_is_for_terminals_that_want_it(untouched):
    command = ["script", "-qec", f"{ANALYZE} --variant zerocopy --messages 200", "/dev/null"]
    bold = re.compile("^\x1b\\[1mAll 200 zero-copy sends.*$", re.M)
    for env, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        out = run(*command, env={**os.environ, **env}).stdout
        assert bool(bold.search(out)) == coloured, out


def test_histogram_bars_add_up(untouched):
    text = analyze("--variant", "twocopy", "--messages", "3000", "--details").stdout
    rows = re.findall(r"^ +(\d+) -> (\d+) +: ([\d,]+) +\|\**\s*\|$", text, re.M)
    edges, counts = [(int(low), int(high)) for low, high, _ in rows], [row[2] for row in rows]
    assert all(high == low + low - 1 for low, high in edges)
    assert all(low == high + 1 for (_, high), (low, _) in zip(edges, edges[1:]))
    assert sum(int(c.replace(",", "")) for c in counts) == 3000


def test_cost_is_in_the_report(tmp_path, untouched):
    """The report has one cost, which covers all repeats."""
    path = tmp_path / "records"
    result = analyze("--variant", "onecopy", "--messages", "1000", "--repeat", 2, "--cost",
                     "--json", path)
    assert result.returncode == 0, result.stderr
    observers = [json.loads(line)["overhead"] for line in path.read_text().splitlines()]
    assert all(o["bpf_ns"] > 0 and o["bpf_runs"] >= 2000 for o in observers)
    found = re.search(r"^overhead, onecopy: ([\d,]+) ns per send, ([\d.]+) % of the CPU time of "
                      r"sender and receiver, ([\d,]+) runs of the BPF programs$",
                      unwrapped(result.stdout), re.M)
    per_send, share, runs = (float(n.replace(",", "")) for n in found.groups())
    assert per_send == pytest.approx(sum(o["bpf_ns"] for o in observers) / 2000, abs=0.51)
    assert runs == sum(o["bpf_runs"] for o in observers)
    assert min(o["cpu_share"] for o in observers) * 99 <= share <= max(
        o["cpu_share"] for o in observers) * 101


def test_further_events_by_name(untouched):
    (record,) = records("--variant", "onecopy", "--messages", "100", "--events",
                        "PERF_COUNT_SW_CONTEXT_SWITCHES,PERF_COUNT_SW_CPU_CLOCK")
    assert record["overhead"] is None
    extra = [c for c in record["counters"] if c["event"].startswith("PERF_COUNT_SW")]
    assert {(c["event"], c["scope"]) for c in extra} == {
        (e, s) for e in ("PERF_COUNT_SW_CONTEXT_SWITCHES", "PERF_COUNT_SW_CPU_CLOCK")
        for s in ("sender", "receiver")}
    assert all(c["status"] == "counted" for c in extra)


def test_progress_on_a_terminal_only(untouched):
    """On a terminal, a line shows the progress, and is erased before the report."""
    _, text, out = on_a_terminal([ANALYZE, "--variant", "twocopy,onecopy", "--duration", "0.3", "--repeat", "1",
                                  *NONE], stdout=subprocess.PIPE)
    for made, variant in enumerate(("twocopy", "onecopy")):
        assert re.search(rb" %d/2 of 2 configurations, \d+ s left: %s 16K x1: 0\.\d s\x1b" % (made, variant.encode()), text)
    assert text.endswith(b"\r\x1b[K")
    assert "Gbit/s" in out and "\x1b" not in out


@pytest.mark.slow
def test_the_example_for_scripts_runs():
    page = (ROOT / "docs/reading.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    assert len(code.split("\n\n")[1].splitlines()) <= 5
    done = run("/usr/bin/python3", "-c", code.replace("--duration 2", "--duration 0.5"), cwd=ROOT)
    assert re.fullmatch(r"onecopy: \d+\.\d\d times the throughput of twocopy\n", done.stdout), done.stderr


@needs_bpf
def test_raw_lines_make_the_same_report_elsewhere(tmp_path):
    raw = run(ANALYZE, "--raw", "--variant", "twocopy,zerocopy", "--messages", 50, "--repeat", 2)
    assert raw.returncode == 0 and len(raw.stdout.splitlines()) == 4
    (tmp_path / "raw").write_text(raw.stdout)
    made = run(ANALYZE, "derive", tmp_path / "raw", "--json", tmp_path / "records")
    assert made.returncode == 0, made.stderr
    found = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()]
    assert [record["load"]["variant"] for record in found] == ["twocopy", "zerocopy"] * 2
    assert [record["run"]["repeat"] for record in found] == [1, 1, 2, 2]
    assert [record["app"]["messages"] for record in found] == [50] * 4
    assert made.stdout == printed(*found)


def test_raw_lines_need_no_python(tmp_path):
    """Without analysis/, only --raw works: it needs no Python files."""
    (tmp_path / "loadgen").mkdir()
    shutil.copy(ANALYZE, tmp_path)
    shutil.copy(LOADGEN, tmp_path / "loadgen")
    refused = run(tmp_path / "analyze", *NONE, "--variant", "twocopy", "--messages", 5)
    assert refused.returncode == 3 and "analysis/__main__.py" in refused.stderr
    raw = run(tmp_path / "analyze", "--raw", *NONE, "--variant", "twocopy", "--messages", 5)
    assert raw.returncode == 0 and json.loads(raw.stdout)["app"]["messages"] == 5


@needs_bpf
@pytest.mark.parametrize("options, command, status", [
    ((), "exit 7", 7), (("--duration", "0.5"), "exec sleep 1000", None)])
def test_raw_lines_leave_a_command_its_status(options, command, status):
    result = analyze("--raw", *options, "--", "sh", "-c", command)
    assert result.returncode == (status or 0), result.stderr
    assert json.loads(result.stdout)["command_status"] == status


@pytest.mark.parametrize("more", [("--json", "x"), ("--interval", "1")])
def test_raw_lines_are_the_only_output(more):
    result = analyze("--raw", "--mechanism", "tracepoint", *more)
    assert result.returncode == 2 and "leave one out" in result.stderr
