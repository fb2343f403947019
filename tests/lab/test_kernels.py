# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The integration tests again, inside real kernels: one row a guest.

Each row boots a kernel of kernels.tsv on a topology and runs there what it names,
with both mechanisms where the kernel has them.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

LAB = Path(__file__).resolve().parent / "lab"
SKIP = 77
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]

# What a guest is too slow for: long waits, and sizes that say nothing about a kernel.
SUITES = {
    "counts": [*PYTEST, "tests/integration/test_counts.py", "-k", "exact or null or message"],
    "ends": [*PYTEST, "tests/integration/test_errors.py", "-k",
             "dies or interrupted or killed or without_root"],
    "wire": [*PYTEST, "tests/integration/test_wire.py"],
    "pmu": [*PYTEST, "tests/integration/test_pmu.py"],
    "spans": ["./analyze", "crosscheck", "--tier", "tracepoint", "--messages", "1000"],
    "crosscheck": ["./analyze", "crosscheck", "--variant", "all", "--messages", "1000",
                   "--threads", "2"],
}

BOTH = "fentry tracepoint"
ROWS = [
    # kernel, topology, suite, mechanisms, lab options
    ("6.12", "loopback", "counts", BOTH, []),
    ("6.12", "loopback", "ends", BOTH, []),
    ("6.12", "nicpair", "wire", BOTH, []),
    ("6.12", "loopback", "crosscheck", BOTH, ["--headers"]),
    ("6.12", "loopback", "spans", BOTH, ["--headers"]),
    # consume_skb does not say where it is called from on 6.1: not exact by tracepoints.
    ("6.1", "nicpair", "wire", "fentry", []),
    ("6.12-arm64", "loopback", "counts", BOTH, []),
    ("6.12-arm64", "nicpair", "wire", BOTH, []),
    # One CPU: see the test.
    ("6.12-arm64", "loopback", "pmu", "fentry", ["--icount", "--cpus", "1"]),
]


@pytest.mark.parametrize("kernel,topology,suite,tiers,options", ROWS,
                         ids=[f"{k}-{t}-{s}" for k, t, s, _, _ in ROWS])
def test_kernel(kernel, topology, suite, tiers, options):
    env = {**os.environ, "SENDPATH_CALLS": "10000", "SENDPATH_TIERS": tiers}
    result = subprocess.run(
        [LAB, "--kernel", kernel, "--topology", topology, "--timeout", "900", *options, "--",
         *SUITES[suite]], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode == SKIP:
        pytest.skip(result.stdout.strip().splitlines()[-1])
    print(result.stdout)
    assert result.returncode == 0
    if suite in ("crosscheck", "spans"):
        assert "crosscheck: all equal" in result.stdout
    else:
        assert re.search(r"^\d+ passed", result.stdout.splitlines()[-1])
        assert "skipped" not in result.stdout.splitlines()[-1], "a guest lacks nothing"
