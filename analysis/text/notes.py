# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints warnings, and what was not measured, with the reason or the option that measures it. A report has the warnings
that limit its answer and the number of all others; --details has all of them.
"""

from analysis import words
from analysis.findings import facts
from analysis.tables.limits import LIMITS, with_range

from .cells import FAILED
from .head import INTERRUPTED, UNSEEN
from .record import frozen, number, rows, string

# PLAN_NEVER_ASKS of user/kernel/plan.h. Values are not printed with this reason, because such a run lacks nothing.
NEVER_ASKS = "this load never asks for zero-copy"

# These keys of "unmeasured", and those below them, do not apply or are printed elsewhere.
LEFT_OUT = ("app", "calls.cpu_ns", "io_uring", "load", "memory", "noise", "receiver.copy_ns", "tcp.skb_frags",
            "tcp.skbs_per_send", "tcp.frags_per_skb", "zerocopy.skb_copies", "zerocopy.skb_copy_bytes",
            "zerocopy.wake_up_ns")
# Warnings of BESIDE_ANSWER limit the answer. Warnings of ELSEWHERE are printed by other sections, or limit nothing.
BESIDE_ANSWER = {"debug_kernel", "paced", "rate_not_kept"}
ELSEWHERE = {"no_pmu", "not_paced", FAILED, INTERRUPTED, UNSEEN}

# WORDS has other keys in words. An entry that ends with "." includes all keys below it.
WORDS = {
    "by.groups.cgroup": "names of control groups",
    "calls": "sends",
    "calls.counters": "counters of each send",
    "calls.stages": "where the time of a send goes",
    "calls.stages.": "stages that are functions of the kernel",
    "calls.": "number of calls",
    "counters": "counters of the program",
    "lost": "losses",
    "lost.stacks": "lost stacks",
    "observed.others": "sends that are not TCP's",
    "overhead": "what measuring costs",
    "plan.hooks.missed": "skipped runs of the programs",
    "receiver": "the receiver's copies",
    "run.steal_share": "steal time",
    "tcp": "TCP's own counters",
    "tcp.sending": "the sending sockets' state",
    "tcp.skbs": "skbs that a send becomes",
    "zerocopy": "zero-copy sends",
    "zerocopy.bytes_copied": "copied bytes",
    "zerocopy.bytes_unflagged": "bytes of unflagged copies",
    "zerocopy.causes": "causes of copies",
    "zerocopy.completion_ns": "time to completion",
    "zerocopy.completions": "completions",
    "zerocopy.error_queue": "time of error-queue reads",
    "zerocopy.errqueue_copied": "copies that the error queue reported",
    "zerocopy.io_uring.": "io_uring's zero-copy sends",
    "zerocopy.notifications.read": "coalescing of notifications",
    "zerocopy.notifications.sockets": "sockets whose error queue was never read",
    "zerocopy.pinned": "pinned memory",
    "zerocopy.segments": "parts of zero-copy sends",
    "zerocopy.unexplained": "copies that no hook saw",
    "zerocopy.unflagged": "unflagged copies",
}
# These keys are measured only with an option.
OPTIONS = {"calls.counters": "--call-counters EVENTS", "calls.stages": "--stages", "overhead": "--cost",
           "tcp.skbs": "--packets"}


def words_of(key):
    """Returns a key in words: from WORDS, or else the key's last part. None: the key is in LEFT_OUT."""
    if any(f"{key}.".startswith(f"{name}.") for name in LEFT_OUT):
        return None
    above = (words for name, words in WORDS.items() if name.endswith(".") and key.startswith(name))
    return WORDS.get(key) or next(above, key.rpartition(".")[2].replace("_", " "))


def distinct(cells, path):
    """Returns the distinct rows of a list over all records."""
    found = {}
    for cell in cells:
        for row in cell.rows(path):
            found.setdefault(frozen(row), row)
    return found.values()


# A warning of a limit has a number in each run. By the warning's code: the paths of the number and its divisor, words.
LIMIT_OF = {code: (path, per, words) for path, per, _, _, code, words in LIMITS}


def folded(records):
    """Yields (code, text, number of runs, titles of cells) of warnings. All warnings of a limit are folded into one,
    which has the range of their numbers. records: pairs of a record and its cell's title.
    """
    found = {}
    for record, title in records:
        for row in rows(record, "warnings"):
            code, text = string(row, "code"), string(row, "text")
            if code not in ELSEWHERE:
                found.setdefault((code, "" if code in LIMIT_OF else text), []).append((record, title, text))
    for (code, _), some in found.items():
        text = some[0][2]
        if code in LIMIT_OF:
            path, per, meaning = LIMIT_OF[code]
            parts = [(number(record, path), number(record, per) if per else 1)
                     for record, *_ in some]
            shares = [part / whole for part, whole in parts if part is not None and whole]
            text = with_range(meaning, shares) if shares else text
        yield code, text, len(some), dict.fromkeys(title for _, title, _ in some)


def warnings(cells, beside_answer=False):
    """Yields a line for each kind of warning. beside_answer: only those that limit the answer; otherwise the others."""
    records = [(record, cell.title) for cell in cells for record in cell.records]
    for code, text, count, titles in folded(records):
        if (code in BESIDE_ANSWER) is not beside_answer:
            continue
        if count < len(records):
            text += f", in {count} of {len(records)} runs"
            if len(titles) < len(cells) and len(titles) < 3:
                text += f" ({', '.join(titles)})"
        yield f"warning: {text}"


def limits(cells):
    """Yields warnings that limit the answer. Comparisons, if there are any, report disturbed runs themselves."""
    why = [string(record, "noise/disturbed") for cell in cells for record in cell.records]
    if all(why) and not cells.comparisons:
        yield f"warning: {why[-1]}; --wait-quiet waits for a quiet machine"
    yield from warnings(cells, beside_answer=True)


def unmeasured(cells):
    """Returns {what: option that measures it}, and {reason: {what was not measured for this reason: None}}."""
    optional, impossible = {}, {}
    if any(row.cause.final for cell in cells for row in facts.causes(cell.records)):
        optional["zero-copy on another path"] = "analyze advise --peer HOST:PORT"
    for row in distinct(cells, "unmeasured"):
        key, reason = string(row, "key"), string(row, "reason")
        what = words_of(key)
        if key in OPTIONS:
            optional[what] = OPTIONS[key]
        elif what and reason != NEVER_ASKS:
            impossible.setdefault(reason, {})[what] = None
    return optional, impossible


def notes(cells):
    """Yields a line with what options can measure, and a line for each reason why something cannot be measured."""
    optional, impossible = unmeasured(cells)
    if optional:
        yield f"not measured: {', '.join(f'{what} ({option})' for what, option in optional.items())}"
    for reason, what in sorted(impossible.items(), key=lambda item: [*item[1]]):
        yield f"not measured: {', '.join(what)}: {reason}"


def remarks(cells):
    """Yields a line with the number of warnings, and of things not measured, that only --details prints."""
    optional, impossible = unmeasured(cells)
    counts = [(len(list(warnings(cells))), "warning"), (len({*optional}.union(*impossible.values())), "thing")]
    parts = [words.counted(many, unit) + " not measured" * (unit == "thing") for many, unit in counts if many]
    if parts:
        yield f"{' and '.join(parts)}: see --details"
