# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the section on zero-copy sends: three counts of copied sends, and what sends cost after they returned."""

from analysis import words
from analysis.findings import facts
from analysis.tables.causes import REFUSAL_BY_NAME

from .head import UNSEEN
from .record import at, rows, same, string, value, warning


def labelled(label, text):
    return f"  {label:<14} {text}"


def known(number, otherwise):
    return otherwise if number is None else words.whole(number)


def positive(cell, key):
    """Returns the sum of a key of the block zerocopy over the repeats; 0 if it is unknown or negative."""
    return max(cell.sum(f"zerocopy/{key}", 0.0), 0.0)


def causes(cell):
    """Yields the lines of each cause: its numbers, its meaning, and the stack of an unclassified cause."""
    found = facts.causes(cell.records)
    for row in found:
        text = row.words.title
        if row.device:
            text += f", {facts.device(found, row)}"
        if 0 < row.unflagged < row.sends:
            text += f", {words.whole(row.unflagged)} of them unflagged"
        if row.skbs > 0:
            share = 100 * row.skbs_in_send / row.skbs
            text += f"; {share:.0f} % of the skbs inside the sends' own calls"
        yield labelled(words.whole(row.sends), text)
        yield labelled("", row.words.meaning)
        if row.stack:
            yield labelled("", row.stack)


def receiver(cell):
    """Returns the receivers, such as " to 10.0.0.2:5001 via eth0", without parts that differ, or " to 12 receivers"."""
    peers = list(cell.rows("zerocopy/peers"))

    def common(path):
        """Returns the value that all peers have; None if they differ."""
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


def completion_hook(record):
    """Returns which hook sees completions, and whether before they coalesce, or why no hook does; "" without a plan."""
    for hook in rows(record, "plan/hooks"):
        if string(hook, "name") == "completion":
            text = (f"not available: {string(hook, 'reason')}" if at(hook, "symbol") is None
                    else f"{string(hook, 'mechanism')} {string(hook, 'symbol')}")
            return text + (", before notifications coalesce" if at(hook, "reason") is None else "")
    return ""


def answers(cell):
    """Yields three counts of copied sends; docs/zerocopy.md explains why they may differ."""
    reported, flagged = cell.sum("zerocopy/errqueue_copied"), cell.sum("zerocopy/flagged")
    yield labelled("reported", f"{known(reported, 'not known')} by the error queue, as the application "
                   "read it")
    text = f"{known(flagged, 'not known')} by the kernel ({completion_hook(cell.record)})"
    inferred = cell.sum("lost/flags", 0.0)
    if inferred > 0:
        text += f"; {words.counted(inferred, 'flag')} inferred from neighbouring completions"
    yield labelled("flagged", text)
    text = f"{known(cell.sum('zerocopy/unflagged'), 'not known how many')} copied without a flag"
    size = cell.sum("zerocopy/bytes_unflagged")
    if cell.sum("zerocopy/unflagged", 0.0) > 0 and size is not None:
        text += f", {words.counted(size, 'byte')}"
    yield labelled("unflagged", text)
    unexplained = positive(cell, "unexplained")
    if unexplained:
        yield labelled("unexplained", f"{words.whole(unexplained)} neither flagged nor seen to be "
                       "copied, whose pages reached no NIC")
    if None not in (reported, flagged) and reported != flagged:
        yield labelled("difference", "the kernel coalesces notifications, and the flag of the first "
                       f"stands for all{'; or not all was read' if reported < flagged else ''}")


def skb_copies(cell):
    skbs, size = positive(cell, "skb_copies"), cell.sum("zerocopy/skb_copy_bytes")
    if skbs and size is not None:
        yield labelled("copied", f"{words.counted(size, 'byte')} in {words.counted(skbs, 'skb')}")


def ignored(cell):
    every, empty = (cell.sum(f"zerocopy/{key}", 0.0) for key in ("ignored", "ignored_empty"))
    parts = []
    if every > empty:
        parts.append(f"{words.whole(every - empty)} because the socket lacks SO_ZEROCOPY")
    if empty > 0:
        parts.append(f"{words.whole(empty)} of zero length")
    if parts:
        yield labelled("ignored", "; ".join(parts))


def refusals(cell):
    for row in cell.rows("zerocopy/refused"):
        cause = string(row, "cause")
        meaning = REFUSAL_BY_NAME[cause].meaning if cause in REFUSAL_BY_NAME else cause
        count = words.whole(value(row, "count"))
        yield labelled("refused", f"{count}, {string(row, 'errno')}: {meaning}")
    yield from ignored(cell)
    outstanding, before = positive(cell, "outstanding"), positive(cell, "completions_before")
    if outstanding:
        yield labelled("outstanding", f"{words.whole(outstanding)} without a completion when the "
                       "window closed")
    if before:
        yield labelled("earlier", f"{words.whole(before)} more completed, of sends from before the window or of other "
                       "processes")


def completion_time(cell, interface):
    """Returns the times to completion in words; "" if none was measured. interface: the block of the record."""
    hist = cell.hist(f"{interface}/completion_ns")
    if not hist.count:
        return ""
    p50, p99 = (words.time(float(hist.percentile(point))) for point in (500, 990))
    return (f"p50 {p50}, p99 {p99}, max {words.time(float(hist.max))}, span "
            f"{string(cell.record, f'{interface}/completion_ns/span')}")


def latency(cell):
    time, untimed = completion_time(cell, "zerocopy"), cell.sum("zerocopy/completions_untimed")
    if time and untimed is not None:
        yield labelled("completion", time + (f"; not timed: {words.whole(untimed)}" if untimed > 0 else ""))


def largest(cell, block, *keys):
    """Returns the largest number of each key over the repeats, or None if a repeat lacks one of them."""
    found = [cell.spread(f"{block}/{key}") for key in keys]
    return None if any(spread.count < len(cell.records) for spread in found) else [spread.high for spread in found]


def pinned_now(now):
    return f"{words.counted(now, 'byte') if now > 0 else 'none'} when the window closed"


def pinned(cell):
    found = largest(cell, "zerocopy/pinned", "bytes_max", "pages_max", "bytes_now")
    if found:
        size, pages, now = found
        yield labelled("pinned", f"at most {words.counted(size, 'byte')}, for which RLIMIT_MEMLOCK is charged "
                       f"{words.counted(pages, 'page')}; {pinned_now(now)}")


def uring_costs(cell):
    """Yields what sends by io_uring cost after they returned."""
    time = completion_time(cell, "zerocopy/io_uring")
    if time:
        yield labelled("completion", time)
    found = largest(cell, "zerocopy/io_uring/pinned", "bytes_max", "bytes_now")
    if found:
        yield labelled("pinned", f"at most {words.counted(found[0], 'byte')}; {pinned_now(found[1])}")


def segments(cell, block="zerocopy"):
    sends, count, unread, small, small_bytes = (cell.sum(f"{block}/segments/{key}") for key in (
        "sends", "count", "unread", "small", "small_bytes"))
    if None in (sends, count, unread, small, small_bytes) or sends <= 0:
        return
    text = f"{words.figure(count / sends, 3)} a send"
    if small > 0:
        text += f"; {words.whole(small)} below 4 KiB, with {words.counted(small_bytes, 'byte')}"
    if unread > 0:
        text += f"; not looked at, because a send had more than 32: {words.whole(unread)}"
    yield labelled("segments", text)


def waits(cell, block="zerocopy"):
    """Yields how many other sends were in flight when sends began, and how long the program waited before it sent."""
    sends = {}
    for row in cell.rows(f"{block}/waits/in_flight"):
        sends[value(row, "from")] = sends.get(value(row, "from"), 0) + value(row, "sends")
    if not sends:
        return
    shares = (f"{words.size(round(least))}{'' if least < 2 else '+'}: {words.percent(count, sum(sends.values()))}"
              for least, count in sorted(sends.items()))
    yield labelled("in flight", f"when sends began, others of their socket: {', '.join(shares)}")
    found = cell.hist(f"{block}/waits/wait_ns")
    if found.count:
        p50, p99 = (words.time(float(found.percentile(point))) for point in (500, 990))
        yield labelled("waits", f"{words.counted(found.count, 'send')} began soon after the last completion, after a "
                       f"wait of p50 {p50}, p99 {p99}")


def beside(cell):
    plain = positive(cell, "plain_beside")
    if plain:
        yield labelled("plain beside", f"{words.counted(plain, 'send')} without MSG_ZEROCOPY while zero-copy sends of "
                       "the socket were in flight:")
        yield labelled("", "an answer to the last part does not mean that earlier memory is free; count notifications")


def notifications(cell):
    read, reported, ranges = (cell.sum(f"zerocopy/notifications/{key}")
                              for key in ("read", "reported", "ranges"))
    if read is None or reported is None:
        return
    text = (f"the application read {words.counted(read, 'notification')} about "
            f"{words.counted(reported, 'send')}")
    if read > 0:
        text += f", {words.figure(reported / read, 3)} sends per notification"
    if ranges is not None:
        text += f"; before coalescing: {words.whole(ranges)}"
    unread = positive(cell, "notifications/unread")
    if unread:
        text += f"; completed, not yet read: {words.whole(unread)}"
    yield labelled("notifications", text)


def error_queue(cell):
    found, empty = (cell.hist(f"zerocopy/error_queue/{key}") for key in ("read_ns", "empty_read_ns"))
    sends = cell.sum("zerocopy/error_queue/sends", 0.0)
    if sends < 1:
        return
    text = (f"{words.time(float(found.sum + empty.sum) / sends)} per send: "
            f"{words.figure(found.count / sends, 2)} reads per send")
    if found.count:
        text += f" of {words.time(found.mean)}"
    if empty.count:
        text += (f", and {words.figure(empty.count / sends, 2)} of {words.time(empty.mean)} that found "
                 "nothing")
    yield labelled("error queue", text)


def copies(copied, completions):
    if copied > 0:
        return f"{words.whole(copied)} of them copied ({words.percent(copied, completions)})"
    return "none copied"


def uring(cell):
    """Yields the lines of sends by io_uring's own operations."""
    requests, completions, copied = (cell.sum(f"zerocopy/io_uring/{key}")
                                     for key in ("requests", "completions", "copied"))
    if (requests or 0) <= 0:
        return
    text = f"{cell.title}: {words.counted(requests, 'send')} by io_uring's SEND_ZC"
    if completions is None:
        yield text + "; how many of them were copied is not known"
        return
    text += f", {words.whole(completions)} completed, "
    text += "how many of them were copied is not known" if copied is None else copies(copied, completions)
    outstanding = positive(cell, "io_uring/outstanding")
    if outstanding:
        text += f"; without a completion when the window closed: {words.whole(outstanding)}"
    yield text
    yield from uring_costs(cell)
    yield from segments(cell, "zerocopy/io_uring")
    yield from waits(cell, "zerocopy/io_uring")


def none_asked(cell):
    """Returns the line of a cell without measured zero-copy sends."""
    others = value(cell.record, "observed/others/zerocopy_requests")
    which = " that is measured" if others or warning(cell.record, UNSEEN) is not None else ""
    return f"{cell.title}: no TCP send{which} requested zero-copy"


def summary(cell, requests):
    text = f"{cell.title}: {words.counted(requests, 'send')}{receiver(cell)} requested zero-copy"
    completions, copied = cell.sum("zerocopy/completions"), cell.sum("zerocopy/copied")
    if completions is None or copied is None:
        return text + "; how many were copied is not known"
    return f"{text}, {words.whole(completions)} completed, {copies(copied, completions)}"


def zerocopy(cells):
    """Yields, for each cell, causes of copies, their counts, and what completions cost."""
    for cell in cells:
        if cell.at("zerocopy") is None:
            continue
        yield from uring(cell)
        requests = cell.sum("zerocopy/requests", 0.0)
        if requests:
            yield summary(cell, requests)
            for part in (causes, answers, skb_copies, refusals, latency, waits, pinned, segments, beside, notifications,
                         error_queue):
                yield from part(cell)
        elif cell.at("zerocopy/io_uring") is None:
            yield none_asked(cell)
        yield ""
