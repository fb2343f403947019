# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the block zerocopy. It counts send ids:

requests = completions + ignored + refused + outstanding
copied = flagged + unflagged, if unflagged is known

zerocopy.io_uring counts sends by io_uring's zero-copy operations separately, because they have no send
id. The same equations hold for them.
"""

import errno

from analysis.tables.causes import CAUSES, REFUSALS
from analysis.tables.findings import WAIT_REASONS

from . import groups
from .run import difference, error_name, quotient, sum_of

NAMES = [cause.name for cause in CAUSES]
MIRROR, PACKET_TAP = map(NAMES.index, ("mirror", "packet_tap"))
COPIERS = {"skb_copy_ubufs", "skb_segment", "__pskb_pull_tail", "skb_copy", "skb_pp_cow_data"}
UNSEEN_COUNTER, FULL_COUNTER = 0, 1
NO_COUNT = {"skbs": 0, "skbs_in_send": 0, "bytes": 0, "sends": 0, "unflagged": 0, "mirrored": 0, "tapped": 0,
            "uring": 0}
NO_SHAPE = dict.fromkeys(("sends", "segments", "unread", "min", "small", "small_bytes", "headed", "header_bytes"), 0)
NO_REPORT = ("without fentry or kprobes it is known only where the path of the packets copies them all, or the "
             "program has io_uring report it (IORING_SEND_ZC_REPORT_USAGE)")
COMPLETED = ("completions", "completions_before", "outstanding", "copied", "flagged",
             "unflagged", "fallback_rate", "bytes_copied", "bytes_unflagged", "unexplained")


def refusal_of(error):
    """Returns the cause of an errno. The errno alone does not show which of the two limits was reached."""
    return next(refusal.name for refusal in REFUSALS[2:]
                if refusal.error is None or getattr(errno, refusal.error) == error)


def refused(sums, optmem=0, memlock=0):
    rows = [("optmem", errno.ENOBUFS, optmem), ("memlock", errno.ENOBUFS, memlock)]
    for error, count in sorted(sums.errors.items()):
        if error == errno.ENOBUFS:
            count -= min(optmem + memlock, count)
        rows.append((refusal_of(error), error, count))
    return [{"cause": cause, "errno": error_name(error), "count": count}
            for cause, error, count in rows if count]


def requests(sums, why):
    return {"requests": sums.requests, "ignored": sums.ignored, "ignored_empty": sums.empty,
            "refused": why, "bytes": sums.bytes}


def segments(run, key, index):
    """Returns counts of the parts of the sends. index: SHAPES_MSG_ZEROCOPY or SHAPES_URING of bpf/abi.h."""
    shapes = run.maps.get("send_shapes")
    if shapes is None:  # an older raw line
        return None
    if run.hooks["send"].get("span") == "syscall":
        run.missing(key, "the parts of a message are not read where only syscalls are traced")
        return None
    found = {**NO_SHAPE, **shapes.get(str(index), {})}
    return {"sends": found["sends"], "count": found["segments"], "unread": found["unread"],
            "smallest": found["min"] or None, "small": found["small"], "small_bytes": found["small_bytes"],
            "headed": found["headed"], "header_bytes": found["header_bytes"]}


def waits(run, index, span):
    """Returns how the sends followed each other; None if their completions are not seen, or the raw line is an older
    one. index: SHAPES_MSG_ZEROCOPY or SHAPES_URING of bpf/abi.h.
    """
    sums = run.maps.get("send_waits")
    if sums is None:
        return None
    found = sums.get(str(index), {})
    ns = found.get("awaited_ns", {})
    return {"in_flight": [{"from": 1 << int(depth) >> 1, "sends": sends}
                          for depth, sends in found.get("depths", {}).items()],
            "intervals": found.get("intervals", 0), "interval_ns": found.get("interval_ns", 0),
            "awaited": [{"reason": WAIT_REASONS[int(place)], "sends": sends, "ns": ns.get(place, 0)}
                        for place, sends in found.get("awaited", {}).items()],
            "wait_ns": run.span(span).json("return..completion")}


def plain_beside(run):
    """Returns the number of plain sends while zero-copy sends were in flight; None if completions are not seen."""
    if "plain_beside" not in run.totals or not run.hooked("completion"):
        return None
    return run.totals["plain_beside"]


def uring(run, causes):
    """Returns zerocopy.io_uring; None if there were no sends by io_uring's zero-copy operations."""
    totals, sums = run.totals, run.uring
    if not sums.requests:
        return None
    completed = run.hooked("io_uring completion", "zerocopy.io_uring.completions")
    copied = completed and not (run.hooks["io_uring completion"]["by_report"] and totals["uring_unknown"])
    completions = totals["uring_completions"]
    if completed and not copied:
        run.missing("zerocopy.io_uring.copied", NO_REPORT)
    return {**requests(sums, refused(sums)),
            "completions": completions if completed else None,
            "outstanding": difference(sums.accepted, completions) if completed else None,
            "copied": totals["uring_copied"] if copied else None,
            "causes": cause_rows(run, causes, uring_cause_row) if completed else None,
            "segments": segments(run, "zerocopy.io_uring.segments", 1),
            "fallback_rate": quotient(totals["uring_copied"], completions if copied else 0),
            "waits": waits(run, 1, "uring_wait") if completed else None,
            "completion_ns": completion_time(run, "notification") if completed else None,
            "pinned": uring_pinned(run) if completed else None}


def copied_bytes(run, copied, known):
    """Returns the bytes of copied sends; None: unknown. Only a hook at the zero-copy request sees the bytes of each
    send. Without this hook, the bytes are known only if all or no sends were copied.
    """
    sums, totals = run.msg_zerocopy, run.totals
    if not run.hooks["completion"]["by_queue"] and not totals["unsized_completions"]:
        return known
    if not copied:
        return 0
    return sums.bytes if copied == totals["completions"] == sums.accepted else None


def unexplained(run):
    """Returns the number of sends whose data no hook saw copied or leaving the machine; None: unknown."""
    leaves = run.hooked("device exit")
    if leaves and run.hooked("skb copy") and not run.totals["lost_cause_bits"]:
        return run.totals["unexplained"]
    reason = run.hooks["skb copy" if leaves else "device exit"]["reason"]
    if run.totals["lost_cause_bits"]:
        reason = "there was no room for what was seen of some sends (lost.stacks)"
    run.missing("zerocopy.unexplained", reason)
    return None


def completions(run):
    if not run.hooked("completion", "zerocopy.completions"):
        return dict.fromkeys(COMPLETED)
    totals, blind = run.totals, run.blind
    flagged = sum_of("flagged", totals)
    unflagged = None if blind else totals["unflagged"]
    copied = flagged if blind else sum_of("copied", totals)
    reason = "completions do not show the size of each send"
    return {"completions": totals["completions"], "outstanding": run.outstanding,
            "completions_before": totals["completions_before"], "copied": copied,
            "flagged": flagged,
            "unflagged": run.known("zerocopy", "unflagged", unflagged, blind),
            "unexplained": unexplained(run),
            "fallback_rate": quotient(copied, totals["completions"]),
            "bytes_copied": run.known("zerocopy", "bytes_copied", copied_bytes(
                run, copied, totals["bytes_copied"] + totals["unflagged_bytes"]), reason),
            "bytes_unflagged": run.known("zerocopy", "bytes_unflagged", None if blind else
                                             copied_bytes(run, unflagged, totals["unflagged_bytes"]),
                                             blind or reason)}


def counter(run, index):
    return {**NO_COUNT, **run.maps.get("cause_counters", {}).get(str(index), {})}


def move(causes, key, member, to):
    """Moves the sends that a cause counts as `member` to the cause `to`, and also its skbs if it has no other sends."""
    cause = causes[key]
    if not cause[member]:
        return
    other = causes.setdefault((to, *key[1:]), {"device": cause["device"], **NO_COUNT})
    other["sends"] += cause[member]
    cause[member] = 0
    if not any(cause[kind] for kind in ("sends", "unflagged", "mirrored", "tapped")):
        for part in ("skbs", "skbs_in_send", "bytes"):
            other[part] += cause[part]
            cause[part] = 0


def all_causes(run):
    """Returns the device's name and the counts by (cause, netns, ifindex, stack). Two CPUs may have claimed a counter
    each for the same key at the same time; the counts of both are added.
    """
    causes = {}
    for index, info in sorted(run.maps.get("cause_infos", []), key=lambda row: row[0]):
        key = tuple(info["key"][part] for part in ("cause", "netns", "ifindex", "stack"))
        cause = causes.setdefault(key, {"device": groups.kernel_text(info["device"]), **NO_COUNT})
        cause.update({part: cause[part] + count for part, count in counter(run, index).items()})
    for key in list(causes):
        move(causes, key, "mirrored", MIRROR)
        move(causes, key, "tapped", PACKET_TAP)
    return causes


def stack(run, cause, number):
    """Returns the functions of a stack, beginning with the one that copied; None if the cause is known."""
    if cause:
        return None
    names = run["stacks"].get(str(number), [])
    begin = next((i for i, name in enumerate(names) if name in COPIERS), len(names))
    return names[begin:]


def uring_cause_row(run, key, found):
    cause, netns, ifindex, number = key
    return {"cause": NAMES[cause], "netns": netns or None, "ifindex": ifindex or None, "device": found["device"],
            "count": found["uring"], "stack": stack(run, cause, number)}


def cause_row(run, key, found):
    row = uring_cause_row(run, key, found)
    counts = {part: found[part] for part in ("unflagged", "skbs", "skbs_in_send", "bytes")}
    return {**row, "count": found["sends"] + found["unflagged"], **counts}


def cause_rows(run, causes, row_of):
    """Returns the rows of causes; None: no hook sees copies. Called only if a hook sees the completions of the run."""
    if not run.hooked("skb copy", "zerocopy.causes"):
        return None
    other = {"device": None, **counter(run, FULL_COUNTER)}
    for part in ("sends", "uring"):
        other[part] += counter(run, UNSEEN_COUNTER)[part]
    rows = sorted((row_of(run, *cause) for cause in causes.items()), key=lambda row: -row["count"])
    return [row for row in (*rows, row_of(run, (0, 0, 0, 0), other)) if row["count"]]


def skb_copies(run, causes):
    """Returns the numbers of copied skbs and bytes. Both are null if copies are inferred from the packets' path."""
    hook = run.hooks["skb copy"]
    if not run.hooked("skb copy") or hook["by_path"]:
        return {key: run.known("zerocopy", key, None, hook["reason"])
                for key in ("skb_copies", "skb_copy_bytes")}
    full = counter(run, FULL_COUNTER)
    return {"skb_copies": full["skbs"] + sum(cause["skbs"] for cause in causes.values()),
            "skb_copy_bytes": full["bytes"] + sum(cause["bytes"] for cause in causes.values())}


def followed(run, key):
    return run.hooked("completion", key) and run.hooked("send id", key)


def completion_time(run, span):
    return run.span(span).json(run.hooks["send"].get("completion_span"))


def latency(run):
    known = followed(run, "zerocopy.completion_ns")
    timed = run.span("completion").count
    return {"completion_ns": completion_time(run, "completion") if known else None,
            "completions_untimed": difference(run.totals["completions"], timed) if known else None}


def pinned_bytes(now, peak):
    return {"bytes_now": sum_of("pinned_bytes", now), "bytes_max": peak["bytes"]}


def uring_pinned(run):
    return pinned_bytes(run.maps["uring_pinned"], run.maps["uring_pinned_peaks"])


def pinned(run):
    if not followed(run, "zerocopy.pinned"):
        return None
    totals, now, peak = run.totals, run.maps["pinned"], run.maps["pinned_peaks"]
    if totals["untimed"]:
        run.missing("zerocopy.pinned", f"the ids of {totals['untimed']} sends were guessed, and may be "
                    "other sends' ids")
        return None
    if totals["unsized"]:
        run.missing("zerocopy.pinned", "the requested size is not seen before a send returns")
        return None
    return {"scope": "all sockets", **pinned_bytes(now, peak), "pages_now": sum_of("pinned_pages", now),
            "pages_max": peak["pages"]}


def queues(run):
    """Returns how many sockets have completed sends, and how many of these have an error queue that was never read."""
    existing = run.maps.get("open_queues")
    if not existing:  # an older raw line
        return None, None
    if not existing["counted"]:
        run.missing("zerocopy.notifications.sockets", "this kernel cannot run a program for each socket (Linux 5.13)")
        return None, None
    totals = run.totals
    return totals["queues"] + existing["sockets"], totals["queues_unread"] + existing["unread"]


def notifications(run):
    """Returns zerocopy.notifications. The completion hook counts ranges of sends; the error queue hook counts reads."""
    totals, counted = run.totals, run.hooked("completion")
    read = run.hooked("error queue", "zerocopy.notifications.read")

    def if_read(value):
        return value if read else None
    sockets, unread = queues(run) if read and counted else (None, None)
    return {"ranges": totals["ubufs_done"] if counted else None,
            "sends_per_range": quotient(totals["completions"], totals["ubufs_done"] if counted else 0),
            "read": if_read(totals["notifications_read"]), "reported": if_read(totals["reported"]),
            "reported_copied": if_read(totals["errqueue_copied"]),
            "unread": difference(totals["completions"], totals["reported"])
            if read and counted else None,
            "sockets": sockets, "sockets_unread": unread,
            "sends_per_notification": quotient(totals["reported"], totals["notifications_read"] if read else 0)}


def error_queue(run):
    if not run.hooked("error queue read", "zerocopy.error_queue"):
        return None
    found, empty = run.span("read"), run.span("read_empty")
    accepted = run.msg_zerocopy.accepted
    return {"sends": accepted, "reads": found.count, "empty_reads": empty.count,
            "read_ns": found.json("inet_recv_error"), "empty_read_ns": empty.json("inet_recv_error"),
            "ns_per_send": quotient(found.sum + empty.sum, accepted),
            "reads_per_send": quotient(found.count + empty.count, accepted)}


def limits(run):
    """Returns the limits for which sends were refused, and the amounts that these sends needed."""
    met = run.maps.get("refusal_limits") or {}
    return {"memlock": {"pages": met["pages"], "pages_locked": met["pages_locked"],
                        "pages_limit": met["pages_limit"]} if met.get("pages") else None,
            "optmem": {"charged": met["optmem"], "limit": met["optmem_limit"]} if met.get("optmem_limit") else None}


def reported_copied(run):
    """Returns the number of sends that the error queue reported to the application as copied; None: unknown."""
    reason = "the load generator ended without a result"
    if run.observed:
        value = run.totals["errqueue_copied"] if run.hooked("error queue") else None
        reason = run.hooks["error queue"]["reason"]
    elif (run["load"] or {}).get("variant") in ("uring", "uring_zc"):
        value = None
        reason = "io_uring has no error queue; app.zerocopy has its reports"
    else:
        value = ((run.app or {}).get("zerocopy") or {}).get("copied")
    return run.known("zerocopy", "errqueue_copied", value, reason)


def zerocopy_block(run):
    sums, totals = run.msg_zerocopy, run.totals
    hook = run.hooks["completion"]
    if hook["status"] == "disabled" and not sums.requests:
        run.missing("zerocopy", hook["reason"])
        return None
    causes = all_causes(run)
    return {
        **requests(sums, refused(sums, totals["refused_optmem"], totals["refused_memlock"])),
        **completions(run), **groups.peers(run), "io_uring": uring(run, causes), **skb_copies(run, causes),
        "causes": cause_rows(run, causes, cause_row) if run.hooked("completion", "zerocopy.causes") else None,
        "segments": segments(run, "zerocopy.segments", 0), "plain_beside": plain_beside(run),
        "waits": waits(run, 0, "wait") if followed(run, "zerocopy.waits") else None,
        **latency(run), "pinned": pinned(run), "limits": limits(run),
        "notifications": notifications(run), "error_queue": error_queue(run),
        "wake_up_ns": run.span("wake_up").json("sock_def_error_report")
        if run.hooked("wake-up", "zerocopy.wake_up_ns") else None,
        "errqueue_copied": reported_copied(run)}
