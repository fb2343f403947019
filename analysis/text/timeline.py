# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints a timeline: the number of single sends, gaps in it, the median send and the slowest send."""

from analysis import words
from analysis.derive.run import ERRNO_RESTART, error_name

from .record import at, count, flag, number, rows, string, value


def after(send, key, what):
    ns = number(send, key)
    return [] if ns is None else [f"{what} after {words.time(ns)}"]


def returned(send):
    """Returns, in words, how many bytes TCP accepted, or the error."""
    found = value(send, "returned")
    if found >= 0:
        return words.counted(found, "byte")
    return f"failed ({error_name(min(int(-found), ERRNO_RESTART))})"


def life(send):
    """Returns the events of a send in one line."""
    flags = " MSG_ZEROCOPY" if flag(send, "zerocopy") else ""
    causes = ", ".join(cause for cause in rows(send, "causes") if isinstance(cause, str))
    copied = [] if not flag(send, "copied") else [f"copied ({causes})" if causes else "copied"]
    return ", ".join([
        f"send {count(send, 'number')}, {string(send, 'syscall')}{flags}, "
        f"{returned(send)}: returned after {words.time(value(send, 'call_ns'))}",
        *after(send, "received_ns", "received"), *copied, *after(send, "completion_ns", "completed"),
        *after(send, "read_ns", "read from the error queue")])


def _order(record):
    """Returns, in words, the time by which the median and the slowest send are chosen, if it is not the call's."""
    completed = number(record, "timeline/slowest/completion_ns") is not None
    return "; the slowest took longest to complete" if completed else ""


def lines(record, title):
    lost, left_out = count(record, "timeline/lost"), count(record, "timeline/left_out")
    if lost or left_out:
        yield (f"warning: the timeline of {title} has gaps: {words.counted(lost, 'event')} found no room in "
               f"{words.counted(count(record, 'timeline/gaps'), 'place')}; left out at its end: "
               f"{words.whole(left_out)}")
    least = value(record, "timeline/slower_than_ns")
    slow = f" slower than {words.time(least)}" if least else ""
    yield (f"timeline of {title}: {words.counted(count(record, 'timeline/sends'), 'send')}{slow} by "
           f"{words.counted(count(record, 'timeline/sockets'), 'socket')}, "
           f"{words.counted(count(record, 'timeline/events'), 'event')}{_order(record)}")
    for name in "median", "slowest":
        if at(record, f"timeline/{name}") is not None:
            yield f"  {name:<9}{life(at(record, f'timeline/{name}'))}"
    yield ""


def timeline(cells):
    for record, title in cells.runs():
        if at(record, "timeline") is not None:
            yield from lines(record, title)
