# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An audit of four hosts by a real Slurm, one of them with a packet tap: deploy/slurm/audit."""

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
         "0.1", "--warmup", "0")
SHARDS = 2
# Gets every packet of its device, as tcpdump does, and reads none.
TAP = "import signal, socket\ns = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))\n" \
      "s.bind(('eth0', 0))\nprint(flush=True)\nsignal.pause()"

pytestmark = needs_bpf


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def sweeping(folder, shard):
    """The process that writes to that folder."""
    found = run("pgrep", "-f", f"^{ANALYZE} sweep .*--out {folder} --shard {shard} ").stdout.split()
    return int(found[0]) if found else None


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """The folder of the audit, of whose shards one was killed; what Slurm says of the jobs."""
    folder = tmp_path_factory.mktemp("slurm")
    out, ring = folder / "out", run(PAIRS, "--ring", *HOSTS).stdout.splitlines(True)
    with Slurm(folder, HOSTS) as slurm:
        tap = slurm.start(sys.executable, "-c", TAP, host=TAPPED)
        assert eventually((folder / f"{pathlib.Path(sys.executable).name}-{TAPPED}.out").read_bytes)
        for pairs, shards in ((ring[:1], SHARDS), (ring[1:], 1)):
            (folder / "pairs").write_text("".join(pairs))
            done = slurm.run(AUDIT, folder / "pairs", out, *SWEEP, env={
                "SENDPATH": ANALYZE, "LOADGEN": LOADGEN, "SHARDS": str(shards)})
            assert done.returncode == 0, done.stderr
        killed = out / "a-to-b"
        assert eventually(lambda: lines(killed / f"runs-1-of-{SHARDS}.jsonl"))
        os.kill(eventually(lambda: sweeping(killed, f"1/{SHARDS}")), signal.SIGKILL)
        assert eventually(lambda: slurm.ask("squeue", "-h") == ""), slurm.logs()
        jobs = slurm.ask("scontrol", "show", "job", "--oneliner")
        assert tap.poll() is None
    return out, jobs


def test_a_killed_shard_is_queued_again_and_nothing_counts_twice(audited):
    out, jobs = audited
    assert sorted(re.findall(r" Restarts=(\d)", jobs)) == ["0"] * len(HOSTS) + ["1"]
    assert set(re.findall(r" JobState=(\w+)", jobs)) == {"COMPLETED"}
    log = (out / "a-to-b/shard-1.log").read_text()
    assert "audit: a to b ended by signal 9: queued again" in log and "going on: " in log
    for host, to in zip(HOSTS, (*HOSTS[1:], HOSTS[0])):
        made = [check(record) for file in (out / f"{host}-to-{to}").glob("runs*.jsonl")
                for record in lines(file)]
        assert sorted((r["run"]["cell"], r["run"]["repeat"]) for r in made) == sorted(
            (cell, repeat) for cell in {r["run"]["cell"] for r in made} for repeat in range(1, REPEATS + 1))
        assert len(made) == 2 * REPEATS
        assert {(r["host"]["name"], r["load"]["peer"]) for r in made} == {(host, f"{to}:9436")}
