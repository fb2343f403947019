# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the section that times analysis/ runs, and that its data are complete."""

import json
import pathlib
import subprocess
import sys

import answers
import pytest

pytestmark = pytest.mark.slow

BENCH = pathlib.Path(__file__).with_name("bench.py")


@pytest.mark.skipif(not answers.PYTHON.exists(), reason="make analysis has not been run")
def test_section_answers(tmp_path):
    done = subprocess.run([sys.executable, BENCH, "--quick", "--only", "answers", "--json",
                           tmp_path / "out.json"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    section, = json.loads((tmp_path / "out.json").read_text())["sections"]
    cells = len(answers.VARIANTS) * len(answers.THREADS) * len(answers.SIZES)
    assert section["status"] == "done"
    assert {name: found["runs"] for name, found in section["files"].items()} == {
        "JSON": cells, "Parquet": answers.QUICK_COPIES * cells}
    for found in section["files"].values():
        assert found["peak_mib"]["median"] > 0 and found["load_s"]["median"] > 0
    assert f"{cells:,} runs, JSON" in done.stdout


def test_as_many_records_as_the_aim_names():
    cells = len(answers.VARIANTS) * len(answers.THREADS) * len(answers.SIZES)
    assert cells * answers.REPEATS >= 10000
    assert cells * answers.REPEATS * answers.COPIES >= 100000
