# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that a leak is found, and that temporary objects are not taken for a leak."""

import os

import pytest

from held import FIGURES, Held, growth, held

pytestmark = pytest.mark.slow

BASE = Held(20_000, 50, 3, 10, 20, 10, 4_000)


def samples(name, of, count=60):
    return [BASE._replace(**{name: of(n)}) for n in range(count)]


@pytest.mark.parametrize("name", FIGURES)
def test_what_grows_is_found(name):
    assert growth(samples(name, lambda n: 1_000 + 100 * n))
    assert len(growth(samples(name, lambda n: 1_000 + 100 * n))) == 1


@pytest.mark.parametrize("name", FIGURES)
def test_what_comes_and_goes_is_no_growth(name):
    assert not growth(samples(name, lambda n: 1_000 + 5_000 * (n % 7)))
    assert not growth(samples(name, lambda n: min(n, 11)))  # growth at the beginning is no leak


def test_a_descriptor_now_and_then_is_found():
    assert growth(samples("descriptors", lambda n: 50 + n // 5))


def test_what_this_process_holds():
    before = held(os.getpid())
    ends = os.pipe()
    after = held(os.getpid())
    for fd in ends:
        os.close(fd)
    assert after.descriptors == before.descriptors + 2 and after.memory > 1_000
