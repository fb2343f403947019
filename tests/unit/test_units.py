# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs each C unit test (cmocka) as a test, built normally and with the sanitizers."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = sorted(p.stem for p in (ROOT / "tests/unit").glob("test_*.c"))
# Tests that run the kernel programs over many seeds.
SIMULATORS = ["test_completions", "test_stages"]
MANY_SEEDS = "30000"


@pytest.fixture(scope="module", params=[pytest.param("", id="plain"),
                                        pytest.param("SAN=1", id="sanitized", marks=pytest.mark.sanitized)])
def programs(request):
    """Builds the tests; returns their folder."""
    made = subprocess.run(["make", "-s", *filter(None, [request.param]), "unit-tests"], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert made.returncode == 0, made.stdout
    return ROOT / ("build-san" if request.param else "build") / "tests"


def passes(program, **environment):
    ran = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                         env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "STDOUT", **environment})
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("name", TESTS)
def test_c_unit(programs, name):
    passes(programs / name)


@pytest.mark.simulation
@pytest.mark.parametrize("programs", [""], ids=["many"], indirect=True)
@pytest.mark.parametrize("name", SIMULATORS)
def test_many_seeds(programs, name):
    passes(programs / name, SENDPATH_SEEDS=MANY_SEEDS)


@pytest.mark.parametrize("odd", ["", "0", "-1", "1e3", "99999999999999999999"])
@pytest.mark.parametrize("programs", [""], ids=["plain"], indirect=True)
def test_a_bad_number_of_seeds_is_refused(programs, odd):
    ran = subprocess.run([programs / SIMULATORS[0]], stderr=subprocess.PIPE, text=True, check=False,
                         env={**os.environ, "SENDPATH_SEEDS": odd})
    assert ran.returncode == 2 and ran.stderr == f"SENDPATH_SEEDS={odd}: not a number of seeds\n"
