# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the defaults of a comparison, and the warnings about other activity of the machine."""

import contextlib
import json
import os
import pathlib
import re
import sys

import pytest

from conftest import ANALYZE, NONE, Child, analyze, check, needs_bpf, only, records, run, verdict_of

pytestmark = [needs_bpf, pytest.mark.serial, pytest.mark.usefixtures("untouched")]

SYSCTL = pathlib.Path("/proc/sys/net/ipv4")


@contextlib.contextmanager
def busy_cpus():
    """Runs a loop on each CPU that we may use."""
    with contextlib.ExitStack() as stack:
        for cpu in os.sched_getaffinity(0):
            loop = stack.enter_context(Child(["taskset", "-c", str(cpu), sys.executable, "-c",
                                              "while True: pass"]))
            stack.callback(loop.kill)
        yield


@pytest.mark.parametrize("options,repeats,seconds", [
    (("--total", "0.4"), 8, 0.05),
    (("--duration", "0.2", "--repeat", 2), 2, 0.2),
    (("--messages", 10), 1, None),
    (("--duration", "0.3", "--interval", "0.2"), 1, 0.3),
])
def test_configurations_have_repeats_that_decide_and_share_a_total(options, repeats, seconds):
    found = records("--variant", "onecopy,twocopy", "--warmup", 0, "--mechanism", "tracepoint", *options)
    cells = {r["run"]["cell"] for r in found}
    # Disturbed runs were repeated.
    assert {(r["run"]["cell"], r["run"]["repeat"]) for r in found} == {
        (cell, n) for n in range(1, repeats + 1) for cell in cells}
    assert all(r["load"]["duration_s"] == seconds for r in found)


@pytest.mark.parametrize("other", [("--duration", 1), ("--messages", 10), ("--all",)])
def test_a_total_is_of_loads_without_another_length(other):
    done = analyze("--total", 1, *other)
    assert done.returncode == 2 and only(done.stderr.splitlines()).startswith("analyze: --total with ")


def test_one_configuration_runs_once_at_any_arrival():
    load = only(records("--variant", "zerocopy", "--duration", "0.5", "--warmup", 0))["load"]
    assert load["duration_s"] == 0.5 and load["rcvlowat"] == 1


@pytest.mark.slow
def test_a_busy_machine_ranks_nothing():
    with busy_cpus():
        done = analyze("--variant", "twocopy,zerocopy", "--total", 2, "--size", "64K")
        found = records("--variant", "twocopy", "--duration", "0.5")
    assert done.returncode == 0, done.stderr
    assert re.search(r"runs are in no ratio: other programs took \d+ % of the CPUs' time\n"
                     r"too few runs on a quiet machine: --wait-quiet waits", done.stdout), done.stdout
    assert "Inconclusive against two-copy: zero-copy" in verdict_of(done.stdout)
    noise = only(found)["noise"]
    assert noise["others_share"] >= 0.2 and noise["disturbed"].startswith("other programs took ")
    assert noise["sender_waited_share"] > 0.1
    assert {"others", "sender_waited"} <= {w["code"] for w in only(found)["warnings"]}


def test_quiet_is_waited_for():
    with busy_cpus():
        done = analyze("--variant", "twocopy", "--messages", 10, "--wait-quiet=1")
    assert done.returncode == 1
    assert re.fullmatch(r"analyze: --wait-quiet: after 1 s other programs still use \d+ % of the CPUs\n",
                        done.stderr)
    wrong = analyze("--wait-quiet=0", "--variant", "twocopy")
    assert wrong.returncode == 2 and "--wait-quiet 0: give a time" in wrong.stderr


def in_a_namespace_with(congestion, *options):
    done = run("unshare", "--net", "sh", "-ec", "ip link set lo up; "
               f"echo {congestion} > {SYSCTL}/tcp_congestion_control; exec \"$0\" \"$@\"", ANALYZE,
               "--variant", "twocopy", "--messages", 20, *NONE, *options, "--json", "-")
    assert done.returncode == 0, done.stderr
    return check(json.loads(done.stdout))


def test_a_pacing_algorithm_is_not_used_within_a_machine():
    run("modprobe", "tcp_bbr")
    if "bbr" not in (SYSCTL / "tcp_available_congestion_control").read_text().split():
        pytest.skip("this kernel has no congestion control that paces")
    record = in_a_namespace_with("bbr")
    used = record["tcp"]["sending"]["congestion"]
    assert used in ("cubic", "reno")
    (warning,) = [w["text"] for w in record["warnings"] if w["code"] == "not_paced"]
    assert warning == (f"the load used {used}, as this machine's bbr paces what stays within it; "
                    "--socket congestion=bbr keeps that")
    kept = in_a_namespace_with("bbr", "--socket", "congestion=bbr")
    assert kept["tcp"]["sending"]["congestion"] == "bbr"
    assert "paced" in {w["code"] for w in kept["warnings"]}
    other = in_a_namespace_with("reno")
    assert other["tcp"]["sending"]["congestion"] == "reno"
    assert not {"paced", "not_paced"} & {w["code"] for w in other["warnings"]}
