# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The causes of a cell's copies, summed over its repeats."""

from tables.causes import CAUSES, REFUSALS, Cause

from .record import array, at, string, value

ROWS_MAX = 64
DEVICE_MAX = 63
STACK_MAX = 255
UNCLASSIFIED = CAUSES[0]
BY_NAME = {cause.name: cause for cause in CAUSES}
REFUSAL_BY_NAME = {refusal.name: refusal for refusal in REFUSALS}
# In the place of unclassified, where no stack was counted with it.
UNSEEN = Cause(
    "", "unclassified", "a copy that was not seen being made",
    "No stack says what copied the data. The device, where one is named, is the last that was seen to "
    "be handed the sender's own pages.",
    "Measure by fentry or kprobes (analyze doctor says what they need), with kernel.kptr_restrict=0: "
    "then the stack says.")


class Row:
    """Copied sends of one cause on one device. stack: of what is unclassified, functions, innermost
    first.
    """

    def __init__(self, cause, device="", netns=0.0, ifindex=0.0, stack="", sends=0.0):
        self.cause, self.device, self.netns, self.ifindex = cause, device, netns, ifindex
        self.stack, self.sends = stack, sends
        self.unflagged = self.skbs = self.skbs_in_send = 0.0

    @property
    def words(self):
        """A Cause, in the words for what was counted with a stack, or without one."""
        return UNSEEN if self.cause is UNCLASSIFIED and not self.stack else self.cause


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
        row = found.setdefault(key, Row(cause, string(block, "device")[:DEVICE_MAX], *key[1:]))
        row.sends += value(block, "count")
        row.unflagged += value(block, "unflagged")
        row.skbs += value(block, "skbs")
        row.skbs_in_send += value(block, "skbs_in_send")
    return sorted(found.values(), key=lambda row: -row.sends)


def device(rows, row):
    """A row's device, its namespace with it where another of the rows has the same name."""
    if any(other.device == row.device and other.netns != row.netns for other in rows):
        return f"{row.device} (namespace {row.netns:.0f})"
    return row.device
