# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares a sweep between two NICs with one on loopback, in one kernel: compare and report must have the known answer
about zero-copy for each. The sweeps run in a guest; compare and report run on this machine."""

import json
import subprocess
from functools import partial

import pytest

from test_lab import TREE, lab

pytest_plugins = ["guests"]

ANALYZE = TREE / "analyze"
# Copies the folder at the end: appending to a folder shared by 9p is not safe (Linux 6.12).
SWEEPS = """set -e
common="--variant all --size 64K --messages 150 --warmup 0 --repeat 5"
./analyze sweep $common --out /tmp/nics
./analyze sweep $common --address 127.0.0.1 --out /tmp/loopback
cp -r /tmp/nics /tmp/loopback $OUT"""


def analyze(*arguments):
    return subprocess.run([ANALYZE, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=240, check=False)


def sweep(out):
    if not (TREE / "analysis/.venv/installed").exists():
        pytest.skip("what analysis/ needs is not installed: make analysis")
    done = lab("--kernel", "6.12", "--topology", "nicpair", "--share", out, "--timeout", 1500, "--",
               "env", f"OUT={out}", "bash", "-c", SWEEPS, timeout=1600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return out


def boots(_, folders):
    return {"sweeps": partial(sweep, folders.mktemp("sweeps"))}


@pytest.fixture(name="folder")
def _folder(guests):
    return guests.result("sweeps")


def test_sweeps_of_two_networks_compared(folder):
    done = analyze("compare", folder / "loopback", folder / "nics", "--metric", "fallback_rate",
                   "--json", "-")
    assert done.returncode == 0, done.stderr  # nothing is worse
    found = json.loads(done.stdout)
    (difference,) = found["differences"]
    assert difference["verdict"] == "better" and difference["effect"] == -1
    assert (difference["a"]["value"], difference["b"]["value"]) == (1, 0)
    assert "link" in {change["setting"] for change in found["changes"]}
    words = analyze("compare", folder / "loopback", folder / "nics", "--details").stdout
    throughput = [line for line in words.splitlines()
                  if line.startswith("zerocopy") and "Gbit/s" in line]
    assert throughput and all("100 %, 0 %" in line for line in throughput)


@pytest.mark.parametrize(("network", "words", "never"), [
    ("nics", "zero-copy sends was copied", "100 % copied"),
    ("loopback", "zero-copy sends were copied (loopback, lo)", "none of ")])
def test_the_report_of_each(folder, network, words, never):
    done = analyze("report", folder / network, "--figures", "svg")
    assert done.returncode == 0, done.stderr
    text = (folder / network / "report/report.md").read_text()
    assert words in text and never not in text
    assert "Left out: " not in text  # every record was complete
