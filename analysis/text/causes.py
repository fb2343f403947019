# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The causes of a cell's copies, summed over its repeats."""

from derive.outcome import BY_NAME, UNCLASSIFIED, Row
from tables.causes import REFUSALS

from .record import array, string, value

ROWS_MAX = 64
DEVICE_MAX = 63
STACK_MAX = 255
REFUSAL_BY_NAME = {refusal.name: refusal for refusal in REFUSALS}


def gather(cell):
    """The Rows of a cell, most sends first."""
    found = {}
    for block in cell.rows("zerocopy/causes"):
        # Functions as a reader follows them: what was called, from what.
        stack = " < ".join(map(string, array(block, "stack")))[:STACK_MAX]
        cause = BY_NAME.get(string(block, "cause"), UNCLASSIFIED)
        key = cause.name, value(block, "netns"), value(block, "ifindex"), stack
        if key not in found and len(found) == ROWS_MAX:
            continue
        row = found.setdefault(key, Row(cause, string(block, "device")[:DEVICE_MAX], key[1], stack))
        row.sends += value(block, "count")
        row.unflagged += value(block, "unflagged")
        row.skbs += value(block, "skbs")
        row.skbs_in_send += value(block, "skbs_in_send")
    return sorted(found.values(), key=lambda row: -row.sends)
