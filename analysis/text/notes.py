# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Warnings, and what was not measured: by reason, with the option that would measure it."""

from analysis import words
from analysis.findings import facts
from analysis.tables.limits import LIMITS

from .head import UNSEEN
from .record import frozen, number, rows, string

# As user/kernel/plan.c has it: such a run is not to be told that it lacks something.
NEVER_ASKS = "this load never asks for zero-copy"

# Keys of "unmeasured", with those below them, that do not apply, or stand elsewhere.
LEFT_OUT = ("app", "calls.cpu_ns", "io_uring", "load", "memory", "noise", "receiver.copy_ns", "tcp.skb_frags",
            "tcp.skbs_per_send", "tcp.frags_per_skb", "zerocopy.skb_copies", "zerocopy.skb_copy_bytes",
            "zerocopy.wake_up_ns")
# What others are for people. One that ends in a point stands for those below it.
WORDS = {
    "calls": "sends",
    "calls.counters": "counters of each send",
    "calls.stages": "where the time of a send goes",
    "calls.stages.": "stages that are functions of the kernel",
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
    "zerocopy.bytes_copied": "copied bytes",
    "zerocopy.bytes_unflagged": "bytes of unflagged copies",
    "zerocopy.causes": "causes of copies",
    "zerocopy.completion_ns": "time to completion",
    "zerocopy.completions": "completions",
    "zerocopy.unflagged": "unflagged copies",
    "zerocopy.error_queue": "time of error-queue reads",
    "zerocopy.notifications.read": "coalescing of notifications",
    "zerocopy.notifications.sockets": "sockets whose error queue was never read",
    "zerocopy.pinned": "pinned memory",
}
# The options that would measure them.
OPTIONS = {"calls.counters": "--call-counters EVENTS", "calls.stages": "--stages", "overhead": "--cost",
           "tcp.skbs": "--packets"}


def words_of(key):
    """Of a key: its own name where WORDS has none; None where it is left out."""
    if any(f"{key}.".startswith(f"{name}.") for name in LEFT_OUT):
        return None
    above = (words for name, words in WORDS.items() if name.endswith(".") and key.startswith(name))
    return WORDS.get(key) or next(above, key)


def distinct(cells, path):
    """The rows of a list over all records, each once."""
    found = {}
    for cell in cells:
        for row in cell.rows(path):
            found.setdefault(frozen(row), row)
    return found.values()


# A warning of a limit has a number in each run: where it is, by code.
LIMIT_OF = {code: (path, per, words) for path, per, _, _, code, words in LIMITS}


def folded(records):
    """(text, in how many runs, of which loads) of the warnings of records, pairs with their cell's title:
    those of one code are one, with the range of their numbers.
    """
    by_code = {}  # without those that cast no doubt
    for record, title in records:
        for row in rows(record, "warnings"):
            code = string(row, "code")
            if code not in ("no_pmu", "not_paced", UNSEEN):
                by_code.setdefault(code, []).append((record, title, string(row, "text")))
    for code, found in by_code.items():
        text = found[0][2]
        if code in LIMIT_OF:
            path, per, meaning = LIMIT_OF[code]
            parts = [(number(record, "/".join(path)), number(record, "/".join(per)) if per else 1)
                     for record, *_ in found]
            shares = [100 * part / whole for part, whole in parts if part is not None and whole]
            if shares:
                digits = 1 if "%.1f" in meaning else 0
                ends = dict.fromkeys(f"{end:.{digits}f}" for end in (min(shares), max(shares)))
                text = meaning.replace(f"%.{digits}f %%", " to ".join(ends) + " %")
        elif len({text for *_, text in found}) > 1:
            text += f" (and {len({text for *_, text in found}) - 1} like it)"
        yield text, len(found), dict.fromkeys(title for _, title, _ in found)


def all_warnings(cells):
    """Each text once."""
    yield from (f"warning: {string(row, 'text')}" for row in distinct(cells, "warnings")
                if string(row, "code") not in ("no_pmu", UNSEEN))


def warnings(cells):
    """A line a kind, but those that the headline has."""
    records = [(record, cell.title) for cell in cells for record in cell.records]
    for text, count, titles in folded(records):
        if count < len(records):
            text += f", in {count} of {len(records)} runs"
            if len(titles) < len(cells) and len(titles) < 3:
                text += f" ({', '.join(titles)})"
        yield f"warning: {text}"


def unsupported(cells):
    """Counters that this machine lacks, and where they are, or why."""
    why = {string(row, "event"): string(row, "reason") for row in distinct(cells, "counters")
           if string(row, "status") == "not supported"}
    events = list(why)
    if events:
        more = f" and {words.counted(len(events) - 2, 'other counter')}" if len(events) > 2 else ""
        reason = (why[events[0]] if any(cell.at("host/pmu") is not None for cell in cells) else
                  "no PMU; run it where analyze doctor lists one")
        yield f"not measured: {', '.join(events[:2])}{more}: {reason}"


def unmeasured(cells):
    """The same as notes, shorter, and counters in one line."""
    yield from unsupported(cells)
    if any(row.cause.final for cell in cells for row in facts.causes(cell.records)):
        yield "not measured: zero-copy on another path (analyze advise --peer HOST:PORT)"
    yield from notes(cells, short=True)


def notes(cells, short=False):
    """A line for what options would measure, and one for each reason why something cannot be."""
    optional, impossible = [], {}
    for row in distinct(cells, "unmeasured"):
        key = string(row, "key")
        what = words_of(key)
        if key in OPTIONS:
            optional.append(OPTIONS[key] if short else f"{what} ({OPTIONS[key]})")
        elif what:
            impossible.setdefault(string(row, "reason"), {})[what] = None
    if optional:
        yield f"not measured{' without' if short else ':'} {', '.join(optional)}"
    by_what = {}
    for reason, together in impossible.items():
        if reason != NEVER_ASKS:
            by_what.setdefault(", ".join(together), []).append(reason)
    for what, reasons in by_what.items():
        like = f" (and {words.counted(len(reasons) - 1, 'reason')} like it)" if len(reasons) > 1 else ""
        for reason in reasons[:1] if short else reasons:
            yield f"not measured: {what}: {reason}{like if short else ''}"
