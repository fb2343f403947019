# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is said of planted data is as kept: goldens.py writes it anew."""

import pytest

from goldens import GOLDENS, KEPT


@pytest.mark.parametrize("name", GOLDENS)
def test_text_is_as_kept(name):
    assert GOLDENS[name]() == (KEPT / name).read_text(encoding="utf-8")
