# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests deploy/slurm/audit by a real Slurm with four hosts, one of which has a packet tap."""

import json
import os
import pathlib
import re
import signal
import sys

import pytest

from conftest import ANALYZE, LOADGEN, ROOT, check, eventually, needs_bpf, run
from slurm import Slurm

HOSTS = ("a", "b", "c", "d")
TAPPED = "c"
PAIRS = ROOT / "deploy/pairs"
AUDIT = ROOT / "deploy/slurm/audit"
REPEATS = 3
SWEEP = ("sweep", "--variant", "zerocopy", "--size", "16K,64K", "--repeat", str(REPEATS), "--duration",
         "0.1", "--warmup", "0", "--budget", "0")
SHARDS = 2
# Listens to every packet of its device, as tcpdump does, but reads none.
TAP = "import signal, socket\ns = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))\n" \
      "s.bind(('eth0', 0))\nprint(flush=True)\nsignal.pause()"

pytestmark = [needs_bpf, pytest.mark.installed]


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def sweeping(folder, shard):
    """Returns the pid of the sweep that writes this shard to this folder, or None."""
    found = run("pgrep", "-f", f"^{ANALYZE} sweep .*--out {folder} --shard {shard} ").stdout.split()
    return int(found[0]) if found else None


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """The folder of an audit in which a shard was killed, and Slurm's report about the jobs."""
    folder = tmp_path_factory.mktemp("slurm")
    out, ring = folder / "out", run(PAIRS, "--ring", *HOSTS).stdout.splitlines(True)
    with Slurm(folder, HOSTS) as slurm:
        def audit(pairs, *command, shards=1):
            (folder / "pairs").write_text("".join(pairs))
            done = slurm.run(AUDIT, folder / "pairs", out, *command, env={
                "SENDPATH": ANALYZE, "LOADGEN": LOADGEN, "SHARDS": str(shards)})
            assert done.returncode == 0, done.stderr

        tap = slurm.start(sys.executable, "-c", TAP, host=TAPPED)
        assert eventually((folder / f"{pathlib.Path(sys.executable).name}-{TAPPED}.out").read_bytes)
        audit(ring[:1], *SWEEP, shards=SHARDS)
        # Two audits run at once, on different hosts.
        audit((ring[2], ring[1], ring[3]), *SWEEP)
        audit(ring[2:3], "advise", "--budget", "10s")
        killed = out / "a-to-b"
        assert eventually(lambda: lines(killed / f"runs-1-of-{SHARDS}.jsonl")), slurm.logs()
        os.kill(eventually(lambda: sweeping(killed, f"1/{SHARDS}")), signal.SIGKILL)
        slurm.wait()
        jobs = slurm.query("scontrol", "show", "job", "--oneliner")
        assert tap.poll() is None
    return out, jobs


def test_a_killed_shard_is_queued_again_and_nothing_counts_twice(audited):
    out, jobs = audited
    assert sorted(re.findall(r" Restarts=(\d)", jobs)) == ["0"] * (len(HOSTS) + 1) + ["1"]
    assert set(re.findall(r" JobState=(\w+)", jobs)) == {"COMPLETED"}
    log = (out / "a-to-b/shard-1.log").read_text()
    assert "audit: a to b was killed: queued again" in log and "going on: " in log
    for host, to in zip(HOSTS, (*HOSTS[1:], HOSTS[0])):
        made = [check(record) for file in (out / f"{host}-to-{to}").glob("runs*.jsonl")
                for record in lines(file)]
        assert sorted((r["run"]["cell"], r["run"]["repeat"]) for r in made) == sorted(
            (cell, repeat) for cell in {r["run"]["cell"] for r in made} for repeat in range(1, REPEATS + 1))
        assert len(made) == 2 * REPEATS
        assert {(r["host"]["name"], r["load"]["peer"]) for r in made} == {(host, f"{to}:9436")}


def test_the_report_names_the_host_with_the_tap(audited):
    out, _ = audited
    done = run(ANALYZE, "report", out, "--out", out / "report", "--figures", "svg")
    assert done.returncode == 0, done.stderr
    # On a busy machine, the times of another host may be outliers, too.
    words = " ".join(done.stdout.split())
    assert f"host {TAPPED}: packet tap on eth0 (100 % of its completed" in words
    assert words.count(": packet tap on ") == 1
    page = (out / "report/report.md").read_text()
    assert "\n| c | d | 6 | 100 % | local delivery on eth0, packet tap on eth0 |" in page
    # The report also has advise's answer for this pair.
    assert "advice.json" in page and (out / "c-to-d/advice.json").exists()
    assert (out / "report/figures/hosts.svg").exists()


def test_bad_plans_are_one_line(tmp_path):
    for text, words in (("a\n", "a  : give SENDER RECEIVER, a pair a line"),
                       ("a b c\n", "a b c: give SENDER RECEIVER"), ("../x b\n", "../x b : give SENDER")):
        (tmp_path / "pairs").write_text(text)
        done = run(AUDIT, tmp_path / "pairs", tmp_path / "out", "sweep")
        assert done.returncode == 2 and done.stderr.startswith(f"audit: {tmp_path}/pairs: {words}")
        assert done.stderr.count("\n") == 1
    for arguments, words in ((("none", "out", "sweep"), "none: not a file"), (("x",), "usage: audit PAIRS")):
        done = run(AUDIT, *arguments, cwd=tmp_path)
        assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1
