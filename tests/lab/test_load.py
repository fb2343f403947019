# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that every BPF program loads in every kernel, as the default and the newest clang build it: `make check-load`,
which names the kernels in SENDPATH_LOAD. The script `load` runs in one guest for each pair of kernel and clang.
"""

import json
import os
import re
import subprocess
from functools import partial
from pathlib import Path

import pytest

import support

pytest_plugins = ["guests"]

HERE = Path(__file__).resolve().parent
SKIP = 77
TIMEOUT_S = 900

NEWEST_CLANG = os.environ.get("SENDPATH_NEWEST_CLANG", "clang-19")
KERNELS = os.environ.get("SENDPATH_LOAD", "").split()
# The lab sets SENDPATH_BIN in guests of another architecture.
FOLDERS = {"clang": '"${SENDPATH_BIN:-.}"',
           NEWEST_CLANG: f'"${{SENDPATH_BIN:-build}}-{NEWEST_CLANG.replace("-", "")}"'}
CASES = [(kernel, clang) for kernel in KERNELS for clang in FOLDERS]


def boot(kernel, clang):
    return subprocess.run(
        [HERE / "lab", "--kernel", kernel, "--cpus", "1", "--timeout", str(TIMEOUT_S), "--", "bash", "-c",
         f"exec tests/lab/load {FOLDERS[clang]}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)


def boots(*_):
    return {case: partial(boot, *case) for case in CASES}


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_programs_load(case, guests):
    kernel, clang = case
    done = guests.result(case)
    if done.returncode == SKIP:
        pytest.skip(done.stdout.strip().splitlines()[-1])
    print(re.sub(r"^{.*\n", "", done.stdout, flags=re.M))
    *loads, last = support.sections(done.stdout) or [("start", "")]
    loaded = done.returncode == 0
    assert loaded, f"kernel {kernel}, {clang}, {last[0]}: {support.refusal(done.stdout)}"
    for name, output in loads:
        sends = [sum(size["sends"] for call in json.loads(line)["maps"]["calls"].values()
                     for size in call["sizes"].values())
                 for line in output.splitlines() if line.startswith('{"schema"')]
        assert sends == ([] if name == "exporter" else [1]), f"kernel {kernel}, {clang}, {name}"
    complaints = support.complaints(kernel, support.parse(last[1]),
                                    support.documented(support.PAGE.read_text()))
    assert not complaints, f"{clang}: " + "; ".join(complaints)
