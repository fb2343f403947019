# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What to make of the zero-copy sends of a cell, in words."""

from derive.outcome import all_seen, device, remedies, standing, unknown
from tables.causes import UNKNOWN

from . import units
from .facts import REFUSAL_BY_NAME

REFUSED_SHARE = 0.1
# Of causes that no setting takes away.
WITHOUT = "Send without MSG_ZEROCOPY on this path."


def were(number):
    return "was" if number == 1 else "were"


def none_possible(f):
    """Why there can be no verdict; None where there can."""
    requests = units.whole(f.requests)
    return {
        None: None,
        "copies_unknown": f"no verdict: how many of the {requests} zero-copy sends were copied is not "
                          "known here",
        "lost": f"no verdict: of {requests} zero-copy sends {units.whole(f.lost)} could not be followed",
        "outstanding": f"no verdict: of {requests} zero-copy sends {units.whole(f.outstanding)} have no "
                       "completion yet",
        "few": f"no verdict: {units.counted(f.completions, 'zero-copy send')} completed, too few to "
               "tell"}[unknown(f)]


def cause(f, row):
    on = device(f.causes, row)
    return row.words.title + (f", {on}" if on else "")


def remedy(f):
    return WITHOUT if standing(f)[-1].cause.final else remedies(f)


def copied(f):
    """Why, and what to do about it."""
    sends = units.whole(f.completions)
    text = (f"all {sends} zero-copy sends were copied" if f.copied == f.completions else
            f"{units.whole(f.copied)} of {sends} zero-copy sends "
            f"({units.percent(f.copied, f.completions)}) were copied")
    if not f.causes:
        return text + "; why was not seen", ""
    first, *second = standing(f)
    if second:
        return (f"{text} for more than one cause ({cause(f, first)}; {cause(f, second[0])}): without the "
                "first, the second alone would still copy them", remedy(f))
    if first.sends < f.copied - f.unseen_flags:
        most = "most of them" if 2 * first.sends > f.copied else "the most"
        return f"{text}, {most} ({units.whole(first.sends)}) by one cause ({cause(f, first)})", remedy(f)
    others = ", and other causes" if len(f.causes) > 1 else ""
    return f"{text} ({cause(f, first)}{others})", remedy(f)


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
    some = units.whole(f.unexplained)
    return (f"{f'; {some} others' if f.copied > 0 else f', but {some} of them'} reached no NIC "
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
        text += (f" More may have been copied: the kernel skipped {units.counted(f.skipped_looks, 'run')} "
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


def parts(f):
    """Why, what to do, and what casts doubt on it: three texts, of Facts of sends that asked for
    zero-copy. What there can be no verdict on has a reason alone.
    """
    whys = [*refused(f), *ignored(f)]
    none = none_possible(f)
    if f.ignored + f.refused >= f.requests:
        return " ".join(whys), "", ""
    if none:
        return " ".join([*whys, none[0].upper() + none[1:] if whys else none]), "", ""
    why, does = (copied if f.copied > 0 else none_copied)(f)
    doubt = f"{skipped(f)}{reported(f)}{lost(f)}".strip()
    why += unexplained(f)
    return " ".join([*whys, why[0].upper() + why[1:] if whys else why]), does, doubt


def finding(f):
    """The same without numbers and doubt, so that configurations with the same findings read alike: why, and
    what to do.
    """
    share = "some" if f.copied < f.completions else "all"
    if f.requests <= 0:
        return "no send asked for zero-copy", ""
    if f.ignored + f.refused >= f.requests:
        return "all zero-copy requests were refused or ignored", ""
    if none_possible(f):
        return f"no verdict on copies: {UNKNOWN[unknown(f)]}", ""
    if f.copied <= 0:
        return ("no zero-copy send was copied: zero-copy works here" if all_seen(f)
                else "no zero-copy send was seen to be copied"), ""
    if not f.causes:
        return f"{share} zero-copy sends were copied; why was not seen", ""
    return f"{share} zero-copy sends were copied ({cause(f, f.causes[0])})", remedy(f)
