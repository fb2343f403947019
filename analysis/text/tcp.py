# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints retransmissions, drops and shortages of TCP, in a line for each cell that had some; and skbs per send."""

from analysis import words

ROWS = (
    ("tcp/sending/retransmits", "segment", " retransmitted by the sending sockets"),
    ("tcp/timeouts", "retransmission timeout", ""),
    ("tcp/zero_windows", "zero receive window", ""),
    ("tcp/receive_queue_drops", "packet", " dropped for want of room in a receive queue"),
    ("tcp/backlog_drops", "packet", " dropped for want of room in a socket's backlog"),
    ("tcp/memory_pressures", "time", " TCP was short of memory"),
)


def line(cell):
    found = ((cell.sum(path, 0.0), unit, what) for path, unit, what in ROWS)
    events = [f"{words.counted(many, unit)}{what}" for many, unit, what in found if many > 0]
    if not events:
        return ""
    text, repeats = f"TCP, {cell.title}: {', '.join(events)}", len(cell.records)
    window, trip = cell.sum("tcp/sending/cwnd_mean"), cell.sum("tcp/sending/rtt_mean_us")
    if window is not None:
        text += f"; congestion window {words.counted(window / repeats, 'segment')} at the end"
    if trip is not None:
        text += f", round trip {words.whole(trip / repeats)} us"
    return text


def skbs(cells):
    """Yields a line with the skbs per send and frags per skb of all cells, each the mean of the repeats' values."""
    found = [(cell, cell.sum("tcp/skbs_per_send"), cell.sum("tcp/frags_per_skb")) for cell in cells]
    sizes = [f"{cell.title} {many / len(cell.records):.3g} ({frags / len(cell.records):.3g})"
             for cell, many, frags in found if None not in (many, frags)]
    if sizes:
        yield f"skbs per send (frags per skb): {', '.join(sizes)}"


def tcp(cells):
    """Yields a line for each cell with retransmissions, drops or shortages, and a line with the skbs of all cells."""
    yield from filter(None, map(line, cells))
    yield from skbs(cells)
