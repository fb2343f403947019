# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sums and differences of the kernel programs' counts.

analysis/tables/generate.py generates C from them for the exporter; analysis/derive computes them for records. A
negative difference becomes 0, because counts are not read at the same time.
"""

from typing import NamedTuple


class Sum(NamedTuple):
    name: str
    plus: tuple        # plus, minus: members of struct totals, or of struct pinned
    minus: tuple


SUMS = (
    Sum("flagged", ("flagged", "flag_added"), ("flag_retracted",)),
    Sum("copied", ("flagged", "flag_added", "unflagged"), ("flag_retracted",)),
    Sum("lost_flags", ("coalesced",), ("coalesced_seen",)),
    Sum("pinned_bytes", ("bytes",), ("freed_bytes",)),
    Sum("pinned_pages", ("pages",), ("freed_pages",)),
)
