# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What follows from the kernel programs' counts by addition and subtraction alone.

analysis/tables/generate.py makes C of it for the exporter, analysis/derive has it for records. None
is below 0: what two programs count is not read at once.
"""

from typing import NamedTuple


class Sum(NamedTuple):
    name: str
    plus: tuple        # members of struct totals, or of struct pinned
    minus: tuple


SUMS = (
    Sum("flagged", ("flagged", "flag_added"), ("flag_retracted",)),
    Sum("copied", ("flagged", "flag_added", "unflagged"), ("flag_retracted",)),
    Sum("lost_flags", ("coalesced",), ("coalesced_seen",)),
    Sum("pinned_bytes", ("bytes",), ("freed_bytes",)),
    Sum("pinned_pages", ("pages",), ("freed_pages",)),
)
