# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What to make of the zero-copy sends of a cell, in words."""

from . import units
from .causes import REFUSAL_BY_NAME, device

TEXT_MAX = 1023
DEVICE_MAX = 319
SENDS = 100  # fewer completions bear no verdict: a share of them is known to 10 percentage points
LOST_SHARE = 0.01  # beyond, what was seen may not be typical
WAITING_SHARE = 0.1
REFUSED_SHARE = 0.1


class Facts:
    """The figures that a verdict rests on; below 0: not known."""

    requests = completions = outstanding = lost = 0.0  # sends
    copied = unflagged = reported = 0.0  # of the completions
    unexplained = 0.0  # of the others: nothing tells that they were not copied
    ignored = empty = 0.0  # the latter for lack of data: part of the former
    refused = 0.0  # of all requests
    refusal = ""  # the name of the most frequent one
    causes = ()  # causes.Rows
    lost_else = 0.0  # calls that were not counted, and flags that were not seen
    unseen_flags = 0.0  # of copied sends: they have no cause
    skipped_looks = 0.0  # runs of the programs that see copies, which the kernel skipped
    lost_copies = 0.0  # seen, but there was no room for what was seen of them

    def __init__(self, **known):
        vars(self).update(known)


def were(number):
    return "was" if number == 1 else "were"


def none_possible(f):
    """Why there can be no verdict; None where there can."""
    requests = units.whole(f.requests)
    if f.completions < 0 or f.copied < 0:
        return f"no verdict: how many of the {requests} zero-copy sends were copied is not known here"
    if f.lost > LOST_SHARE * f.requests:
        return (f"no verdict: of {requests} zero-copy sends {units.whole(f.lost)} could not be "
                "followed")
    if f.outstanding > WAITING_SHARE * f.requests:
        return (f"no verdict: of {requests} zero-copy sends {units.whole(f.outstanding)} have no "
                "completion yet")
    if f.completions < SENDS:
        return (f"no verdict: {units.counted(f.completions, 'zero-copy send')} completed, too few to "
                "tell")
    return None


def cause(f, row):
    on = device(f.causes, row)[:DEVICE_MAX]
    return row.words.title + (f", {on}" if on else "")


# Of causes that no setting takes away.
WITHOUT = "Send without MSG_ZEROCOPY on this path."


def remedy(f, row):
    """The device goes where a remedy names it."""
    if row.cause.final:
        return WITHOUT
    return row.words.remedy.replace("DEV", device(f.causes, row)[:DEVICE_MAX] or "DEV", 1)


def second_cause(f):
    """Another cause that all copied sends have, too: one that can be ended cannot alone end them."""
    found = None
    for row in f.causes[1:]:
        if row.sends < f.copied:
            break
        if row.cause is not f.causes[0].cause and (found is None or row.cause.final):
            found = row
    return found


def copied(f):
    """Why, and what to do about it."""
    sends = units.whole(f.completions)
    text = (f"all {sends} zero-copy sends were copied" if f.copied == f.completions else
            f"{units.whole(f.copied)} of {sends} zero-copy sends "
            f"({units.percent(f.copied, f.completions)}) were copied")
    if not f.causes:
        return text + "; why was not seen", ""
    first, second = f.causes[0], second_cause(f)
    if second:
        # What is left without the first comes second; one that has a remedy is the first.
        if first.cause.final:
            first, second = second, first
        remedies = [row for row in (first, second) if row is second or not second.cause.final]
        return (f"{text} for more than one cause ({cause(f, first)}; {cause(f, second)}): without the "
                "first, the second alone would still copy them",
                " ".join(remedy(f, row) for row in remedies))
    others = ", and other causes" if len(f.causes) > 1 else ""
    if first.sends < f.copied - f.unseen_flags:
        text, others = f"{text}, most of them ({units.whole(first.sends)})", " by one cause"
        return f"{text}{others} ({cause(f, first)})", remedy(f, first)
    return f"{text} ({cause(f, first)}{others})", remedy(f, first)


def none_copied(f):
    text = f"none of {units.whole(f.completions)} zero-copy sends was "
    if f.unexplained > 0:
        return text + "seen to be copied", ""
    return text + ("copied, but unflagged copies are not visible here" if f.unflagged < 0 else
                   "copied, as far as was seen" if f.skipped_looks or f.lost_copies > 0 else
                   "copied: zero-copy works here"), ""


def unexplained(f):
    """Nobody flagged them or saw them copied, but they did not leave the machine as they were."""
    if f.unexplained <= 0:
        return ""
    return (f"{';' if f.copied > 0 else ', but'} {units.whole(f.unexplained)} of them reached no NIC "
            "with the sender's own pages: these were copied by something that has no hook here (on "
            "older kernels native XDP), or not sent")


def skipped(f):
    """What no look was had at may have been copied, too."""
    text = ""
    if f.copied >= f.completions:
        return text
    if f.lost_copies > 0:
        text = (" More may have been copied: there was no room for traces of "
                f"{units.counted(f.lost_copies, 'packet')}.")
    if f.skipped_looks > 0:
        text += (f" More may have been copied: the kernel skipped {units.whole(f.skipped_looks)} runs "
                 "of the programs that see copies.")
    elif f.skipped_looks < 0:
        text += (" More may have been copied: this kernel does not count how often it skips the kprobes "
                 "that see copies.")
    return text


def reported(f):
    """What the application believes, where that is wrong."""
    if f.reported < 0 or f.reported == f.copied:
        return ""
    return f" The error queue reported {units.whole(f.reported)}."


def lost(f):
    """What was lost, however little, may have been otherwise."""
    count = max(f.lost, 0.0) + f.lost_else
    if count <= 0:
        return ""
    return (f" Caveat: {units.counted(count, 'send')} {were(count)} not followed to the end (see dropped "
            "events).")


def refused(f):
    """Of most requests there is nothing else to say: the first thing to do something about."""
    row = REFUSAL_BY_NAME.get(f.refusal)
    if row and f.refused > REFUSED_SHARE * f.requests:
        yield (f"{units.percent(f.refused, f.requests)} of {units.counted(f.requests, 'request')} "
               f"{were(f.requests)} refused: {row.meaning}. {row.remedy}")


def ignored(f):
    of = f"of {units.counted(f.requests, 'request')} {were(f.requests)} ignored"
    empty = max(f.empty, 0.0)
    if f.ignored > empty:
        yield (f"{units.percent(f.ignored - empty, f.requests)} {of}, and the data copied: the socket "
               "lacks SO_ZEROCOPY.")
    if empty > 0:
        yield f"{units.percent(empty, f.requests)} {of}: zero length."


def outcome(f):
    """Why, what to do, and what casts doubt on it: three texts, of Facts of sends that asked for
    zero-copy. What there can be no verdict on has a reason alone.
    """
    whys, does = [*refused(f), *ignored(f)], ""
    none = none_possible(f)
    if f.ignored + f.refused >= f.requests:
        return " ".join(whys), "", ""
    if none:
        return " ".join([*whys, none[0].upper() + none[1:] if whys else none]), "", ""
    why, does = (copied if f.copied > 0 else none_copied)(f)
    doubt = f"{skipped(f)}{reported(f)}{lost(f)}".strip()
    why += unexplained(f)
    return " ".join([*whys, why[0].upper() + why[1:] if whys else why]), does, doubt


def verdict(f):
    """The sentences, or "no verdict: " and why; "" where nothing asked for zero-copy."""
    if f.requests <= 0:
        return ""
    why, do, doubt = outcome(f)
    return " ".join(filter(None, (why + ("" if why.endswith(".") else "."), do, doubt)))[:TEXT_MAX]


def finding(f):
    """The same without its numbers, so that configurations with the same findings read alike: why, and
    what to do.
    """
    share = "some" if f.copied < f.completions else "all"
    if f.requests <= 0:
        return "no send asked for zero-copy", ""
    if f.ignored + f.refused >= f.requests:
        return "all zero-copy requests were refused or ignored", ""
    if none_possible(f):
        return "no verdict on copies: too few completions, or copies are not known", ""
    if f.copied <= 0:
        seen = f.unflagged >= 0 and not f.skipped_looks and f.lost_copies <= 0 and f.unexplained <= 0
        return ("no zero-copy send was copied: zero-copy works here" if seen
                else "no zero-copy send was seen to be copied"), ""
    if not f.causes:
        return f"{share} zero-copy sends were copied; why was not seen", ""
    return f"{share} zero-copy sends were copied ({cause(f, f.causes[0])})", remedy(f, f.causes[0])
