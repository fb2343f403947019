# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the verdict on each cell rests on, from its records: the causes of its copies, summed over its
repeats, and the sums beside them.
"""

from derive.outcome import BY_NAME, SUMS, UNCLASSIFIED, Facts, Row
from tables.causes import REFUSALS

from .record import at, rows, same, string, value
from .spread import total

REFUSAL_BY_NAME = {refusal.name: refusal for refusal in REFUSALS}


def gather(cell):
    """The Rows of a cell, most sends first."""
    found = {}
    for block in cell.rows("zerocopy/causes"):
        # Functions as a reader follows them: what was called, from what.
        stack = " < ".join(map(string, rows(block, "stack")))
        cause = BY_NAME.get(string(block, "cause"), UNCLASSIFIED)
        key = cause.name, value(block, "netns"), value(block, "ifindex"), stack
        row = found.setdefault(key, Row(cause, string(block, "device"), key[1], stack))
        row.sends += value(block, "count")
        row.unflagged += value(block, "unflagged")
        row.skbs += value(block, "skbs")
        row.skbs_in_send += value(block, "skbs_in_send")
    return sorted(found.values(), key=lambda row: -row.sends)


def refusals(cell, blocks):
    """How many, and the name of the most frequent."""
    found = [(value(row, "count"), string(row, "cause")) for block in blocks
             for row in cell.rows(f"{block}/refused")]
    return {"refused": total(count for count, _ in found),
            "refusal": max(found, key=lambda one: one[0], default=(0, ""))[1]}


def receiver(cell):
    """As " to 10.0.0.2:5001 via eth0", as far as it is one; " to 12 receivers"."""
    peers = list(cell.rows("zerocopy/peers"))

    def common(path):
        """What all have the same of; None where they differ."""
        found = at(peers[0], path)
        return found if all(same(found, at(peer, path)) for peer in peers) else None

    if not peers:
        return ""
    address, via, port = string(common("address")), string(common("device")), common("port")
    if not address:
        to = f" to {len(peers)} receivers"
    elif port is None:
        to = f" to {address}"
    else:
        to = f" to {f'[{address}]' if ':' in address else address}:{value(port):.0f}"
    return to + (f" via {via}" if via else "")


def facts(cell):
    """The Facts of a cell that has a block zerocopy. What a block lacks is not known: of sends by
    io_uring's own operations more than of others.
    """
    blocks = ["zerocopy"]
    if not cell.sum("zerocopy/requests", -1.0) and cell.sum("zerocopy/io_uring/requests", -1.0) > 0:
        blocks.append("zerocopy/io_uring")
    return Facts(**{name: cell.sum(f"{blocks[-1]}/{key}", -1.0) for name, key in SUMS.items()},
                 causes=gather(cell), **refusals(cell, blocks), lost=cell.sum("lost/completions", -1.0),
                 lost_else=cell.sum("lost/calls", 0.0) + cell.lost_flags,
                 unseen_flags=cell.sum("lost/flags", 0.0), skipped_looks=cell.skipped_looks,
                 lost_copies=cell.sum("lost/stacks", 0.0))
