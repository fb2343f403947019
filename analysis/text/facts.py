# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The verdict of each cell, from its records."""

from derive.outcome import SUMS, Facts

from .causes import gather
from .record import at, same, string, value

TO_MAX = 127


def refusals(cell, blocks):
    """How many, and the name of the last block's most frequent."""
    total, name = 0.0, ""
    for block in blocks:
        most = 0.0
        for row in cell.rows(f"{block}/refused"):
            count = value(row, "count")
            total += count
            if count > most:
                most, name = count, string(row, "cause")
    return {"refused": total, "refusal": name}


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
    if via and len(to) <= TO_MAX:
        to += f" via {via}"
    return to[:TO_MAX]


def facts(cell):
    """The Facts of a cell that has a block zerocopy. What a block lacks is not known: of sends by
    io_uring's own operations more than of others.
    """
    blocks = ["zerocopy"]
    if not cell.sum("zerocopy/requests", -1.0) and cell.sum("zerocopy/io_uring/requests", -1.0) > 0:
        blocks.append("zerocopy/io_uring")
    return Facts(**{name: cell.sum(f"{blocks[-1]}/{key}", -1.0) for name, key in SUMS.items()},
                 causes=gather(cell), **refusals(cell, blocks), lost=cell.sum("lost/completions", -1.0),
                 lost_else=cell.sum_so_far("lost/calls") + cell.lost_flags,
                 unseen_flags=cell.sum("lost/flags", 0.0), skipped_looks=cell.skipped_looks,
                 lost_copies=cell.sum("lost/stacks", 0.0))
