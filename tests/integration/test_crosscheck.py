# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The independent count: bcc sees the same sends."""

import os

import pytest

from conftest import analyze, needs_bpf, run, ANALYZE

CANNOT = 3


@needs_bpf
def test_bcc_counts_the_same():
    result = analyze("crosscheck", "--variant", "all", "--size", "64K", "--messages", "5000",
                     "--threads", "1,2", timeout=300)
    if result.returncode == CANNOT:
        pytest.skip(result.stderr.strip().splitlines()[-1])
    assert result.returncode == 0, result.stdout + result.stderr
    assert "crosscheck: all equal" in result.stdout
    assert result.stdout.count("  equal") == 18


@needs_bpf
def test_wrong_options_are_said_once():
    result = analyze("crosscheck", "--variant", "fourcopy", timeout=300)
    if result.returncode == CANNOT:
        pytest.skip(result.stderr.strip().splitlines()[-1])
    assert result.returncode == 2
    assert "fourcopy" in result.stderr


def test_needs_root():
    if os.geteuid():
        pytest.skip("not root: nothing to give up")
    result = run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", ANALYZE,
                 "crosscheck")
    assert result.returncode == CANNOT
    assert "root" in result.stderr
