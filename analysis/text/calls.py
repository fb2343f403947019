# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints sends by syscall and kind: tables for an observed program, and failed sends for every run."""

from analysis import words
from analysis.findings.facts import PROTOCOLS

from . import table
from .columns import count as counted_in, mean_time, point
from .head import UNSEEN
from .hist import Hist
from .record import at, count, flag, members, rows, safe_text, same, string, value, warning
from .spread import total

INTERRUPTED = "ERESTARTSYS"
SMALL_SHARE = 0.01  # size classes with smaller shares of both sends and bytes are added to "others"


def call_name(call):
    """Returns the name of a row of a record's calls: its syscall and kind of send."""
    kind = ""
    if flag(call, "zerocopy"):
        kind = " SEND_ZC" if string(call, "notified_by") == "io_uring" else " MSG_ZEROCOPY"
    return string(call, "syscall") + kind


# The words that reports print for each span of a send's time.
SPANS = {
    "syscall": "the whole system call",
    "syscall..tcp_sendmsg": "from the system call's begin until TCP returns",
    "tcp_sendmsg": "in TCP, from call to return",
    "tcp_sendmsg_locked..return": "from TCP's send loop to the system call's return",
}


def span_words(span):
    return SPANS.get(span, f"from {span}")


def same_call(call, other):
    """Returns whether two rows of records' calls have the same syscall and kind of send."""
    return call is other or all(same(at(call, key), at(other, key))
                                for key in ("syscall", "notified_by", "zerocopy"))


def interrupted(call):
    return value(call, f"errors/{INTERRUPTED}")


def failed(call):
    return total(map(value, members(call, "errors").values())) - interrupted(call)


def failures(cells):
    """Yields a line for each run and kind of call that had errors, and a line if sends were interrupted."""
    for record, title in cells.runs():
        for call in rows(record, "calls"):
            errors = [(safe_text(name), many) for name, many in members(call, "errors").items()]
            if failed(call) > 0:
                yield f"failed: {title}, {call_name(call)}: " + ", ".join(
                    f"{name} {words.whole(value(many))}" for name, many in errors
                    if name != INTERRUPTED)
            # Only when the kernel later delivers the signal does it decide whether to restart the call (SA_RESTART).
            if interrupted(call) > 0:
                yield (f"interrupted: {title}, {call_name(call)}: "
                       f"{words.counted(interrupted(call), 'send')} by a signal ({INTERRUPTED}): the "
                       "kernel restarts the send, or the program sees EINTR")


def others(record):
    """Yields the numbers of sends that are not measured. Without these lines, a report would look complete."""
    zerocopy = value(record, "observed/others/zerocopy_requests")
    for name, title in PROTOCOLS.items():
        sends, sent = (value(record, f"observed/others/{name}_{what}") for what in ("sends", "bytes"))
        if sends > 0:
            yield f"not measured: {words.counted(sends, 'send')} by {title}, {words.counted(sent, 'byte')}"
    if zerocopy > 0:
        yield (f"not measured: {words.counted(zerocopy, 'zero-copy request')} by MPTCP, or protocols "
               "other than TCP")


def megabits(seconds):
    """Returns a column's function, which returns a row's bytes as Mbit/s over these seconds."""
    def of(call):
        bits = value(call, "bytes") * 8 / 1e6
        return words.decimal(bits / seconds if seconds > 0 else 0.0, 2 if bits < 1000 else 0)
    return of


def wall(per_mille):
    return lambda call: point(Hist(at(call, "wall_ns")), per_mille, 1e3)


def observation(record):
    calls, in_flight = rows(record, "calls"), value(record, "observed/in_flight")
    if calls:
        yield from table.of(calls, (
            ("call", call_name),
            ("sends", counted_in("sends")),
            ("bytes", counted_in("bytes")),
            ("Mbit/s", megabits(value(record, "observed/seconds"))),
            ("us/send", mean_time("wall_ns", 1e3)),
            ("p50", wall(500)),
            ("p99", wall(990)),
            ("failed", lambda call: words.whole(failed(call)))))
    elif in_flight <= 0:
        # If sends by other protocols are not counted, the program may have sent by MPTCP.
        blind = warning(record, UNSEEN) is None and at(record, "observed/others") is None
        yield "no TCP sends were seen" + ("; sends by MPTCP are not seen here" if blind else "")
        if string(record, "observed/by") == "process":
            yield "--pid does not observe child processes: --comm NAME, --cgroup PATH and -- PROGRAM do"
    full = total(value(call, "errors/EAGAIN") for call in calls)
    if full > 0:
        yield (f"{words.whole(full)} of the failed sends found the send buffer full (EAGAIN), which is normal for "
               "non-blocking sockets")
    yield from others(record)
    if in_flight > 0:
        yield f"{words.counted(in_flight, 'send')} still under way when the window closed"
    yield ""


def observed(cells):
    for cell in cells:
        yield from observation(cell.record)


def size_range(row):
    low, high = count(row, "0"), count(row, "1")
    return f"{low:,}" if low < 2 else f"{low:,}-{high:,}"


def sizes(cells):
    """Yields the sizes of an observed program's sends: a row for each syscall and size class."""
    cell = next(iter(cells))
    classes = [(value(row, "2"), value(row, "3"), call_name(call), size_range(row))
               for call in cell.rows("calls") for row in rows(call, "sizes")]
    all_sends, all_bytes = (total(row[i] for row in classes) for i in range(2))
    if cell.at("observed") is None or not all_sends:
        return
    small = [row for row in classes if row[0] < SMALL_SHARE * all_sends and row[1] < SMALL_SHARE * all_bytes]
    shown = [row for row in classes if row not in small]
    other_sends, other_bytes = (total(row[i] for row in small) for i in range(2))
    if other_sends:
        shown.append((other_sends, other_bytes, "others", ""))
    yield f"sizes: {cell.title}"
    yield from table.of(shown, (
        ("call", lambda row: row[2]),
        ("bytes/send", lambda row: row[3]),
        ("sends", lambda row: words.whole(row[0])),
        ("of sends", lambda row: words.percent(row[0], all_sends)),
        ("of bytes", lambda row: words.percent(row[1], all_bytes))))
