# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What to make of the zero-copy sends of a cell, in words."""

from derive.outcome import DEVICE_MAX, all_seen, device, remedies, remedy, standing, unknown
from judge import INCONCLUSIVE, MARGIN, SAME, SIGNS

from . import units
from .causes import REFUSAL_BY_NAME

TEXT_MAX = 1023
REFUSED_SHARE = 0.1


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
    on = device(f.causes, row)[:DEVICE_MAX]
    return row.words.title + (f", {on}" if on else "")


def what_was_copied(f):
    """And for which cause, without what helps."""
    text = (f"{units.percent(f.copied, f.completions)} of {units.whole(f.completions)} zero-copy "
            f"sends{f.to} were copied")
    if not f.causes:
        return text + "; why was not seen."
    first, *second = standing(f)
    if second:
        return (f"{text}, for more than one cause: {cause(f, first)}; {cause(f, second[0])}. Without the "
                "first, the second alone would still copy them.")
    others = len(f.causes) > 1
    if first.sends < f.copied - f.unseen_flags:
        text += f", most of them ({units.whole(first.sends)})"
        others = False
    return f"{text}: {cause(f, first)}{', and other causes' if others else ''}."


def copied(f):
    return what_was_copied(f) + (f" {remedies(f)}" if f.causes else "")


def none_copied(f):
    text = f"none of {units.whole(f.completions)} zero-copy sends{f.to} was "
    if f.unexplained > 0:
        return text + "seen to be copied"
    return text + ("copied, but unflagged copies are not visible here." if f.unflagged < 0 else
                   "copied, as far as was seen." if f.skipped_looks or f.lost_copies > 0 else
                   "copied: zero-copy works here.")


def unexplained(f):
    """Nobody flagged them or saw them copied, but they did not leave the machine as they were."""
    if f.unexplained <= 0:
        return ""
    return (f"{'' if f.copied > 0 else ', but'} {units.whole(f.unexplained)} of them reached no NIC "
            "with the sender's own pages: these were copied by something that has no hook here (on "
            "older kernels native XDP), or not sent.")


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
    return (f" Caveat: {units.counted(count, 'send')} {were(count)} not followed to the end (LOST, "
            "above).")


def interval(found):
    return "" if found["interval"] is None else " ({:.2f}-{:.2f})".format(*found["interval"])


def compared(found, of):
    if found["effect"] is None:
        return f" {of} is not known"
    if found["verdict"] == INCONCLUSIVE:
        return f" inconclusive in {of}{interval(found)}"
    if found["verdict"] == SAME:
        return f" the same {of} within {100 * MARGIN:.0f} %{interval(found)}"
    return f" {found['effect']:.2f} times the {of}{interval(found)}"


def comparison(f):
    """A single run ranks nothing: only an interval does."""
    if not f.comparisons:
        return ""
    speed, cpu = f.comparisons["throughput"], f.comparisons["cpu"]
    left_out = speed["discarded"]
    if left_out and speed["interval"] is None:
        return f" No ranking: {left_out[-1]}; --wait-quiet waits for quiet."
    if speed["interval"] is None and speed["repeats"]:
        return f" --repeat {speed['repeats']} compares it with {f.other}."
    known = [one for one in (speed, cpu) if one["n"]]
    text = f" {len(left_out)} of {f.repeats} repeats left out: {left_out[-1]}." if left_out else ""
    text += f" Against {f.other}:{compared(speed, 'throughput')},{compared(cpu, 'CPU time per byte')}."
    if any(one["verdict"] == INCONCLUSIVE for one in known):
        needed = [one["repeats"] for one in known if one["repeats"]]
        return text + (f" --repeat {max(needed)} might decide." if needed else "")
    signs = [SIGNS[one["verdict"]] for one in known]
    return text + (" It pays here." if sum(signs) > 0 else
                   f" Use {f.other} instead." if sum(signs) < 0 else
                   " One is paid for with the other." if any(signs) else "")


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


def completed(f):
    """Of those that were neither refused nor ignored."""
    return none_possible(f) or ((copied if f.copied > 0 else none_copied)(f) + unexplained(f) +
                                skipped(f) + reported(f) + lost(f) + comparison(f))


def verdict(f):
    """The sentences, or "no verdict: " and why, of Facts; "" where nothing asked for zero-copy."""
    if f.requests <= 0:
        return ""
    sentences = [*refused(f), *ignored(f)]
    if f.ignored + f.refused < f.requests:
        text = completed(f)
        sentences.append(text[0].upper() + text[1:] if sentences else text)
    return " ".join(sentences)[:TEXT_MAX]


def finding(f):
    """The same without its numbers, so that configurations with the same findings read alike."""
    share = "some" if f.copied < f.completions else "100 %"
    if f.requests <= 0:
        text = "no send asked for zero-copy"
    elif f.ignored + f.refused >= f.requests:
        text = "all requests were refused or ignored"
    elif none_possible(f):
        text = "no verdict: too few completions, or copies are not known"
    elif f.copied <= 0:
        text = ("no send was copied: zero-copy works here" if all_seen(f)
                else "no send was seen to be copied")
    elif not f.causes:
        text = f"{share} copied; why was not seen"
    else:
        text = f"{share} copied: {cause(f, f.causes[0])}. {remedy(f, f.causes[0])}"
    return text[:TEXT_MAX]
