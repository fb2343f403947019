# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The C unit tests (cmocka), each a test here: as built and with the sanitizers."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = sorted(p.stem for p in (ROOT / "tests/unit").glob("test_*.c"))


@pytest.mark.parametrize("sanitizers", ["", "SAN=1"], ids=["plain", "sanitized"])
@pytest.mark.parametrize("name", TESTS)
def test_c_unit(name, sanitizers):
    build = "build-san" if sanitizers else "build"
    made = subprocess.run(["make", "-s", *filter(None, [sanitizers]), f"{build}/tests/{name}"],
                          cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    assert made.returncode == 0, made.stdout
    ran = subprocess.run([ROOT / build / "tests" / name], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False,
                         env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "STDOUT"})
    assert ran.returncode == 0, ran.stdout
