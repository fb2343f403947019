# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Derives findings from facts. A rule is a pure function that yields findings from the Facts of one interface."""

from typing import NamedTuple, Optional

from analysis.tables.causes import REFUSAL_BY_NAME
from analysis.tables.findings import (BY_CODE, HEADED_SENDS, HEADED_SHARE, HEADER_BYTES, LATE_SHARE, LOST_SHARE,
                                      NOT_REFUSED, OTHERS_SHARE, PENDING_SHARE, SENDS, SEVERITIES, UNREAD_SENDS,
                                      UNREAD_SHARE, WAITS, WAIT_SHARE)

from . import facts
from .facts import IO_URING, MSG_ZEROCOPY

# A finding with one of these codes means that there is no verdict on copies, unless its severity is caveat.
NO_VERDICT = {"copies_unknown", "lost", "pending"}
_REFUSED = set(REFUSAL_BY_NAME) - NOT_REFUSED
_RANK = {name: rank for rank, name in enumerate(SEVERITIES)}
PROCESSES_MAX = 10  # a finding lists at most this many processes
# The remedy if no setting prevents the copies.
WITHOUT = {MSG_ZEROCOPY: "Send without MSG_ZEROCOPY on this path.",
           IO_URING: "Send by IORING_OP_SEND (SENDMSG for SENDMSG_ZC) on this path."}


# Remedies if a single send exceeds a limit: optmem, or the pages that its process may pin.
TOO_SMALL = "Raise net.core.optmem_max."
NEVER_FITS = "Raise the limit (ulimit -l), or send so much at once without MSG_ZEROCOPY."
# Remedies of waits.
SMALL_PLAIN = ("Send messages this small without zero-copy, or do not wait for the completion of one before the next.")
LOOK_AT_RECEIVER = ("Keep several sends in flight, and find out why the receiver is slow to acknowledge (ss -ti shows "
                    "its window and retransmissions).")


class Finding(NamedTuple):
    """A finding about `count` of `total` sends (queue_never_read: sockets, if sockets are counted). evidence: numbers
    by name; None: unknown. removable: whether a setting or a change of the program ends the problem; None: unknown, or
    the finding is no problem.
    """
    code: str
    severity: str
    interface: Optional[str]
    count: int
    total: int
    device: Optional[str] = None
    netns: Optional[int] = None
    stack: Optional[str] = None
    evidence: dict = {}
    removable: Optional[bool] = None
    remedy: Optional[str] = None
    processes: tuple = ()  # with --all and --by process: comm, pid, count and total of each process, worst first


def _found(code, f, count, total, remedy=None, severity=None, **more):
    row = BY_CODE[code]
    own = row.uring_remedy if f.interface == IO_URING else ""
    remedy = remedy or own or row.remedy or None
    more.setdefault("removable", True if remedy else None)
    # Any program may have written the record, so its counts may contradict each other.
    count, total = max(round(count), 0), max(round(total), round(count), 0)
    return Finding(code, severity or row.severity, f.interface, count, total, remedy=remedy, **more)


def _refusals(f):
    """Yields findings about refused sends, except the causes of NOT_REFUSED. A full send buffer, for example, is normal
    without blocking, and io_uring retries such a send."""
    for cause, errno, sends in sorted(f.refusals.refused, key=lambda row: -row[2]):
        if cause in _REFUSED and sends > 0:
            met = f.limits.get(cause, {})
            remedy = (NEVER_FITS if facts.exceeds_memlock(met) else
                      TOO_SMALL if facts.exceeds_optmem(met) else None)
            yield _found(f"refused_{cause}", f, sends, f.refusals.attempts, remedy,
                         evidence={"errno": errno, **met})


def _ignored(f):
    if f.ignored > f.empty:
        yield _found("ignored", f, f.ignored - f.empty, f.attempts)
    if f.empty > 0:
        yield _found("ignored_empty", f, f.empty, f.attempts)


def _is_pending(f):
    return (f.outstanding or 0) > PENDING_SHARE * f.accepted


def _never_read(f, refused):
    """Returns (count, total, evidence) of sockets whose error queue was never read; of sends if sockets are unknown."""
    never = not f.queue_reported and (refused or f.completions >= UNREAD_SENDS)
    if f.sockets is None or f.sockets_unread is None:
        return f.completions if never else 0, f.completions, {}
    unread = f.sockets if never else f.sockets_unread
    evidence = {"completions": round(f.completions), "sockets": round(f.sockets)}
    return unread if unread > UNREAD_SHARE * f.sockets else 0, f.sockets, evidence


def _queue(f):
    """Yields findings about unread error queues. While sends are pending, a program may rightly not have read its error
    queue yet, unless sends were refused because of optmem."""
    refused = any(cause == "optmem" for cause, _, _ in f.refused)
    if f.queue_reported is None or not f.completions or (_is_pending(f) and not refused):
        return
    count, total, evidence = _never_read(f, refused)
    if count:
        yield _found("queue_never_read", f, count, total, evidence=evidence)
    elif (not f.ended and f.queue_unread is not None and f.completions >= UNREAD_SENDS and
          f.queue_unread > LATE_SHARE * f.completions):
        yield _found("queue_read_late", f, f.queue_unread, f.completions)


def _no_verdict(f):
    """Yields the findings that prevent a verdict on copies."""
    if not f.accepted:
        return
    if f.completions is None or f.copied is None:
        yield _found("copies_unknown", f, f.accepted, f.requests)
    elif (f.lost or 0) > LOST_SHARE * f.accepted:
        yield _found("lost", f, f.lost, f.accepted)
    elif _is_pending(f):
        yield _found("pending", f, f.outstanding, f.accepted, removable=None)


def is_all_seen(f):
    """Returns whether every copy was seen, so that all other sends were not copied."""
    return (f.unflagged is not None and f.missed_runs == 0 and f.lost_copies <= 0 and
            f.unseen_flags <= LOST_SHARE * f.completions)


def _ordered(f):
    """Returns the causes, and whether the first cause copies every send and cannot be removed. Such a cause is returned
    first, because removing any other cause would change nothing.
    """
    final = [row for row in f.causes if facts.copies_all(row.sends, f.copied, f.unseen_flags) and row.cause.final]
    return [*final[:1], *(row for row in f.causes if row not in final[:1])], bool(final)


def _copied_findings(f):
    ordered, is_final = _ordered(f)
    copied = min(f.copied, f.completions)
    for row in ordered:
        removable = not is_final and not row.cause.final
        device = facts.device(f.causes, row) or None
        remedy = row.words.remedy.replace("DEV", row.device or "DEV", 1) if removable else WITHOUT[f.interface]
        yield _found(f"copied_{row.cause.name}", f, min(row.sends, copied), f.completions, remedy, device=device,
                     netns=round(row.netns) or None, stack=row.stack or None,
                     removable=None if row.cause is facts.UNCLASSIFIED and removable else removable,
                     evidence={"copied": round(copied), "requests": round(f.requests),
                               "unseen_flags": round(f.unseen_flags)})
    if not f.causes:
        yield _found("copied_unknown", f, copied, f.completions, removable=None,
                     evidence={"copied": round(copied), "requests": round(f.requests)})


def _uncopied(f):
    """Yields the findings about sends that no program saw copied."""
    if f.unexplained and f.unexplained > 0:
        yield _found("unexplained", f, f.unexplained, f.completions)
    if f.copied < f.completions and not is_all_seen(f):
        why = {"requests": round(f.requests), "unflagged_visible": f.unflagged is not None,
               "skipped_runs": None if f.missed_runs is None else round(f.missed_runs),
               "lost_copies": round(f.lost_copies), "lost_flags": round(f.unseen_flags)}
        yield _found("unseen", f, f.completions - f.copied, f.completions, severity="caveat" if f.copied else None,
                     evidence=why)
    elif not f.copied and not f.unexplained:
        yield _found("works" if f.completions >= SENDS else "few", f, f.completions, f.completions,
                     evidence={"requests": round(f.requests)})


def _caveats(f):
    if f.reported is not None and f.reported != f.copied and not f.queue_unread:
        yield _found("reported_otherwise", f, f.reported, f.completions)
    lost = (f.lost or 0) + f.lost_else
    if lost > 0:
        yield _found("lost", f, min(lost, f.requests), f.requests, severity="caveat")


def _copies(f):
    stopped = list(_no_verdict(f))
    if stopped or not f.completions or f.copied is None:
        return stopped
    copied = list(_copied_findings(f)) if f.copied > 0 else []
    return [*copied, *_uncopied(f), *_caveats(f)]


def _headers(f):
    if (f.headed >= HEADED_SENDS and f.headed > HEADED_SHARE * f.shaped and
            f.header_bytes <= HEADER_BYTES * f.headed):
        yield _found("small_header", f, f.headed, f.shaped,
                     evidence={"header_bytes": round(f.header_bytes / f.headed)})


def _waits(f):
    sends, ns = (sum(max(sums[place], 0.0) for sums in f.awaited.values()) for place in (0, 1))
    if sends < max(WAITS, WAIT_SHARE * f.intervals) or ns <= WAIT_SHARE * f.interval_ns or f.interval_ns <= 0:
        return
    longest = max(f.awaited, key=lambda reason: f.awaited[reason][1])
    remedy = {"delayed_ack": SMALL_PLAIN, "other": LOOK_AT_RECEIVER}.get(longest)
    yield _found("waits", f, sends, f.intervals, remedy,
                 evidence={"share": min(ns / f.interval_ns, 1.0), "mean_ns": round(ns / sends), "reason": longest})


RULES = (_refusals, _ignored, _copies, _waits, _queue, _headers)


def _other_protocols(others):
    """Yields a finding about other protocols, unless they send only a few bytes, such as a log."""
    sends, sent = sum(others.sends.values()), sum(others.bytes.values())
    if others.zerocopy > 0 or sent > OTHERS_SHARE * (sent + others.tcp_bytes):
        counts = {f"{name}_bytes": round(count) for name, count in others.bytes.items() if others.sends[name] > 0}
        found = _found("other_protocol", facts.Facts(), max(sends, others.zerocopy),
                       max(sends, others.zerocopy) + others.tcp_sends,
                       evidence={**counts, "tcp_bytes": round(others.tcp_bytes),
                                 "zerocopy_requests": round(others.zerocopy)})
        yield found._replace(interface=None)


def _never_passed(all_facts, others):
    """Yields a finding if no send passes MSG_ZEROCOPY. If some sends pass it, the others may be too small for it."""
    if others.unused > 0 and not all_facts:
        yield _found("flag_never_passed", facts.Facts(), others.tcp_sends, others.tcp_sends,
                     evidence={"large_sends": round(others.unused)})


def by_severity(findings):
    return sorted(findings, key=lambda finding: _RANK[finding.severity])


def of_facts(all_facts, others=None):
    """Returns the findings, worst first. all_facts: Facts of each interface. others: facts.Others."""
    found = [finding for f in all_facts for rule in RULES for finding in rule(f)]
    if others:
        found += [*_never_passed(all_facts, others), *_other_protocols(others)]
    return by_severity(found)


def small_sends(interface, count, total, pays_from, costs_to):
    """Returns the finding that sends are too small for zero-copy. pays_from: the least size in bytes that pays on the
    path; None: none is known, but up to costs_to zero-copy costs more."""
    return _found("small_sends", facts.Facts(interface=interface), count, total,
                  evidence={"pays_from": pays_from, "costs_to": costs_to})


def has_verdict(findings):
    """Returns whether copies can be judged."""
    return not any(one.code in NO_VERDICT and one.severity != "caveat" for one in findings)


def copied_share(findings, all_facts):
    """Returns the copied share of the completed sends, by all interfaces together; None if there is no verdict."""
    done = sum(f.completions or 0 for f in all_facts)
    return sum(f.copied or 0 for f in all_facts) / done if done > 0 and has_verdict(findings) else None


def _by_process(finding, processes):
    """Returns the finding with its processes. Their counts are over all causes, so only one finding of a kind has them.
    """
    part, whole = next((members for kind, members in (
        ("copied_", ("copied", "completions")), ("refused_", ("refused", "requests")),
        ("ignored", ("ignored", "requests"))) if finding.code.startswith(kind)), (None, None))
    if not part:
        return finding
    found = [{"comm": one.comm, "pid": one.pid or None, "count": getattr(one, part), "total": getattr(one, whole)}
             for one in processes if getattr(one, part) > 0]
    found.sort(key=lambda one: -one["count"])
    return finding._replace(processes=tuple(found[:PROCESSES_MAX]))


def of_records(records):
    """Returns the findings of records of one configuration, worst first."""
    found = of_facts(facts.of_records(records), facts.others(records))
    processes = facts.processes(records[0]) if len(records) == 1 else []
    seen = set()
    for place, finding in enumerate(found if processes else []):
        kind = finding.code.partition("_")[0]
        if kind not in seen:
            found[place] = _by_process(finding, processes)
        seen.add(kind)
    return found
