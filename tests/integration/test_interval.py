# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests --interval: lines while a window is open, which add up to the report."""

import json
import re
import shutil
import signal
import subprocess

import pytest

from conftest import (ANALYZE, PATIENCE_S, PROGRAMS, Child, Receiver, analyze, check, line_of, needs_bpf, only, reason,
                      run)

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

LINE = re.compile(r"^ *(?P<time>[\d,]+\.\d) +(?P<sends>[\d,]+) +(?P<mbits>[\d,.]+) +"
                  r"(?P<p50>[\d,.]+|-) +(?P<p99>[\d,.]+|-) +(?P<failed>[\d,]+) +"
                  r"(?P<zerocopy>[\d,]+) +(?P<copied>[\d.]+ %|-)$", re.M)
HEADER = re.compile(r"^ *time s +sends +Mbit/s +us p50 +p99 +failed +zero-copy +copied$", re.M)


def lines(text):
    return [found.groupdict() for found in LINE.finditer(text)]


def lines_by_run(text):
    """Returns {heading of a run: its lines}."""
    parts = re.split(r"^([a-z]\S* \S+ x\d+(?: #\d+)?):$", text, flags=re.M)
    return {name: lines(part) for name, part in zip(parts[1::2], parts[2::2], strict=True)}


def number(text):
    return float(text.replace(",", ""))


def total(found, key):
    return sum(int(line[key].replace(",", "")) for line in found)


def records_of(path):
    return [check(json.loads(line)) for line in path.read_text().splitlines()]


def assert_adds_up(found, record):
    calls = record["calls"]
    assert total(found, "sends") == sum(c["sends"] for c in calls)
    assert total(found, "failed") == sum(n for c in calls for error, n in c["errors"].items()
                                         if error != "ERESTARTSYS")
    assert total(found, "zerocopy") == sum(c["sends"] for c in calls if c["zerocopy"])
    times = [float(line["time"]) for line in found]
    assert times == sorted(times)


def test_lines_of_a_load_add_up_to_its_report(tmp_path):
    path = tmp_path / "records"
    result = analyze("--variant", "zerocopy", "--duration", 2.5, "--interval", 0.1, "--json", path)
    assert result.returncode == 0, result.stderr
    record, found = only(records_of(path)), lines(result.stdout)
    assert_adds_up(found, record)
    assert len(found) > 10 and len(HEADER.findall(result.stdout)) == (len(found) + 19) // 20
    if not reason(record, "completion"):
        # The engine may read the counts after a completion and before its flag.
        shares = [float(line["copied"].split()[0]) for line in found if line["copied"] != "-"]
        assert shares and min(shares) > 99 and shares.count(100) > len(shares) / 2
        assert record["zerocopy"]["copied"] == record["zerocopy"]["completions"]
    # Lines have rates. The time of a line is rounded to tenths of a second, so the sum is not exact.
    seconds = float(found[-1]["time"])
    bits = sum(number(line["mbits"]) * 0.1 for line in found[:-1]) * 1e6
    assert bits < 1.3 * sum(c["bytes"] for c in record["calls"]) * 8 * seconds / (seconds - 0.1)
    assert all(number(line["p50"]) <= number(line["p99"]) for line in found if line["p50"] != "-")
    head = r"\n\n(dropped events: the flag of [\d,]+ completed sends? (?:.*\n)+\n)?sendpath "
    # The report shows fewer than one in a thousand only in its details.
    many = record["lost"]["flags"] >= max(1, 0.001 * record["zerocopy"]["completions"])
    assert bool(re.search(head, result.stdout)[1]) == many


def test_lines_of_several_runs_name_the_run(tmp_path):
    path = tmp_path / "records"
    result = analyze("--variant", "onecopy,zerocopy", "--size", "16K,32K", "--repeat", 2,
                     "--duration", 0.3, "--interval", 0.1, "--json", path)
    assert result.returncode == 0, result.stderr
    found = lines_by_run(result.stdout)
    for record in records_of(path):
        load = record["load"]
        name = (f"{load['variant']} {load['message_bytes'] // 1024}K x{load['threads']} "
                f"#{record['run']['repeat']}")
        assert_adds_up(found[name], record)
    assert len(found) == 8


def test_a_last_fraction_has_no_line_of_its_own(tmp_path):
    path = tmp_path / "records"
    result = analyze("--variant", "onecopy", "--duration", 1.3, "--interval", 0.5, "--json", path)
    found = lines(result.stdout)
    assert len(found) == 2 and float(found[1]["time"]) >= 1.3
    assert_adds_up(found, only(records_of(path)))


def test_it_sleeps_until_the_window_ends():
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    counted = run("strace", "-f", "-c", "-U", "calls,name", "-e", "trace=poll,ppoll", ANALYZE, "--all", "--duration", 1,
                  "--interval", 0.6)
    polls = [int(count) for count in re.findall(r"^ *(\d+) p?poll$", counted.stderr, re.M)]
    assert 0 < sum(polls) < 500, counted.stderr


def test_an_interrupt_reports_how_many_runs_there_are():
    with Child([ANALYZE, "--variant", "onecopy,twocopy,zerocopy", "--duration", "60", "--interval",
                "0.1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        assert HEADER.match(line_of(job.stdout)) and line_of(job.stdout) == "onecopy 16K x1:\n"
        assert LINE.match(line_of(job.stdout))
        job.send_signal(signal.SIGINT)
        out, err = job.communicate(timeout=PATIENCE_S)
    assert only(err.splitlines()) == "analyze: interrupted: 1 of 3 runs stand in the result"
    assert re.search(r"^onecopy +[\d.]+ ", out, re.M) and not re.search("^twocopy", out, re.M)


@pytest.mark.parametrize("json_to", ["-", None])
def test_lines_of_a_command_go_where_its_report_goes(json_to):
    with Receiver() as receiver:
        result = analyze(*(["--json", json_to] if json_to else []), "--interval", 10, "--",
                         *receiver.sender("--sends", 100))
    own, *rest = result.stdout.splitlines()
    assert json.loads(own)["sends"] == 100
    assert [line["sends"] for line in lines(result.stderr)] == ["100"]
    assert len(rest) == (1 if json_to else 0) and not lines(result.stdout)


def test_records_on_standard_output_stay_alone():
    result = analyze("--variant", "onecopy", "--messages", 100, "--interval", 10, "--json", "-")
    check(json.loads(only(result.stdout.splitlines())))
    assert len(lines(result.stderr)) == 1


def test_a_line_comes_while_the_program_runs():
    """After an interrupt, the last line and the report follow."""
    with Receiver() as receiver, Child(
            receiver.sender("--steps", "--plain"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True) as program:
        assert json.loads(line_of(program.stdout))["sends"] == 0
        with Child([ANALYZE, "--pid", str(program.pid), "--interval", "0.1"],
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                   text=True) as analyzer:
            text = [line_of(analyzer.stdout), line_of(analyzer.stdout)]
            assert HEADER.match(text[0]) and lines(text[1])[0]["sends"] == "0"
            program.stdin.write("send 50\n")
            program.stdin.flush()
            assert json.loads(line_of(program.stdout))["sends"] == 50
            while lines(text[-1])[0]["sends"] == "0":
                text.append(line_of(analyzer.stdout))
                if HEADER.match(text[-1]):
                    text.append(line_of(analyzer.stdout))
            program.stdin.write("send 7\n")
            program.stdin.flush()
            assert json.loads(line_of(program.stdout))["sends"] == 57
            analyzer.send_signal(signal.SIGINT)
            stdout, stderr = analyzer.communicate(timeout=PATIENCE_S)
        program.communicate("quit\n", timeout=PATIENCE_S)
    assert analyzer.returncode == -signal.SIGINT, stderr
    assert total(lines("".join(text) + stdout), "sends") == 57
    assert re.search(r"^send\w+ +57 ", stdout, re.M)


@pytest.mark.parametrize("value", ["0", "-1", "x", "0.05", "", "1,2"])
def test_wrong_use_is_one_line(value):
    result = analyze("--all", "--interval", value)
    assert result.returncode == 2
    assert f"--interval {value}: give a time" in only(result.stderr.splitlines())


def test_nothing_attached_nothing_to_write():
    result = analyze("--variant", "onecopy", "--interval", 1, "--mechanism", "none")
    assert result.returncode == 2
    assert "--interval with --mechanism none" in only(result.stderr.splitlines())
