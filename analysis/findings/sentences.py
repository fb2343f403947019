# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Turns findings into sentences. A sentence begins with a small letter and has no full stop."""

from analysis import words
from analysis.tables.causes import REFUSAL_BY_NAME
from analysis.tables.findings import LOST_SHARE, SENDS

from . import facts
from .facts import BY_NAME, IO_URING, PROTOCOLS, UNSEEN

CAUSES_MAX = 3  # a sentence has the numbers of at most this many causes
_REFUSALS = {f"refused_{name}": refusal for name, refusal in REFUSAL_BY_NAME.items()}


def _sends(finding, count):
    """Returns, for example, "3 zero-copy sends"; "3 completed zero-copy sends" if other sends did not complete."""
    which = "completed " if finding.evidence.get("requests", 0) > finding.total else ""
    if finding.interface == IO_URING:
        return f"{words.counted(count, which + 'send')} by SEND_ZC"
    return words.counted(count, which + "zero-copy send")


def _were(count):
    return "was" if count == 1 else "were"


def _share(finding):
    """Returns, for example, "all 3 zero-copy sends were" or "1 of 3 zero-copy sends (33.3 %) was"."""
    count, total = finding.count, finding.total
    if count == total:
        every = "the only" if total == 1 else f"all {words.whole(total)}"
        return f"{every} {_sends(finding, total).partition(' ')[2]} {_were(total)}"
    return f"{words.whole(count)} of {_sends(finding, total)} ({words.percent(count, total)}) {_were(count)}"


def _no_share(finding):
    finding = finding._replace(evidence={})
    return f"{'all' if finding.count == finding.total else 'some'} {_sends(finding, 2).partition(' ')[2]} were"


def cause(finding):
    """Returns, for example, "loopback, lo"."""
    row = BY_NAME[finding.code.partition("_")[2]]
    title = UNSEEN.title if row is BY_NAME["unclassified"] and not finding.stack else row.title
    return title + (f", {finding.device}" if finding.device else "")


def is_copied(finding):
    return finding.code.startswith("copied_")


def _of_all(found):
    """Returns the findings of causes that each copied every copied send."""
    return [one for one in found if one.code != "copied_unknown" and
            facts.copies_all(one.count, one.evidence["copied"], one.evidence["unseen_flags"])]


def is_final(found):
    """Returns whether a cause that no setting removes copied every copied send. found: as in _copied_sentence()."""
    return any(one.removable is False for one in _of_all(found))


def _copied_sentence(found):
    """Returns one sentence. found: all findings about copied sends of one interface."""
    first, *others = found
    copied = first._replace(count=first.evidence["copied"])
    text = f"{_share(copied)} copied"
    if first.code == "copied_unknown":
        return f"{text}; why was not seen"
    every = _of_all(found)
    if len(every) > 1:
        causes = "; ".join(map(cause, every))
        return f"{text}, each for more than one cause ({causes}): to end only one of them changes nothing"
    if not every:
        parts = [f"{words.whole(one.count)} ({cause(one)})" for one in found[:CAUSES_MAX]]
        return f"{text}: {', '.join(parts)}{', and more' if others[CAUSES_MAX - 1:] else ''}"
    return f"{text} ({cause(first)}{', and other causes' if others else ''})"


def _unseen(finding):
    evidence, more = finding.evidence, finding.count < finding.total
    text = "more may have been copied" if more else f"none of {_sends(finding, finding.total)} was seen to be copied"
    runs, flags = evidence["skipped_runs"], evidence["lost_flags"]
    why = [] if evidence["unflagged_visible"] else ["copies without a flag are not visible here"]
    if evidence["lost_copies"]:
        why.append(f"there was no room for traces of {words.counted(evidence['lost_copies'], 'packet')}")
    if flags > LOST_SHARE * finding.total:
        why.append(f"{words.counted(flags, 'flag')} of completions {_were(flags)} not seen")
    if runs is None:
        why.append("this kernel does not count how often it skips the kprobes that see copies")
    elif runs:
        why.append(f"the kernel skipped {words.counted(runs, 'run')} of the programs that see copies")
    return f"{text}: {'; '.join(why)}"


def _lost(finding):
    lost = "not followed to the end (see dropped events)"
    if finding.severity == "caveat":
        return f"caveat: {_sends(finding, finding.count)} {_were(finding.count)} {lost}"
    if finding.count == finding.total:
        return f"no verdict: none of {_sends(finding, finding.total)} was followed to the end (see dropped events)"
    return f"no verdict: {_share(finding)} {lost}"


def _queue(finding):
    if finding.code == "queue_never_read":
        sends = finding.evidence.get("completions", finding.count)
        if finding.count == finding.total:
            return f"the error queue was never read, though {_sends(finding, sends)} completed"
        return (f"the error queue was never read on {words.whole(finding.count)} of "
                f"{words.counted(finding.total, 'socket')}")
    return f"the error queue is read too late: {_share(finding).rpartition(' ')[0]} had completed unread"


def _meaning(finding):
    refusal = _REFUSALS[finding.code]
    return refusal.uring.meaning if finding.interface == IO_URING and refusal.uring else refusal.meaning


def _why_refused(finding):
    met, meaning = finding.evidence, _meaning(finding)
    if facts.exceeds_memlock(met):
        return (f"one send needs {words.counted(met['pages'], 'page')}, and RLIMIT_MEMLOCK allows "
                f"{words.whole(met['pages_limit'])} in all")
    if facts.exceeds_optmem(met):
        return f"net.core.optmem_max ({words.counted(met['limit'], 'byte')}) has no room for a single notification"
    if "pages" in met:
        return (f"{meaning} ({words.whole(met['pages_locked'])} of {words.counted(met['pages_limit'], 'page')}, and a "
                f"send needs {words.whole(met['pages'])})")
    if "charged" in met:
        return f"{meaning} ({words.whole(met['charged'])} of {words.counted(met['limit'], 'byte')})"
    return meaning


_AWAITED = {"round_trip": "as long as a round trip takes", "delayed_ack": "as the receiver delays its acknowledgement",
            "other": "longer than a round trip takes"}


def _waits(finding):
    met = finding.evidence
    return (f"{words.percent(met['share'])} of the time between {_sends(finding, finding.total)} the program waited for "
            f"completions: {words.counted(finding.count, 'time')}, {words.time(met['mean_ns'])} on average, "
            f"{_AWAITED[met['reason']]}")


def _small_sends(finding):
    met = finding.evidence
    why = (f"zero-copy pays from {words.size(met['pays_from'])} on" if met["pays_from"] else
           f"zero-copy costs more up to {words.size(met['costs_to'])}")
    return f"{_share(finding)} too small: on this path {why}"


def other_bytes(finding):
    """Returns how many bytes were sent by other protocols. finding: one with the code other_protocol."""
    return sum(finding.evidence.get(f"{name}_bytes", 0) for name in PROTOCOLS)


def _other_protocols(finding):
    met = finding.evidence
    by = {title: met[f"{name}_bytes"] for name, title in PROTOCOLS.items() if met.get(f"{name}_bytes")}
    every = other_bytes(finding) + met["tcp_bytes"]
    text = " and ".join(f"{words.percent(size, every)} of its bytes go by {title}" for title, size in by.items())
    if met["zerocopy_requests"]:
        requests = words.counted(met["zerocopy_requests"], "send")
        text += f"{' and ' if text else ''}{requests} by UDP or another protocol requested zero-copy"
    return f"{text}; only TCP is analysed"


_SENTENCES = {
    "ignored": lambda f: f"{_share(f)} ignored, and the data copied: the socket lacks SO_ZEROCOPY",
    "ignored_empty": lambda f: f"{_share(f)} ignored: zero length",
    "flag_never_passed": lambda f: (f"SO_ZEROCOPY has no effect: none of {words.counted(f.total, 'send')} passes "
                                    "MSG_ZEROCOPY"),
    "unexplained": lambda f: (f"{words.whole(f.count)} of {_sends(f, f.total)} reached no NIC with the sender's own "
                              "pages: these were copied by something that has no hook here (on older kernels native "
                              "XDP), or not sent"),
    "queue_never_read": _queue, "queue_read_late": _queue,
    "small_header": lambda f: (f"{_share(f).rpartition(' ')[0]} begin with a small part of "
                               f"{words.counted(f.evidence['header_bytes'], 'byte')} on average, whose page the kernel "
                               "pins each time"),
    "waits": _waits, "small_sends": _small_sends,
    "copies_unknown": lambda f: f"no verdict: how many of the {_sends(f, f.count)} were copied is not known here",
    "lost": _lost,
    "pending": lambda f: (f"no verdict: {words.whole(f.count)} of {_sends(f, f.total)} "
                          f"{'has' if f.count == 1 else 'have'} no completion yet"),
    "few": lambda f: f"none of {_sends(f, f.total)} was copied, but fewer than {SENDS} completed: too few to tell",
    "unseen": _unseen,
    "reported_otherwise": lambda f: f"the error queue reported {_sends(f, f.count)} as copied",
    "other_protocol": _other_protocols,
    "works": lambda f: f"none of {_sends(f, f.total)} was copied: zero-copy works here",
}


def sentence(found):
    """Returns one sentence. found: a list of one finding, or of all findings about copied sends of one interface."""
    first = found[0]
    if is_copied(first):
        return _copied_sentence(found)
    if first.code in _REFUSALS:
        return f"{_share(first)} refused ({first.evidence['errno']}): {_why_refused(first)}"
    return _SENTENCES[first.code](first)


_BRIEF = {
    "flag_never_passed": "SO_ZEROCOPY has no effect: no send passes MSG_ZEROCOPY",
    "ignored_empty": "zero-copy sends without data were ignored",
    "unexplained": "some zero-copy sends reached no NIC with the sender's own pages",
    "small_header": "zero-copy sends begin with a small part, whose page the kernel pins each time",
    "small_sends": "zero-copy sends are too small for the path",
    "waits": "the program waits for the completion of a zero-copy send before the next one",
    "queue_read_late": "the error queue is read too late",
    "copies_unknown": "no verdict on copies: how many sends were copied is not known here",
    "lost": f"no verdict on copies: over {100 * LOST_SHARE:.0f} % of the sends could not be followed",
    "pending": "no verdict on copies: sends have no completion yet",
    "few": f"no verdict on copies: fewer than {SENDS} completed",
    "unseen": "no zero-copy send was seen to be copied",
    "other_protocol": "sends by other protocols were not analysed",
    "works": "no zero-copy send was copied: zero-copy works here",
}


def _brief(first):
    if is_copied(first):
        share = _no_share(first._replace(count=first.evidence["copied"]))
        return f"{share} copied" + ("; why was not seen" if first.code == "copied_unknown" else f" ({cause(first)})")
    if first.code in _REFUSALS:
        met, meaning = first.evidence, _meaning(first)
        if facts.exceeds_memlock(met):
            meaning = "a send needs more pages than RLIMIT_MEMLOCK allows in all"
        return f"{_no_share(first)} refused: {meaning}"
    if first.code == "queue_never_read":
        return f"the error queue was never read{' on some sockets' if first.count < first.total else ''}"
    if first.code == "ignored":
        return f"{_no_share(first)} ignored: the socket lacks SO_ZEROCOPY"
    return _BRIEF[first.code]


def _processes(finding):
    """Returns "; by process: python3 (4711) 40 of 40, qemu 3 of 500" if these are known, else ""."""
    texts = (f"{one['comm']}{' (%d)' % one['pid'] if one['pid'] else ''} {words.whole(one['count'])} of "
             f"{words.whole(one['total'])}" for one in finding.processes)
    return "; by process: " + ", ".join(texts) if finding.processes else ""


def paragraphs(findings, brief=False):
    """Returns a pair (what is wrong, what to do) for each finding. All findings about copied sends of one interface
    share a pair. brief: leaves out numbers and caveats, so that equal findings of configurations have equal texts.
    """
    parts, copied = [], {}
    for finding in findings:
        if is_copied(finding):
            copied.setdefault(finding.interface, []).append(finding)
    for finding in findings:
        if brief and finding.severity == "caveat":
            continue
        if not is_copied(finding):
            found = [finding]
        elif finding is copied[finding.interface][0]:
            found = copied[finding.interface]
        else:
            continue
        parts.append((_brief(found[0]) if brief else sentence(found) + _processes(found[0]), remedy(found)))
    return parts


def remedy(found):
    """Returns what to do, in a sentence or two. found: as in sentence()."""
    if is_copied(found[0]) and found[0].code != "copied_unknown":
        final = [one for one in _of_all(found) if one.removable is False]
        some = [one for one in found[:CAUSES_MAX] if one.removable is not False]
        found = final[:1] or _of_all(found) or some or found[:1]
    return " ".join(dict.fromkeys(one.remedy for one in found if one.remedy))
