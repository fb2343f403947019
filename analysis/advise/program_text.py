# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Puts the advice for a program into words: which of its sends should use MSG_ZEROCOPY."""

from __future__ import annotations

import errno
import os

from analysis import words
from analysis.advise import path_text
from analysis.advise.path_text import paragraphs, times
from analysis.advise.program import class_verdict, is_elsewhere
from analysis.advise.runs import COPIED_MOST
from analysis.advise.search import crossover
from analysis.findings import sentences
from analysis.findings.facts import IO_URING
from analysis.findings.rules import NO_VERDICT
from analysis.words import counted, percent, size

ROWS_MAX = 8
SMALL = 0.01  # classes with a smaller share of sends and a smaller share of bytes are counted as "others"
COPIED_MUCH = 0.1  # above this share of completed sends, the recommendation begins with the cause of the copies
LITTLE = 0.05  # a smaller share of a program's bytes is not worth a change
LINES_MAX = 22  # a terminal has 24 lines; two of them show the command and the next prompt
# Findings of the severities in URGENT begin the recommendation. Findings of the codes in SILENT are not printed.
URGENT = "failure", "no_effect"
SILENT = "works", "few", "unseen", "reported_otherwise", "ignored_empty"


def _by_device(program, path):
    """Returns why every send by program.device is copied; None: some are not copied, or it is unknown."""
    if (program.device or "").split(" ")[0] == "lo" and program.copied != 0:
        return f"by {program.device} every send {'is' if program.copied is None else 'that arrives is'} copied"
    if (program.copied is None and path and path.device == program.device and path.copied
            and path.copied >= COPIED_MOST):
        return f"{path_text.copied_clause(path)} ({path.cause or 'no cause seen'})"
    return None


def _own_copies(program):
    """Returns the findings of copies if the kernel copied (nearly) all of the program's zero-copy sends; else []."""
    if program.copied is None or program.copied < COPIED_MOST:
        return []
    return [finding for finding in program.found if sentences.is_copied(finding)]


def _all_copied(program, path):
    """Returns why every send of the program is copied; None: some are not."""
    if own := _own_copies(program):
        return sentences.paragraphs(own)[0][0]
    most = COPIED_MOST if program.copied is None else 1
    return _by_device(program, path) if program.device_share >= most else None


def _copies_nothing(one):
    """Returns whether all sends of the class are by sendfile or splice."""
    return one.other_sends == one.all_sends


def _is_by_sendfile(program):
    """Returns whether sendfile and splice send all bytes except a small part, such as headers."""
    return program.total("other_bytes") > (1 - LITTLE) * program.total("all_bytes")


def _without(program):
    """Returns how to send without zero-copy."""
    if program.interface == IO_URING:
        return "by IORING_OP_SEND in place of SEND_ZC"
    return "without MSG_ZEROCOPY"


def _of_user(program, found):
    """Returns the recommendation for a program that uses zero-copy."""
    asked = program.total("zerocopy_sends")
    small = [one for one in program.found if one.code == "small_sends"]
    right = program.total("zerocopy_sends", "pays", found)
    if small:
        return _paragraph_text(sentences.paragraphs(small)[0])
    if right == asked:
        return (f"Leave its zero-copy sends as they are: all {asked:,} are of {size(found.pays)} and "
                f"more, where it pays here.")
    if right:
        return (f"Leave {right:,} of its {asked:,} zero-copy sends as they are: they are of {size(found.pays)} "
                f"and more, where it pays here. Whether the others pay is not known.")
    if program.copied is None:
        why = [sentences.sentence([one]) for one in program.found
               if one.code in NO_VERDICT and one.severity != "caveat"]
        return f"Whether its {asked:,} zero-copy sends pay is not known: {why[0] if why else 'none of them completed'}."
    if program.copied:
        return (f"{percent(program.copied)} of its {asked:,} zero-copy sends were copied; whether the others "
                f"pay at their sizes is not known.")
    return f"Its {asked:,} zero-copy sends were not copied; whether they pay at their sizes is not known."


def _is_measured(answers):
    return any(answer.ratios for answer in answers)


def _of_others(program, found, answers):
    """Returns the recommendation for a program that does not use zero-copy: what zero-copy would gain."""
    share = program.total("bytes", "pays", found) / program.total("all_bytes")
    if found.pays and share >= LITTLE:
        return (f"Worth trying: {percent(share)} of its bytes are in copied sends of "
                f"{size(found.pays)} and more; MSG_ZEROCOPY takes {times(found.best)}.")
    if found.pays:
        return (f"Not worth it: {percent(share)} of its bytes are in copied sends of "
                f"{size(found.pays)} and more, from where on MSG_ZEROCOPY pays here.")
    costs = program.total("bytes", "costs more", found) / program.total("all_bytes")
    if costs > 1 - LITTLE:
        return "Do not use MSG_ZEROCOPY: at the sizes of its sends it costs more here."
    why = "the measurement did not decide it" if _is_measured(answers) else "none was measured"
    return f"Cannot tell from which size MSG_ZEROCOPY would pay on its path: {why}."


def _paragraph_text(paragraph):
    why, remedy = paragraph
    return f"{words.sentence(why)} {remedy}".strip()


def recommendation(program, path, answers) -> str:
    """Returns the recommendation: about failures; without any, about copies; else about the sizes that pay."""
    found, copied = crossover(answers), _all_copied(program, path)
    urgent = [one for one in program.found if one.severity in URGENT]
    if urgent and copied and urgent[0].severity == "no_effect":
        return f"{words.sentence(sentences.paragraphs(urgent)[0][0])} Leave it so: {copied}."
    if urgent:
        return _paragraph_text(sentences.paragraphs(urgent)[0])
    other = [one for one in program.found if one.code == "other_protocol"]
    if other and program.total("all_bytes") < LITTLE * sentences.other_bytes(other[0]):
        return f"Nothing to advise: {sentences.sentence(other)}."
    if not program.total("all_sends"):
        return f"Nothing to advise: {program.what} sent nothing by TCP."
    if not program.total("all_bytes"):
        return f"Nothing to advise: {program.what} sent no data."
    if _is_by_sendfile(program):
        return (f"Nothing to advise: {percent(program.total('other_bytes') / program.total('all_bytes'))} of its bytes "
                "go by sendfile or splice, which copy no user data.")
    own = _own_copies(program)
    if own and not sentences.is_final(own):
        return _paragraph_text(sentences.paragraphs(own)[0])
    some = [one for one in program.found if sentences.is_copied(one)] if (program.copied or 0) > COPIED_MUCH else []
    if some and not own and some[0].removable and not _by_device(program, path):
        return _paragraph_text(sentences.paragraphs(some)[0])
    if copied and program.total("zerocopy_sends"):
        return f"On this path, send {_without(program)}: {copied}."
    if copied:
        return f"Do not use MSG_ZEROCOPY on its path: {copied}."
    if why := _by_device(program, path):
        return (f"Its paths differ by device: {why}, and {percent(program.device_share)} of its bytes "
                "go there.")
    if is_elsewhere(program, path):
        return (f"Cannot tell: the path that was measured leads by {path.device}, but the program "
                f"sends by {program.device}.")
    return _of_user(program, found) if program.total("zerocopy_sends") else _of_others(program, found, answers)


def _meaning(name):
    return os.strerror(getattr(errno, name, 0)).lower() if hasattr(errno, name) else "an error of the kernel's own"


def _head(program):
    text = (f"{program.what}: {counted(program.total('all_sends'), 'send')} and "
            f"{program.total('all_bytes'):,} bytes in {program.seconds:.1f} s")
    if program.device and program.total("all_bytes"):
        text += f", {percent(program.device_share)} of the bytes by {program.device}"
    if program.kernel_s:
        text += f"; {program.kernel_s:.2f} s in its sends"
    if program.exit_status:
        text += f"; exit status {program.exit_status}"
    for name, count in sorted(program.failed.items(), key=lambda one: -one[1])[:2]:
        text += f"; {counted(count, 'send')} " + (
            "found the send buffer full (EAGAIN)" if name == "EAGAIN" else f"failed with {name} ({_meaning(name)})")
    if program.lost:
        text += f"; {counted(program.lost, 'send')} lost"
    return text + "."


def _range(one):
    """Returns the sizes of a class, such as "512-1023", or from 1K on "1K-2K", which does not include 2K."""
    if one.low >= 1 << 10:
        return f"{size(one.low)}-{size(one.high + 1)}"
    return f"{one.low}-{one.high}" if one.high > 1 else f"{one.low}"


def _table(program, found, copied):
    """Returns the lines of a table: the classes with most bytes, in order of size, and a row for the others."""
    sends, count = program.total("all_sends"), program.total("all_bytes")
    large = [one for one in program.classes
             if one.all_sends >= SMALL * sends or one.all_bytes >= SMALL * max(count, 1)]
    shown = sorted(sorted(large, key=lambda one: -one.all_bytes)[:ROWS_MAX], key=lambda one: one.low)
    rows = [("bytes a send", "sends", "of bytes", "zero-copy", "MSG_ZEROCOPY")]
    rows += [(_range(one), f"{one.all_sends:,}", f"{100 * one.all_bytes / max(count, 1):.1f} %",
              f"{one.zerocopy_sends:,}" if one.zerocopy_sends else "-",
              "sendfile, splice" if _copies_nothing(one) else
              "is copied" if copied else class_verdict(one, found)) for one in shown]
    left = sends - sum(one.all_sends for one in shown)
    if left:
        rows.append(("others", f"{left:,}", "", "", ""))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return ["  " + "  ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in (1, 2, 3)),
                              row[4]]).rstrip() for row in rows]


def _others(program, advice):
    """Yields the findings that the recommendation does not mention."""
    found = [one for one in program.found if one.code not in SILENT]
    for paragraph in sentences.paragraphs(found):
        if paragraph[0].lower() not in advice.lower():
            yield _paragraph_text(paragraph)


def _change(program, path, found, answers):
    """Returns what to do next; "" if there is nothing to do."""
    if not program.total("all_bytes") or _all_copied(program, path) or _is_by_sendfile(program):
        return ""
    if not _is_measured(answers) or is_elsewhere(program, path):
        return ("Next: loadgen serve where its data go, and --peer HOST:PORT here, measure from which "
                "size it pays; --path FILE takes what advise --json wrote of that path.")
    if found.pays and program.total("bytes", "pays", found) >= LITTLE * program.total("all_bytes"):
        return (f"To change: SO_ZEROCOPY on the socket; MSG_ZEROCOPY on sends of {size(found.pays)} "
                "and more, and on no others; do not write to their memory until the error queue "
                "reports their completion.")
    return ""


def lines(program, path, answers) -> list[str]:
    """Returns at most LINES_MAX lines. Findings that the recommendation lacks follow the table if there is room."""
    found, advice = crossover(answers), recommendation(program, path, answers)
    first = [*paragraphs((advice, 5), (_head(program), 3)),
             *(_table(program, found, _all_copied(program, path)) if program.total("all_sends") else ())]
    last = paragraphs((_change(program, path, found, answers), 3))
    for text in _others(program, advice):
        more = paragraphs((text, 4))
        if len(first) + len(more) + len(last) <= LINES_MAX:
            first += more
    return first + last
