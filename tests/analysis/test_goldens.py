# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that texts about planted data are as expected. goldens.py writes the expected ones."""

import pytest

from goldens import GOLDENS, KEPT


@pytest.mark.parametrize("name", GOLDENS)
def test_text_is_as_expected(name):
    assert GOLDENS[name]() == (KEPT / name).read_text(encoding="utf-8")
