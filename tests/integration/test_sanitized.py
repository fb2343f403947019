# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs tests of untrusted input with the address and UB sanitizers: by default short tests, with SENDPATH_SANITIZED=1
also longer ones, and with SENDPATH_FULL=1 also the longest.
"""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / "build-san"
SUITES = ["memory", "privilege"]
if os.environ.get("SENDPATH_SANITIZED"):
    SUITES += ["attacks", "counts", "errors", "grid", "serve", "sweep", "top"]
    if os.environ.get("SENDPATH_FULL"):
        SUITES += ["exporter", "loadgen", "request", "sending", "serving"]


@pytest.mark.sanitized
@pytest.mark.skipif(str(BUILT) in os.environ.get("SENDPATH_BIN", ""), reason="they run already")
@pytest.mark.skipif("SENDPATH_LAB" in os.environ, reason="a guest of the lab is too slow for it")
@pytest.mark.parametrize("suite", SUITES)
def test_suite_with_sanitizers(suite):
    made = subprocess.run(["make", "-s", "SAN=1", "all"], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert made.returncode == 0, made.stdout
    env = {**os.environ, "SENDPATH_BIN": str(BUILT), "SENDPATH_CALLS": "10000"}
    ran = subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                          f"tests/integration/test_{suite}.py"], cwd=ROOT, env=env, text=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False)
    assert ran.returncode == 0, ran.stdout
