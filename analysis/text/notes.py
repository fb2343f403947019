# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Warnings, and what was not measured: by reason, with the option that would measure it."""

from derive.noise import LIMITS

from .causes import gather
from .head import UNSEEN
from .record import frozen, number, rows, string

# As user/kernel/plan.c has it: such a run is not to be told that it lacks something.
NEVER_ASKS = "this load never asks for zero-copy"

# What a key of "unmeasured" is for people, and the option that would measure it; None: what does not
# apply, or stands elsewhere. One that ends in a point, or has no words, stands for those below it.
KEYS = {
    "app": None,
    "calls": ("sends", None),
    "calls.counters": ("counters of each send", "--call-counters EVENTS"),
    "calls.cpu_ns": None,
    "calls.stages": ("where the time of a send goes", "--stages"),
    "calls.stages.": ("stages that are functions of the kernel", None),
    "calls.syscalls": ("syscalls", None),
    "counters": ("counters of the program", None),
    "load": None,
    "lost": ("losses", None),
    "lost.stacks": ("lost stacks", None),
    "memory": None,
    "profile": None,
    "noise": None,
    "observed.others": ("sends that are not TCP's", None),
    "overhead": ("what measuring costs", "--cost"),
    "plan.hooks.missed": ("skipped runs of the programs", None),
    "receiver": ("the receiver's copies", None),
    "receiver.copy_ns": None,
    "run.steal_share": ("steal time", None),
    "tcp": ("TCP's own counters", None),
    "tcp.sending": ("the sending sockets' state", None),
    "tcp.skbs": ("skbs that a send becomes", "--packets"),
    "tcp.skb_frags": None,
    "tcp.skbs_per_send": None,
    "tcp.frags_per_skb": None,
    "zerocopy.bytes_copied": ("copied bytes", None),
    "zerocopy.bytes_unflagged": ("bytes of unflagged copies", None),
    "zerocopy.causes": ("causes of copies", None),
    "zerocopy.completion_ns": ("time to completion", None),
    "zerocopy.completions": ("completions", None),
    "zerocopy.unflagged": ("unflagged copies", None),
    "zerocopy.error_queue": ("time of error-queue reads", None),
    "zerocopy.notifications.read": ("coalescing of notifications", None),
    "zerocopy.pinned": ("pinned memory", None),
    "zerocopy.skb_copies": None,
    "zerocopy.skb_copy_bytes": None,
    "zerocopy.wake_up_ns": None,
}
BLOCKS = [(name if name.endswith(".") else name + ".", name) for name in KEYS
          if name.endswith(".") or not KEYS[name]]


def words_of(key):
    """The name in KEYS, words and option of a key; None where it is left out. It has no name, and is
    its own words, where KEYS has none.
    """
    name = key if key in KEYS else next((name for begin, name in BLOCKS if key.startswith(begin)), None)
    if name is None:
        return None, key, None
    return KEYS[name] and (name, *KEYS[name])


def distinct(cells, path):
    """The rows of a list over all records, each once."""
    found = {}
    for cell in cells:
        for row in cell.rows(path):
            found.setdefault(frozen(row), row)
    return found.values()


# A warning of a limit has a number in each run: where it is, by code.
LIMIT_OF = {code: (path, per, words) for path, per, _, _, code, words in LIMITS}


def percent_of(record, path, per):
    found, by = number(record, "/".join(path)), number(record, "/".join(per)) if per else 1
    return None if found is None or not by else 100 * found / by


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
            path, per, words = LIMIT_OF[code]
            shares = [share for share in (percent_of(record, path, per) for record, *_ in found)
                      if share is not None]
            if shares:
                digits = 1 if "%.1f" in words else 0
                ends = dict.fromkeys(f"{end:.{digits}f}" for end in (min(shares), max(shares)))
                text = words.replace(f"%.{digits}f %%", " to ".join(ends) + " %")
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
    """Counters that this machine lacks, and where they are."""
    events = list(dict.fromkeys(string(row, "event") for row in distinct(cells, "counters")
                                if string(row, "status") == "not supported"))
    if events:
        more = f" and {len(events) - 2} other counters" if len(events) > 2 else ""
        yield f"not measured: {', '.join(events[:2])}{more}: no PMU; run it where analyze doctor lists one"


def unmeasured(cells):
    """The same as notes, shorter, and counters in one line."""
    yield from unsupported(cells)
    if any(row.cause.final for cell in cells for row in gather(cell)):
        yield "not measured: zero-copy on another path (analyze advise --peer HOST:PORT)"
    yield from notes(cells, short=True)


def notes(cells, short=False):
    """A line for what options would measure, and one for each reason why something cannot be."""
    optional, impossible = [], {}
    for row in distinct(cells, "unmeasured"):
        known = words_of(string(row, "key"))
        if not known:
            continue
        name, words, option = known
        if option:
            optional.append(option if short else f"{words} ({option})")
            continue
        together = impossible.setdefault(string(row, "reason"), [])
        if not name or not together or together[-1][0] != name:
            together.append((name, words))
    if optional:
        yield f"not measured{' without' if short else ':'} {', '.join(optional)}"
    by_words = {}
    for reason, together in impossible.items():
        if reason != NEVER_ASKS:
            by_words.setdefault(", ".join(words for _, words in together), []).append(reason)
    for words, reasons in by_words.items():
        like = f" (and {len(reasons) - 1} reasons like it)" if len(reasons) > 1 else ""
        for reason in reasons[:1] if short else reasons:
            yield f"not measured: {words}: {reason}{like if short else ''}"
