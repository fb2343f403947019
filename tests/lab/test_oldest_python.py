# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the front with Debian 11's Python 3.9, the oldest that it supports."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parent.parent.parent
KEPT = sorted((TREE / "tests/fixtures/raw").glob("*.json"))
PACKAGES = "python3.9-minimal", "libpython3.9-minimal", "libpython3.9-stdlib", "libssl1.1"
FLAGS = "-B", "-S", "-X", "utf8"
# Imports the front's modules, and evaluates type hints that the front evaluates only when advise reads an earlier
# answer.
IMPORT = """
import sys, typing
sys.path.insert(0, sys.argv[1])
import analysis.front.session, analysis.advise.advise
from analysis.advise import advise, runs, search
for hint in search.Answer, runs.Path:
    typing.get_type_hints(hint)
print(sys.version_info[:2])
"""


@pytest.fixture(scope="module")
def python():
    """Returns a function that runs the oldest Python."""
    fetched = subprocess.run([TREE / "tests/lab/fetch-package", "--suites=bullseye,bullseye-security",
                              *PACKAGES], capture_output=True, text=True, timeout=600, check=False)
    if fetched.returncode == 77:
        pytest.skip(fetched.stderr.strip())
    assert fetched.returncode == 0, fetched.stderr
    usr = Path(fetched.stdout.strip(), "usr")
    libraries = ":".join(str(folder) for folder in (usr / "lib").glob("*-linux-gnu"))

    def call(*words):
        return subprocess.run([usr / "bin/python3.9", *FLAGS, *words], text=True, capture_output=True,
                              timeout=120, check=False,
                              env={**os.environ, "PYTHONHOME": str(usr), "LD_LIBRARY_PATH": libraries})

    return call


def test_it_imports_all_of_the_front(python):
    done = python("-c", IMPORT, TREE)
    assert (done.returncode, done.stdout) == (0, "(3, 9)\n"), done.stderr


def test_kept_raw_lines_give_the_same_records(python, tmp_path):
    lines = tmp_path / "raw"
    lines.write_text("".join(json.dumps(json.loads(path.read_text())["raw"]) + "\n" for path in KEPT))
    for more in ("--json", "-"), ("--details",):
        words = TREE / "analysis/__main__.py", "derive", lines, *more
        oldest = python(*words)
        assert oldest.returncode == 0, oldest.stderr
        here = subprocess.run([sys.executable, "-I", *FLAGS, *words], text=True, capture_output=True,
                              timeout=120, check=True)
        assert oldest.stdout == here.stdout and len(here.stdout.splitlines()) >= len(KEPT)
