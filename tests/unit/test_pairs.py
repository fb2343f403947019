# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the program pairs: each host sends to as many hosts as it receives from, and never to itself."""

import collections
import contextlib
import io
import pathlib
import runpy
import subprocess
import sys
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

PAIRS = pathlib.Path(__file__).resolve().parents[2] / "deploy/pairs"
main = runpy.run_path(str(PAIRS))["main"]


def pairs(*arguments):
    """Returns status, pairs and errors of the program, run in this process."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors, \
            mock.patch.object(sys, "argv", ["pairs", *map(str, arguments)]):
        try:
            status = main()
        except SystemExit as end:
            status = end.code
    return status, [tuple(line.split()) for line in out.getvalue().splitlines()], errors.getvalue()


def test_a_ring():
    done = subprocess.run([PAIRS, "--ring", "a", "b", "c"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "a b\nb c\nc a\n", "")


@settings(max_examples=25)
@given(st.integers(2, 40), st.data())
def test_a_sample(count, data):
    each, seed = data.draw(st.integers(1, count - 1)), data.draw(st.integers(0, 1 << 30))
    hosts = [f"h{i}" for i in range(count)]
    status, found, _ = pairs("--sample", each, "--seed", seed, *hosts)
    assert status == 0 and len(set(found)) == len(found) == each * count
    assert all(sender != receiver for sender, receiver in found)
    for side in zip(*found):
        assert collections.Counter(side) == dict.fromkeys(hosts, each)
    assert pairs("--sample", each, "--seed", seed, *hosts)[1] == found


@pytest.mark.parametrize("arguments,message", [
    (("--ring", "a"), "a: one host makes no pair; name two or more"),
    (("--ring", "a", "b", "a"), "a: named twice; name each host once"),
    (("--sample", "2", "a", "b"), "--sample 2: give 1 to 1, of 2 hosts"),
    (("a", "b"), "one of the arguments --ring --sample is required")])
def test_bad_input_is_one_line(arguments, message):
    assert pairs(*arguments) == (2, [], f"pairs: {message}\n")
