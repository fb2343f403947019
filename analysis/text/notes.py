# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Warnings, and what was not measured: by reason, with the option that would measure it."""

from .head import UNSEEN
from .record import frozen, string

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


def warnings(cells):
    """But those that the headline has."""
    for row in distinct(cells, "warnings"):
        if string(row, "code") not in ("no_pmu", UNSEEN):
            yield f"warning: {string(row, 'text')}"


def notes(cells):
    """A line for what options would measure, and one for each reason why something cannot be."""
    yield from warnings(cells)
    optional, impossible = [], {}
    for row in distinct(cells, "unmeasured"):
        known = words_of(string(row, "key"))
        if not known:
            continue
        name, words, option = known
        if option:
            optional.append(f"{words} ({option})")
            continue
        together = impossible.setdefault(string(row, "reason"), [])
        if not name or not together or together[-1][0] != name:
            together.append((name, words))
    if optional:
        yield f"not measured: {', '.join(optional)}"
    for reason, together in impossible.items():
        if reason != NEVER_ASKS:
            yield f"not measured: {', '.join(words for _, words in together)}: {reason}"
